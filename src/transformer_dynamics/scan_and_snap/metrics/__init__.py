"""Metrics: tables of what the training runs are measured by.

`tables.py` is the program; the other files compute single metrics, and know the theory, but no
claim.
"""
