"""Recurrent attention and its Jacobians (arXiv 2505.19458)."""
