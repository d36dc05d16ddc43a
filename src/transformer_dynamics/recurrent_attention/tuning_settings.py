"""What is tried before training."""

from typing import Literal

from replication.base.strict import Strict
from transformer_dynamics.recurrent_attention.train_settings import TrainJob

Quantity = Literal["learning_rate", "strength"]


class Candidate(Strict):
    """One rate or strength of one condition."""

    run: str
    """Name of the run that tries it."""
    condition: str
    """Name of the condition."""
    quantity: Quantity
    """What is chosen."""
    value: float
    """Its value here."""


class TuningJob(Strict):
    """How all candidates do on the validation boards."""

    candidates: list[Candidate]
    """A run may try a rate and a strength of one condition."""
    runs: dict[str, TrainJob]
    """What is trained, by name of the run."""
    loops: int
    """T of the choice, besides that of training."""
