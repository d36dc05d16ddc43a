"""Verdicts on claims, and the lock of results that they are held against."""
