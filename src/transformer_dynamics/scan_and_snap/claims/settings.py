"""Typed settings of the programs that measure claims and bring their verdicts together."""

from transformer_dynamics.scan_and_snap.experiments import MeasureJob
from transformer_dynamics.strict import Strict


class Source(Strict):
    """Where one table of a claim comes from."""

    job: MeasureJob
    """What made it."""
    seeds: str
    """Its seeds, such as 1-10,12."""


class EvidenceJob(Strict):
    """What the evidence of a claim depends on."""

    measure: str
    """Name of the measure in its module."""
    data: list[Source]
    """The tables that it takes, in order."""


class Cell(Strict):
    """One claim under one variant."""

    claim: str
    """Number of the claim."""
    statement: str
    """What it says."""
    variant: str
    """What the variant is called."""
    as_baseline: bool
    """Whether the variant changes nothing in the claim's experiments."""


class Cells(Strict):
    """The table's cells, in the order of the files."""

    cells: list[Cell]
    """They."""
