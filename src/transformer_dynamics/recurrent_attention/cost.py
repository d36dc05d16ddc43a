"""Memory and operations of jobs, from the sizes of tokens, models and boards.

Bytes are the most that a job holds at once. The constants were fitted to jobs; a test compares
both.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from replication.plan.limits import library_memory
from transformer_dynamics.recurrent_attention.settings.metrics import (
    Accuracy,
    Distribution,
    Exponents,
    MetricJob,
    Perturbed,
    PseudoEnergy,
    Spectrum,
    Trajectories,
    Votes,
)
from transformer_dynamics.recurrent_attention.settings.models import MOST_ROWS
from transformer_dynamics.recurrent_attention.settings.training import TrainJob
from transformer_dynamics.recurrent_attention.settings.tuning import TuningJob

SINGLE, DOUBLE = 4, 8
"""Bytes of a number in float32 and in float64."""
PROCESS, LEAST = 700e6, 1500
"""Bytes of Python, PyTorch and pandas; MB that every job asks for."""
PRODUCT = 8
"""Steps that take as long as a product of a vector with a Jacobian or its transpose."""
COLUMNS = 400
"""Products per step of a trajectory until the largest exponents are found."""
QUADRATURE = 4 * 2 * 60
"""Products per step of the mean of all exponents: probes, J and its transpose, iterations."""
KRYLOV = 4
"""Vectors of Arnoldi's iteration per eigenvalue."""
RESTARTS = 4
"""Products per vector of Arnoldi's iteration."""


class Need(NamedTuple):
    """Needs of a job."""

    memory: int
    """Memory in MB."""
    operations: float
    """Floating-point operations of its matrix products."""


def training_need(job: TrainJob, seeds: int) -> Need:
    """Return the need of training some seeds at once."""
    steps = seeds * job.training.batch_size * job.training.loops
    kept: float = steps * _kept_numbers(job) + 8 * seeds * _parameters(job)
    # Forward, and twice as much backward.
    return _need(job, kept * SINGLE, 3.0 * job.updates * steps * step_operations(job))


def metric_need(job: MetricJob[Any], seeds: int) -> Need:
    """Return the need of a metric of some seeds."""
    taken, steps = NEEDS[type(job.settings)](job, seeds)
    return _need(job.train, taken, steps * step_operations(job.train))


def tuning_need(job: TuningJob, seeds: int) -> Need:
    """Return the need of the accuracy of candidates, each of some seeds."""
    train = next(iter(job.runs.values()))
    boards = seeds * train.boards.valid
    steps = len(job.runs) * boards * max(train.training.loops, job.loops)
    return _need(train, boards * _moving_numbers(train) * SINGLE, steps * step_operations(train))


def step_operations(job: TrainJob) -> float:
    """Return the operations of one step of one board: four projections, two products with P."""
    cells, width = job.boards.cells, job.model.width
    return 2.0 * cells * (4 * width**2 + 2 * cells * width)


def _need(job: TrainJob, taken: float, operations: float) -> Need:
    return Need(max(LEAST, round((PROCESS + taken) / 1e6)) + library_memory(job.device), operations)


def _moving_numbers(job: TrainJob) -> int:
    """Return the numbers that a step of one board needs at once."""
    return 8 * job.rows + 3 * job.model.heads * job.boards.cells**2


def _kept_numbers(job: TrainJob) -> int:
    """Return the numbers that a step of one board keeps for its derivative."""
    return 17 * job.rows + 3 * job.model.heads * job.boards.cells**2


def _parameters(job: TrainJob) -> int:
    return 6 * job.model.width**2 + 2 * job.rows


def _jacobians(job: TrainJob, steps: int, columns: int) -> float:
    """Return the bytes of Jacobians of some steps, and of a frame that they multiply."""
    if job.rows <= MOST_ROWS:
        # Besides those of all steps, copies while one is made, and the largest decomposition.
        return (steps + 8) * job.rows**2 * DOUBLE
    frame = 4 * columns * job.rows
    return (steps * _kept_numbers(job) * 2 + 64 * _kept_numbers(job) + frame) * DOUBLE


def _accuracy(job: MetricJob[Accuracy], seeds: int) -> tuple[float, float]:
    own, boards = job.settings, job.train.boards.test
    steps = 2 * seeds * boards * own.draws * max(own.loops)
    return seeds * boards * _moving_numbers(job.train) * SINGLE, steps


def _exponent_steps(job: TrainJob, steps: int, columns: int) -> float:
    """Return the steps that take as long as the exponents of a trajectory."""
    if job.rows <= MOST_ROWS:
        # Products of matrices, counted as steps.
        return steps * 4 * job.rows**3 / step_operations(job)
    return steps * (columns + QUADRATURE) * PRODUCT


def _exponents(job: MetricJob[Exponents], seeds: int) -> tuple[float, float]:
    own = job.settings
    each = _exponent_steps(job.train, own.steps, COLUMNS)
    steps = seeds * (own.boards * each + own.long * 2 * PRODUCT)
    return _jacobians(job.train, own.steps, 160), steps


def _distribution(job: MetricJob[Distribution], seeds: int) -> tuple[float, float]:
    own = job.settings
    columns = COLUMNS + 16 * (own.largest or 0)
    steps = seeds * own.boards * _exponent_steps(job.train, own.steps, columns)
    return _jacobians(job.train, own.steps, columns), steps


def _spectrum(job: MetricJob[Spectrum], seeds: int) -> tuple[float, float]:
    own, both = job.settings, 2
    vectors = KRYLOV * (own.largest or 0)
    steps = both * seeds * own.boards * both * RESTARTS * vectors * PRODUCT
    return _jacobians(job.train, 1, vectors), steps


def _perturbed(job: MetricJob[Perturbed], seeds: int) -> tuple[float, float]:
    own, boards = job.settings, job.train.boards.test
    changes = 1 + len(own.etas) + len(own.weights) + len(own.inputs)
    each = own.boards * _exponent_steps(job.train, own.loops, COLUMNS) + boards * own.loops
    numbers = boards * _moving_numbers(job.train) * SINGLE
    return max(_jacobians(job.train, own.loops, 160), numbers), seeds * changes * each


def _pseudo_energy(job: MetricJob[PseudoEnergy], seeds: int) -> tuple[float, float]:
    own, train = job.settings, job.train
    vectors = 2 * own.share * train.rows if own.eigenbases and train.rows > MOST_ROWS else 0
    products = own.eigenbases * (2 * own.steps + 1) * 2 * RESTARTS * vectors
    steps = seeds * (products * PRODUCT + own.boards * own.steps)
    return _jacobians(train, 1, round(vectors)), steps


def _trajectories(job: MetricJob[Trajectories], seeds: int) -> tuple[float, float]:
    own = job.settings
    count = seeds * (own.runs + 2)
    return count * _moving_numbers(job.train) * DOUBLE, count * (own.warm_up + own.steps)


def _votes(job: MetricJob[Votes], seeds: int) -> tuple[float, float]:
    own = job.settings
    count = seeds * own.boards
    return count * _moving_numbers(job.train) * SINGLE, 2 * count * own.draws * own.loops


NEEDS: dict[type, Callable[[Any, int], tuple[float, float]]] = {
    Accuracy: _accuracy,
    Exponents: _exponents,
    Distribution: _distribution,
    Spectrum: _spectrum,
    Perturbed: _perturbed,
    PseudoEnergy: _pseudo_energy,
    Trajectories: _trajectories,
    Votes: _votes,
}
"""Bytes and steps of single boards that a metric of some seeds takes, by its settings."""
