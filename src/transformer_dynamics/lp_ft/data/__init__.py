"""Data: the samples of a seed, drawn from tokens that `encoders.data` makes, and their features.

Only code that selects and checks samples, or computes their features before training, enters here.
Reading texts is up to `encoders`.
"""
