"""Typed settings of what is measured on training runs."""

from typing import Annotated, Literal, Self, get_args

from pydantic import Field, model_validator

from replication.base.strict import Count, Strict
from transformer_dynamics.scan_and_snap.settings import Positive, TrainJob

Metric = Literal[
    "attention", "entropy", "fingerprint", "growth", "loss", "recall", "unnormalised_attention"
]
METRICS: tuple[Metric, ...] = get_args(Metric)
Factor = Annotated[float, Field(ge=1.05, le=3)]
"""Of time: less holds too few points of the interpolated growth, more is wider than its turn."""


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


class SmallError(Strict):
    """Where the mean loss of successive updates stands for the error of predictions."""

    updates: Count
    """How many updates the mean is of."""
    largest: Positive
    """Largest mean loss that stands for the error."""


class Turn(Strict):
    """How the time is found at which growth turns."""

    slope: Factor
    """The slope of growth at a time t is that from t/slope to slope t."""
    parabola: Factor
    """A parabola is fitted to the slopes at times within this factor of that of the largest."""


class Measures(Strict):
    """How claims about training are measured."""

    small_error: SmallError
    """When the loss stands for the error of predictions."""
    learnt: Annotated[float, Field(gt=1)]
    """A task is learnt when the loss is below its start over this number."""
    parts: Count
    """Equal parts of training, in each of which the dominant share must rise."""
    turn: Turn
    """How the turn of growth is found."""
    least_t_0: Positive
    """In updates; rates with a smaller t_0 are left out where time before t_0 is needed."""


class MeasureJob(TrainJob):
    """What a table of one metric over all seeds depends on."""

    metric: Metric
    """Which table; `loss` has the mean loss of every batch before its update, in nats."""
    recall_thresholds: dict[str, Thresholds]
    """Thresholds of each mixture; empty for other metrics than `recall`."""
