"""Statements of a paper: the contract of a study, its claims, seeds and data sets.

This room imports `base` and `figures` alone, and an author of an ordinary study needs these three.
A study that makes jobs of its own also takes settings of `plan` and checkpoints of `run`. Nothing
here plans, trains or judges.
"""
