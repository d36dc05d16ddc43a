"""Data: the training sequences of a seed, which depend on mixture, sampling and seed alone."""
