"""Settings of boards of another size or draw, beside those of all conditions."""

from pydantic import Field

from replication.base.strict import Strict
from replication.study.seeds import SeedRange
from transformer_dynamics.recurrent_attention.settings.boards import BoardJob
from transformer_dynamics.recurrent_attention.settings.metrics import (
    Accuracy,
    Exponents,
    Perturbed,
    PseudoEnergy,
    Spectrum,
)


class MoreTraining(Strict):
    """Settings of training that a size of boards decides; the others are those of all."""

    updates: int = Field(ge=1)
    """Number of updates."""
    batch_size: int = Field(ge=1)
    """Number of boards in an update."""
    relabel: bool
    """True if digits are renamed at random in every training board."""


class MoreMetrics(Strict):
    """Settings of the metrics of conditions that learn these boards; there are no others."""

    accuracy: Accuracy
    """Settings of the accuracy: the share of solved boards."""
    exponents: Exponents
    """Settings of the Lyapunov exponents."""
    spectrum: Spectrum
    """Settings of the eigenvalues of a step."""
    perturbed: Perturbed
    """Settings of models that are changed after training."""
    pseudo_energy: PseudoEnergy
    """Settings of AKOrN's pseudo-energy."""


class MoreBoards(Strict):
    """Boards of another size or draw, with all settings that they decide."""

    boards: BoardJob
    """Boards of training, validation and test."""
    width: int = Field(ge=2)
    """Number D of channels of a token."""
    training: MoreTraining
    """Updates and batches of conditions that learn these boards."""
    seeds: SeedRange
    """Seeds of conditions that learn these boards."""
    metrics: MoreMetrics
    """Settings of the metrics of conditions that learn these boards."""
