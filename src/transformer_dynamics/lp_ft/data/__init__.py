"""Data: samples of one seed, drawn from the tokens that `encoders.data` makes, and features.

Only code that selects and checks samples, or computes their features by the untrained encoder,
enters here. Reading texts is up to `encoders`.
"""
