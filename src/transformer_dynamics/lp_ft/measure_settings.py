"""What a metric is given."""

from replication.base.strict import Positive, Strict
from transformer_dynamics.encoders.settings import TextName
from transformer_dynamics.lp_ft.run_settings import RunJob


class MeasureJob(Strict):
    """One metric of all runs of an experiment."""

    runs: dict[str, RunJob]
    """What they were made by; the name of a run is one of these, a hyphen and its seed."""
    sets: list[TextName]
    """Of which sets tokens and features are given, in this order."""


class PlaneJob(MeasureJob):
    """Features and heads of one set in the plane."""

    texts: TextName
    """Which set."""
    perplexity: Positive
    """About how many neighbours a sample has."""
