"""Comparison of results with references: differences, receipts, seeds still needed.

A reference is the numbers of a study that git keeps. This room writes references, compares results
with them, and keeps the receipts of verifications on other machines.
"""
