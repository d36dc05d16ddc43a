"""Statements of a paper: the contract of a study, its claims, seeds and data sets.

An author of a study needs this room, `figures` and the errors and settings of `base`, no more.
Nothing here plans, computes or judges.
"""

__all__ = [
    "claims",
    "contract",
    "contrasts",
    "curves",
    "datasets",
    "devices",
    "evidence",
    "fingerprint",
    "published_tables",
    "registry",
    "seeds",
    "studies",
    "variants",
]
