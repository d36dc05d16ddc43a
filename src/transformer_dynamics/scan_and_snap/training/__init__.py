"""Training: the one-layer transformer, its optimisers and the loop.

`loop.py` reads like the algorithm; `literal.py` is the same written out slowly, for tests and
benchmarks.
"""
