"""Runs of Figure 6 against the literal loop.

All cells of a mixture and seed are sampled and trained at once; literally each sequence is drawn by
its own call, and a cell is a run of its own. Two of the cells are run literally and multiplied up.
`python -m benchmarks` measures all of them, on all cores.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.turns import ROUNDS, Compared, time_by_turns
from replication.plan.configuration import configure
from replication.study.studies import find_studies
from transformer_dynamics.scan_and_snap.data.sequences import draw_sequences
from transformer_dynamics.scan_and_snap.settings.training import TrainJob
from transformer_dynamics.scan_and_snap.study import Settings
from transformer_dynamics.scan_and_snap.training.literal import literal_train
from transformer_dynamics.scan_and_snap.training.loop import train_sweep

CELLS = (0, 3)
"""Those that are run literally."""


def cells_together(job: TrainJob, seed: int = 1, rounds: int = ROUNDS) -> Compared:
    """Train the first mixture's cells.

    Args:
        job: what is trained; its stream is the authors'.
        seed: of the runs.
        rounds: how often each way is timed.
    """
    mixture = next(iter(job.mixtures.values()))
    number = len(job.training.cells)

    def literal() -> NDArray[np.float64]:
        runs = [
            literal_train(mixture, job.sampling, job.training, cell, seed).loss for cell in CELLS
        ]
        return np.array(runs).T

    def ours() -> NDArray[np.float32]:
        sequences = draw_sequences(mixture, job.sampling, seed)
        return train_sweep(mixture, job, seed, sequences).loss[:, CELLS]

    step = f"{number} runs of one seed, {mixture.vocabulary_size} tokens"
    found = time_by_turns(step, ("one run after the other", literal, ours), 2e-3, rounds)
    slow, fast = found.seconds
    return found._replace(seconds=(slow * number / len(CELLS), fast))


def runs_of_figure_6() -> TrainJob:
    """The default settings of one size of its data."""
    settings = configure({}, find_studies()).section("scan_and_snap")
    # So that their type is known.
    return Settings.model_validate(settings).train_job("syn_medium", "cpu")


def compare(rounds: int = ROUNDS) -> Iterator[Compared]:
    """The runs of Figure 6."""
    yield cells_together(runs_of_figure_6(), rounds=rounds)
