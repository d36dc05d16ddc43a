"""How models are trained."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from replication.base.strict import Count, Strict
from transformer_dynamics.recurrent_attention.boards.settings import BoardJob
from transformer_dynamics.recurrent_attention.model_settings import Penalty, WholeModel

Positive = Annotated[float, Field(gt=0)]
Decay = Annotated[float, Field(ge=0, lt=1)]
"""What is left of the weight of a number in a moving average by the next one."""


class Adam(Strict):
    """The optimiser."""

    first: Decay
    """Decay of its mean of gradients."""
    second: Decay
    """Decay of its mean of squared gradients."""
    epsilon: Annotated[float, Field(gt=0, le=1)]
    """What is added to the root of the latter."""
    weight_decay: Annotated[float, Field(ge=0, le=1)]
    """Times the weights, it is added to the gradient after that is clipped."""


class Average(Strict):
    """A moving average of the weights along training, which is what models are measured with."""

    decay: Decay
    """Of every average; the first ones are not weighed down, as if the average began with zeros and
    was divided by the sum of its weights."""
    every: Count
    """Updates from one average to the next; the first is after as many."""


class Training(Strict):
    """What all conditions share."""

    updates: int = Field(ge=1)
    """Number of updates."""
    batch_size: int = Field(ge=1)
    """Boards in an update."""
    loops: int = Field(ge=1)
    """T while training."""
    relabel: bool
    """Whether digits are renamed at random in every training board."""
    loss_cells: Literal["all", "blanks"]
    """Cells over which the loss is a mean."""
    loss_window: Count
    """Updates whose losses are averaged into one that is kept."""
    clip: Positive
    """Largest norm of the gradient of a seed."""
    adam: Adam
    """The optimiser, except for its rate."""
    average: Average | None
    """Of the weights; none if models are measured as they are after the last update."""

    @model_validator(mode="after")
    def _check_average(self) -> Self:
        if self.average and self.average.every > self.updates:
            raise ValueError(
                f"average > every ({self.average.every}) must not be above updates ({self.updates})"
            )
        return self


class TrainJob(Strict):
    """One condition."""

    boards: BoardJob
    """What is trained on."""
    model: WholeModel
    """What is trained."""
    penalty: Penalty | None
    """What is added to the loss."""
    learning_rate: Positive
    """Of Adam."""
    training: Training
    """What all conditions share."""
    device: Literal["cpu", "cuda"]
    """Where."""
    trained: bool = Field(default=True, exclude_if=bool)
    """Whether it is: a model that is not is kept as it was drawn, a control."""

    @property
    def updates(self) -> int:
        """Number of updates."""
        return self.training.updates if self.trained else 0
