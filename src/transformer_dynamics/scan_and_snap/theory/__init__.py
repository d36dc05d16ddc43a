"""Theory: the mathematics of the paper, in float64.

Pure functions of numbers and arrays, with the paper's equations in their docstrings. No training,
no table and no figure.
"""
