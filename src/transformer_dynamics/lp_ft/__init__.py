"""Tomihari and Sato, linear probing then fine-tuning seen from the tangent kernel (2024)."""
