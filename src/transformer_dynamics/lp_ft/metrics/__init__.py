"""Metrics: the programs with `measure`, one table each, and what they compute with.

`runs` has the tables of trained runs, `start` those of kernels and heads at the start of
fine-tuning. A metric describes runs and judges nothing; claims do.
"""
