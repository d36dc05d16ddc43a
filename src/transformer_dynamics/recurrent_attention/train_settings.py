"""How models are trained."""

from typing import Annotated, Literal

from pydantic import Field

from replication.strict import Strict
from transformer_dynamics.recurrent_attention.boards.settings import BoardJob
from transformer_dynamics.recurrent_attention.model_settings import Penalty, WholeModel

Positive = Annotated[float, Field(gt=0)]


class Training(Strict):
    """What all conditions share."""

    updates: int = Field(ge=1)
    """Number of updates."""
    batch_size: int = Field(ge=1)
    """Boards in an update."""
    loops: int = Field(ge=1)
    """T while training."""
    clip: Positive
    """Largest norm of the gradient of a seed."""
    relabel: bool
    """Whether digits are renamed at random in every training board."""


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
