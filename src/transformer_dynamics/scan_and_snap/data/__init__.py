"""Data: the training sequences of a seed.

What is drawn here depends on the mixture, the sampling and the seed alone.
"""
