"""Training: the one-layer transformer, its optimisers and the loop.

`literal.py` is the loop written out slowly, for tests and benchmarks.
"""
