"""Drawings: each is a pure function from a figure's table to a matplotlib figure."""
