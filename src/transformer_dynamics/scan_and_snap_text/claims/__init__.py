"""Measures of the claims about training on text."""
