"""Verdicts from evidence: tests, verdicts on claims, marks of an abstract's sentences.

Tables of numbers come in. Verdicts go out, and texts that cite the numbers. No module here knows
the job that made a table.
"""
