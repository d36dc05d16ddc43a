"""Training: the transformer, its updates, what is recorded of it, and the loop.

`loop.py` reads like the algorithm, and goes on from a checkpoint.
"""
