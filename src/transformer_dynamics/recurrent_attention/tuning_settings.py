"""What is tried before training."""

from typing import Literal

from replication.strict import Strict
from transformer_dynamics.recurrent_attention.train_settings import TrainJob

Quantity = Literal["learning_rate", "strength"]


class Candidate(Strict):
    """One rate or strength of one condition."""

    condition: str
    """Name of the condition."""
    quantity: Quantity
    """What is chosen."""
    value: float
    """Its value here."""
    train: TrainJob
    """What is trained."""


class TuningJob(Strict):
    """How all candidates do on the validation boards."""

    candidates: dict[str, Candidate]
    """By name of the run."""
    loops: int
    """T of the choice, besides that of training."""
