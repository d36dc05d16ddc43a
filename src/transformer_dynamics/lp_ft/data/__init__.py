"""Data: samples of one seed, drawn from the tokens and features that `encoders.data` makes.

Only code that selects and checks samples enters here. Reading texts is up to `encoders`.
"""
