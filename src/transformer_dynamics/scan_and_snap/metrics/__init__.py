"""Metrics: tables of numbers of the training runs.

`tables.py` is the program; the other files compute single metrics, and know the theory, but no
claim.
"""
