"""Verdicts on claims, and the reference that results are compared with."""
