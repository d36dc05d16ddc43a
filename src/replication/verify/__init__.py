"""Comparison of results with references: differences, receipts, history, seeds still needed.

A reference is the numbers of a study that git keeps. This room writes references, compares results
with them, and keeps the receipts of verifications on other machines.
"""

__all__ = [
    "changed_numbers",
    "changed_pictures",
    "differences",
    "history",
    "levels",
    "power",
    "project",
    "receipt",
    "receipt_texts",
    "reproductions",
    "todo_marks",
]
