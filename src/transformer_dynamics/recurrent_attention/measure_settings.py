"""How trained models are measured: one section of settings per metric."""

from typing import Annotated, Generic, TypeVar

from pydantic import AfterValidator, Field

from replication.strict import Count, Counts, Positive, Strict, distinct
from transformer_dynamics.recurrent_attention.train_settings import TrainJob

Factors = Annotated[list[Positive], Field(min_length=1), AfterValidator(distinct)]


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
