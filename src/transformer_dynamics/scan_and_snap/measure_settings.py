"""Typed settings of what is measured on training runs."""

from typing import Literal, Self, get_args

from pydantic import Field, model_validator

from replication.strict import Strict
from transformer_dynamics.scan_and_snap.settings import Positive, TrainJob

Metric = Literal[
    "attention", "entropy", "fingerprint", "growth", "loss", "recall", "unnormalised_attention"
]
METRICS: tuple[Metric, ...] = get_args(Metric)


class Thresholds(Strict):
    """Equally spaced attention thresholds."""

    first: Positive
    """Lowest threshold."""
    last: Positive
    """Highest threshold."""
    count: int = Field(ge=2)
    """How many."""

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.last <= self.first:
            raise ValueError(f"last ({self.last}) must be above first ({self.first})")
        return self


class MeasureJob(TrainJob):
    """What a table of one metric over all seeds depends on."""

    metric: Metric
    """Which table; `loss` has the mean loss of every batch before its update, in nats."""
    recall_thresholds: dict[str, Thresholds]
    """Thresholds of each mixture; empty for other metrics than `recall`."""
