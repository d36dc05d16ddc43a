"""Settings of the metrics of tuning: candidates and the runs that try them."""

from typing import Literal

from replication.base.strict import Strict
from transformer_dynamics.recurrent_attention.settings.training import TrainJob

Quantity = Literal["learning_rate", "strength"]


class Candidate(Strict):
    """One rate or strength of one condition."""

    run: str
    """Name of the run that tries it."""
    condition: str
    """Name of the condition."""
    quantity: Quantity
    """Quantity that is chosen."""
    value: float
    """Value that is tried."""


class TuningJob(Strict):
    """Job that measures all candidates."""

    candidates: list[Candidate]
    """Candidates; a run may try a rate and a strength of one condition."""
    runs: dict[str, TrainJob]
    """Training by name of the run."""
    loops: int
    """Number T of loops of the choice, besides that of training."""
    metric: Literal["solved", "fingerprint"]
    """Table that is made."""

    @property
    def device(self) -> str:
        """Device that computes: fingerprints need no other than the processor."""
        devices = {train.device for train in self.runs.values()}
        return devices.pop() if self.metric == "solved" else "cpu"
