"""How trained models are measured: one section of settings per metric."""

from typing import Annotated, Generic, Self, TypeVar

from pydantic import AfterValidator, Field, model_validator

from replication.base.strict import Count, Counts, Positive, Strict, refuse_repeated
from transformer_dynamics.recurrent_attention.train_settings import TrainJob

Factors = Annotated[list[Positive], Field(min_length=1), AfterValidator(refuse_repeated)]
Skipped = Annotated[float, Field(ge=0, lt=1)]
"""Share of some steps, the first ones, that is left out."""


class Accuracy(Strict):
    """Share of solved boards against the number of loops."""

    loops: Counts
    """T, ascending."""
    draws: Count
    """Draws of the initial noise per board."""


class Exponents(Strict):
    """Lyapunov exponents of finite time along the boards of the test out of distribution."""

    boards: Count
    """Number of boards."""
    steps: Count
    """T."""
    leading: Count
    """How many of the largest are averaged."""
    long: Count
    """Steps of the largest exponent of a long time."""
    skipped: Skipped
    """Of these, in which a tangent vector turns to where it grows most."""


class Distribution(Strict):
    """All finite-time Lyapunov exponents along a few boards."""

    boards: Count
    """Number of boards."""
    steps: Count
    """T."""


class Spectrum(Strict):
    """Eigenvalues of the Jacobian of one step."""

    boards: Count
    """Number of boards."""
    steps: Count
    """Steps before that one."""


class Perturbed(Strict):
    """Trained models whose step size, weights or inputs are multiplied, one at a time."""

    etas: Factors
    """Values of eta, instead of the trained one."""
    weights: Factors
    """Factors of W^V, or of W^O, which is the same model."""
    inputs: Factors
    """Factors of C."""
    boards: Count
    """Number of boards of the exponents."""
    leading: Count
    """How many of the largest exponents are averaged."""
    loops: Count
    """T of the exponents and of accuracy."""


class PseudoEnergy(Strict):
    """What AKOrN's energy and its Jacobian do along the iterations."""

    boards: Count
    """Number of boards."""
    eigenbases: int = Field(ge=0)
    """Number of boards, the first ones, of which eigenbases are computed, the costly part."""
    share: float = Field(gt=0, le=1)
    """Share of the directions of an eigenbasis that count as leading."""
    steps: Count
    """Iterations, t = 0 included."""


class Trajectories(Strict):
    """Pairs of trajectories that begin side by side."""

    warm_up: Count
    """Steps before the perturbation."""
    steps: Count
    """Steps after it."""
    points: Count
    """Steps of them that are kept, evenly spread."""
    early: Count
    """Steps after the perturbation that are all kept, too."""
    runs: Count
    """Perturbed trajectories."""
    spread: Positive
    """Standard deviation of the perturbation, as the paper has it."""
    small: Positive
    """The same of one that is small enough for the linear regime."""
    linear: Count
    """Steps of that one, all of which are kept."""


class Votes(Strict):
    """Predictions from many draws of the initial noise, and their pseudo-energies."""

    draws: Count
    """K."""
    boards: Count
    """Number of boards."""
    loops: Count
    """T."""


class Measures(Strict):
    """All of them."""

    accuracy: Accuracy
    """Solved boards."""
    exponents: Exponents
    """Lyapunov exponents."""
    distribution: Distribution
    """All exponents."""
    spectrum: Spectrum
    """Eigenvalues of a step."""
    perturbed: Perturbed
    """Changed after training."""
    pseudo_energy: PseudoEnergy
    """AKOrN's energy."""
    trajectories: Trajectories
    """Sensitivity to the start."""
    votes: Votes
    """Votes by pseudo-energy."""


class Linear(Strict):
    """Where the logarithm of a distance between trajectories has the slope that claims take."""

    least: Positive
    """L1 distance, far above what float64 rounds away in tokens of size 1."""
    most: Positive
    """L1 distance, far below the size of tokens."""
    skipped: Skipped
    """Of the steps in between, in which a perturbation turns to where it grows most."""

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.least >= self.most:
            raise ValueError(f"least ({self.least:g}) must be below most ({self.most:g})")
        return self


class Regimes(Strict):
    """What claims speak of without the paper's saying from where on, and until where."""

    large: float = Field(gt=0, le=1)
    """N over D from which on N is large."""
    linear: Linear
    """Of perturbed trajectories."""


How = TypeVar("How", bound=Strict)


class MeasureJob(Strict, Generic[How]):
    """One metric of one condition."""

    train: TrainJob
    """What the runs were made by."""
    how: How
    """Settings of the metric."""


class WeightsJob(Strict):
    """What is read off the weights alone."""

    train: TrainJob
    """What the runs were made by."""
