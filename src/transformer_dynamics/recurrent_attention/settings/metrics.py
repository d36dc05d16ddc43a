"""Settings of metrics, one section each, and of the regimes that claims speak of."""

from typing import Annotated, Generic, Self, TypeVar

from pydantic import AfterValidator, Field, model_validator

from replication.base.strict import Count, Counts, Positive, Strict, refuse_repeated
from transformer_dynamics.recurrent_attention.settings.training import TrainJob

IN, OUT = "in distribution", "out of distribution"
"""Names of the splits of the boards in tables."""
NEAR_ZERO = 0.35
"""Largest |exponent| that is near zero, that of Figure 3's models that solve boards."""
Factors = Annotated[list[Positive], Field(min_length=1), AfterValidator(refuse_repeated)]
Skipped = Annotated[float, Field(ge=0, lt=1)]
"""Share of some steps, the first ones, that does not count."""


class Accuracy(Strict):
    """Share of solved boards against the number of loops."""

    loops: Counts
    """Numbers T of loops, ascending."""
    draws: Count
    """Number of draws of the initial noise per board."""


class Exponents(Strict):
    """Lyapunov exponents of finite time along the boards of the test out of distribution."""

    boards: Count
    """Number of boards."""
    steps: Count
    """Number T of steps."""
    leading: Count
    """Number of the largest exponents that are averaged."""
    long: Count
    """Number of steps of the largest exponent of a long time."""
    skipped: Skipped
    """Share of the steps of the long time in which a tangent vector still turns to where it grows
    most."""


Largest = Annotated[Count | None, Field(exclude_if=lambda count: count is None)]


class Distribution(Strict):
    """All finite-time Lyapunov exponents along a few boards, or the largest of them."""

    boards: Count
    """Number of boards."""
    steps: Count
    """Number T of steps."""
    largest: Largest = None
    """Number of the largest exponents that are kept; all, if it is left out."""


class Spectrum(Strict):
    """Eigenvalues of the Jacobian of one step."""

    boards: Count
    """Number of boards."""
    steps: Count
    """Number of steps before the one whose eigenvalues are computed."""
    largest: Largest = None
    """Number of eigenvalues of largest modulus, and of largest |imaginary part|, that are kept;
    all, if it is left out."""


class Perturbed(Strict):
    """Trained models whose step size, weights or inputs are multiplied, one at a time."""

    etas: Factors
    """Values of eta, instead of the trained one."""
    weights: Factors
    """Factors of W^V, or of W^O, which is the same model."""
    inputs: Factors
    """Factors of the inputs C."""
    boards: Count
    """Number of boards of the exponents."""
    leading: Count
    """Number of the largest exponents that are averaged."""
    loops: Count
    """Number T of loops of the exponents and of accuracy."""


class PseudoEnergy(Strict):
    """Pseudo-energy of AKOrN and Jacobian of its attention along the iterations."""

    boards: Count
    """Number of boards."""
    eigenbases: int = Field(ge=0)
    """Number of boards, the first ones, of which eigenbases are computed, the costly part."""
    share: float = Field(gt=0, le=1)
    """Share of the directions of an eigenbasis that count as leading."""
    steps: Count
    """Number of iterations, t = 0 included."""


class Trajectories(Strict):
    """Pairs of trajectories that begin side by side."""

    warm_up: Count
    """Number of steps before the perturbation."""
    steps: Count
    """Number of steps after the perturbation."""
    points: Count
    """Number of steps after the perturbation that are kept, evenly spread."""
    early: Count
    """Number of first steps after the perturbation that are all kept, too."""
    runs: Count
    """Number of perturbed trajectories."""
    spread: Positive
    """Standard deviation of the perturbation, as the paper has it."""
    small: Positive
    """Standard deviation of a perturbation that is small enough for the linear regime."""
    linear: Count
    """Number of steps after the small perturbation, all of which are kept."""


class Votes(Strict):
    """Predictions from many draws of the initial noise, and their pseudo-energies."""

    draws: Count
    """Number K of draws."""
    boards: Count
    """Number of boards."""
    loops: Count
    """Number T of loops."""


class Metrics(Strict):
    """Settings of all metrics."""

    accuracy: Accuracy
    """Settings of the accuracy: the share of solved boards."""
    exponents: Exponents
    """Settings of the Lyapunov exponents."""
    distribution: Distribution
    """Settings of the distribution of all exponents."""
    spectrum: Spectrum
    """Settings of the eigenvalues of a step."""
    perturbed: Perturbed
    """Settings of models that are changed after training."""
    pseudo_energy: PseudoEnergy
    """Settings of AKOrN's pseudo-energy."""
    trajectories: Trajectories
    """Settings of the sensitivity to the start."""
    votes: Votes
    """Settings of votes by pseudo-energy."""


class LinearRegime(Strict):
    """Range of distances between trajectories in which their logarithm is a line over steps."""

    least: Positive
    """Least L1 distance, far above the rounding of float64 in tokens of size 1."""
    most: Positive
    """Largest L1 distance, far below the size of tokens."""
    skipped: Skipped
    """Share of the steps in between in which a perturbation still turns to where it grows most."""

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.least >= self.most:
            raise ValueError(f"least ({self.least:g}) must be below most ({self.most:g})")
        return self


class Regimes(Strict):
    """Ranges of claims for which the paper prints no number."""

    large: float = Field(gt=0, le=1)
    """Ratio N over D from which on N is large."""
    linear: LinearRegime
    """Linear regime of perturbed trajectories."""


MetricSettings = TypeVar("MetricSettings", bound=Strict)


class MetricJob(Strict, Generic[MetricSettings]):
    """Job that computes one metric of one condition."""

    train: TrainJob
    """Training that made the runs."""
    settings: MetricSettings
    """Settings of the metric."""

    @property
    def device(self) -> str:
        """Device that computes, that of the training."""
        return self.train.device


class WeightsJob(Strict):
    """Job that reads a metric off the weights alone."""

    train: TrainJob
    """Training that made the runs."""
