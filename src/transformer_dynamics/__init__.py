"""Reproducible replications of papers on the training dynamics of transformers."""
