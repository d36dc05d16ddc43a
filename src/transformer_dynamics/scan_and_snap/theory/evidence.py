"""A statement of the paper against a computation."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Evidence:
    """One statement of the paper against a computation."""

    id: str
    """E1 .. E7 for errata, A .. C for findings."""
    printed: str
    """What the paper states."""
    corrected: str
    """What holds instead."""
    evidence: dict[str, float]
    """The numbers that show it, by name."""
    holds: bool
    """Whether the numbers support the correction."""
