"""Metrics of training runs: their names, and how they and the evidence are computed."""

from typing import Annotated, Literal, Self, get_args

from pydantic import Field, model_validator

from replication.base.strict import Count, Positive, Strict
from transformer_dynamics.scan_and_snap.settings.training import TrainJob

Metric = Literal[
    "attention", "entropy", "fingerprint", "growth", "loss", "recall", "unnormalised_attention"
]
METRICS: tuple[Metric, ...] = get_args(Metric)
Factor = Annotated[float, Field(ge=1.05, le=3)]
"""A factor of time: less holds too few points of the interpolated growth, more is wider than its
turn."""


class Thresholds(Strict):
    """Equally spaced attention thresholds."""

    first: Positive
    """Lowest threshold."""
    last: Positive
    """Highest threshold."""
    count: int = Field(ge=2)
    """Number of thresholds."""

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.last <= self.first:
            raise ValueError(f"last ({self.last}) must be above first ({self.first})")
        return self


class SmallError(Strict):
    """The mean loss of successive updates that stands for the error of predictions."""

    updates: Count
    """Number of updates in the mean."""
    largest: Positive
    """Largest mean loss that stands for the error."""


class Turn(Strict):
    """The time at which growth turns, and how it is found."""

    slope: Factor
    """Factor of time: the slope of growth at a time t is that from t/slope to slope t."""
    parabola: Factor
    """Factor of time around the largest slope within which a parabola is fitted to the slopes."""


class MetricSettings(Strict):
    """Constants by which claims about training are measured."""

    small_error: SmallError
    """Loss that stands for the error of predictions."""
    learnt: Annotated[float, Field(gt=1)]
    """Divisor of the loss at the start: a task is learnt when the loss is below their quotient."""
    parts: Count
    """Number of equal parts of training, in each of which the dominant share must rise."""
    turn: Turn
    """Slopes and fit that find the turn of growth."""
    least_t_0: Positive
    """Least t_0, in updates, of the rates that are used where time before t_0 is needed."""


class MetricJob(TrainJob):
    """All that a table of one metric over all seeds depends on."""

    metric: Metric
    """Metric of the table: `loss` has the mean loss of every batch before its update, in nats."""
    recall_thresholds: dict[str, Thresholds]
    """Thresholds of each mixture; empty for other metrics than `recall`."""
