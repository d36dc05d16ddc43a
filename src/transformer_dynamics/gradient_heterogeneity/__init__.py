"""Tomihari and Sato, gradient heterogeneity and why Adam outperforms SGD (2025)."""
