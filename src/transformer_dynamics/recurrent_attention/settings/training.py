"""Settings of training: optimiser, batches, average of the weights."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from replication.base.strict import Count, Strict
from transformer_dynamics.recurrent_attention.settings.boards import BoardJob
from transformer_dynamics.recurrent_attention.settings.models import Network, Penalty

Positive = Annotated[float, Field(gt=0)]
Decay = Annotated[float, Field(ge=0, lt=1)]
"""Factor by which a moving average multiplies the weight of a number at every later one."""


class Adam(Strict):
    """Settings of the optimiser Adam, except for its rate."""

    first: Decay
    """Decay of the mean of gradients."""
    second: Decay
    """Decay of the mean of squared gradients."""
    epsilon: Annotated[float, Field(gt=0, le=1)]
    """Number that is added to the root of the mean of squared gradients."""
    weight_decay: Annotated[float, Field(ge=0, le=1)]
    """Factor of the weights that are added to the clipped gradient."""


class Average(Strict):
    """A moving average of the weights along training, with which models are measured."""

    decay: Decay
    """Decay of every average. It is divided by the sum of its weights, so that the zeros which it
    begins with do not weigh the first ones down."""
    every: Count
    """Number of updates from one average to the next; the first is after as many."""


class Training(Strict):
    """Settings of training that all conditions share."""

    updates: int = Field(ge=1)
    """Number of updates."""
    batch_size: int = Field(ge=1)
    """Number of boards in an update."""
    loops: int = Field(ge=1)
    """Number T of loops while training."""
    relabel: bool
    """True if digits are renamed at random in every training board."""
    loss_cells: Literal["all", "blanks"]
    """Cells over which the loss is averaged."""
    loss_window: Count
    """Number of updates whose losses are averaged into one that is kept."""
    clip: Positive
    """Largest norm of the gradient of a seed."""
    adam: Adam
    """Settings of the optimiser, except for its rate."""
    average: Average | None
    """Moving average of the weights; none if models are measured as after the last update."""

    @model_validator(mode="after")
    def _check_average(self) -> Self:
        if self.average and self.average.every > self.updates:
            raise ValueError(
                f"average > every ({self.average.every}) must not be above updates ({self.updates})"
            )
        return self


class TrainJob(Strict):
    """Training of one condition."""

    boards: BoardJob
    """Boards that training and metrics take."""
    model: Network
    """Network that is trained."""
    penalty: Penalty | None
    """Penalty that is added to the loss."""
    learning_rate: Positive
    """Learning rate of Adam."""
    training: Training
    """Settings that all conditions share."""
    device: Literal["cpu", "cuda"]
    """Device that trains."""
    trained: bool = Field(default=True, exclude_if=bool)
    """False for a control, which is kept as it was drawn."""

    @property
    def updates(self) -> int:
        """Number of updates, 0 of a control."""
        return self.training.updates if self.trained else 0

    @property
    def rows(self) -> int:
        """Number S D of rows of a step's Jacobian."""
        return self.boards.cells * self.model.width

    @property
    def exponents(self) -> int:
        """Number of exponents that are not null: every normalised block has one that is."""
        nulls = self.rows // self.model.block if self.model.normalised else 0
        return self.rows - nulls
