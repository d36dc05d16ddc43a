"""Measures of claims."""
