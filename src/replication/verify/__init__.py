"""From results to the reference: differences, receipts, history, and seeds still needed.

The reference is the numbers of a study kept in git. This room writes it, compares with it, and
keeps what verifications elsewhere found.
"""

__all__ = [
    "changed_numbers",
    "changed_pictures",
    "history",
    "levels",
    "machine",
    "power",
    "receipt",
    "reference",
    "reproductions",
]
