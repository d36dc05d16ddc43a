"""Settings of each program."""

from typing import Annotated

from pydantic import AfterValidator, Field

from replication.base.strict import Positive, Strict, refuse_repeated
from replication.study.contract import MetricOf


def _descending(values: list[float]) -> list[float]:
    if values != sorted(values, reverse=True):
        raise ValueError("the largest stands first, the smallest last")
    return values


class SampleJob(Strict):
    """Least squares on Gaussian inputs."""

    variances: Annotated[
        list[Positive],
        Field(min_length=2),
        AfterValidator(refuse_repeated),
        AfterValidator(_descending),
    ]
    """Variance of the inputs in every direction, the largest first."""
    samples: int = Field(ge=1)
    """Number of data points, N."""
    noise: float = Field(ge=0)
    """Standard deviation of the noise of the targets."""


class TrainJob(Strict):
    """Gradient descent from zero."""

    problem: SampleJob
    """Problem that is learned."""
    learning_rate: Positive
    """Learning rate, eta."""
    updates: int = Field(ge=1)
    """Number of updates."""


MetricJob = MetricOf[TrainJob]
"""Settings of a metric."""
