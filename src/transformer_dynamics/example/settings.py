"""What each program is given."""

from typing import Annotated

from pydantic import Field

from replication.strict import Strict

Positive = Annotated[float, Field(gt=0)]


class SampleJob(Strict):
    """Least squares on Gaussian inputs."""

    variances: list[Positive] = Field(min_length=2)
    """Variance of the inputs in every direction, the largest first."""
    samples: int = Field(ge=1)
    """Number of data points, N."""
    noise: float = Field(ge=0)
    """Standard deviation of the noise of the targets."""


class TrainJob(Strict):
    """Gradient descent from zero."""

    problem: SampleJob
    """What is learned."""
    learning_rate: Positive
    """eta."""
    updates: int = Field(ge=1)
    """Number of updates."""


class MeasureJob(Strict):
    """One table of all runs."""

    training: TrainJob
    """What the runs were made by."""
    metric: str
    """Which table."""
