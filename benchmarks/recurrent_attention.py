"""What an update of all seeds at once costs.

Against the same updates of one seed after the other, each as a process of its own would do them,
both measured by turns in one process on one thread; starting the processes is not counted. Both
have the same losses, to the bit.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.turns import ROUNDS, Compared, time_by_turns
from replication.plan.configuration import configure
from replication.study.studies import find_studies
from transformer_dynamics.recurrent_attention.data.boards import sample
from transformer_dynamics.recurrent_attention.settings.training import TrainJob
from transformer_dynamics.recurrent_attention.training.loop import run_updates
from transformer_dynamics.recurrent_attention.training.state import State, initial_state

CONDITIONS = ("itrsa", "akorn")
UPDATES = 5
"""Of one timing."""


def jobs(conditions: Sequence[str] = CONDITIONS) -> Iterator[tuple[str, TrainJob, list[int]]]:
    """Names of conditions, and their default settings and seeds."""
    study = find_studies()["recurrent_attention"]
    configuration = configure({}, {study.name: study})
    experiments = study.experiments(configuration.section(study.name), configuration.computation)
    for condition in conditions:
        (run,) = experiments[condition].runs.values()
        yield condition, TrainJob.parse(run.settings.model_dump(), condition), list(run.seeds)


def seeds_together(
    condition: str, job: TrainJob, seeds: list[int], updates: int = UPDATES, rounds: int = ROUNDS
) -> Compared:
    """Some updates of a condition.

    Args:
        condition: its name.
        job: its settings.
        seeds: of its runs.
        updates: of every timing; training goes on from one to the next.
        rounds: how often each way is timed.
    """
    boards = sample(job.boards, [], [])
    together, *alone = (
        run_updates(job, own, boards, initial_state(job, own))
        for own in (seeds, *([seed] for seed in seeds))
    )
    return time_by_turns(
        f"{updates} updates of {len(seeds)} seeds, {condition}",
        (
            "one seed after the other",
            lambda: np.concatenate([_losses(run, updates) for run in alone], axis=1),
            lambda: _losses(together, updates),
        ),
        0.0,
        rounds,
    )


def _losses(run: Iterator[State], updates: int) -> NDArray[np.float32]:
    """[update, seed] of the next updates."""
    return np.array([next(run).losses[-1] for _ in range(updates)])


def compare(rounds: int = ROUNDS) -> Iterator[Compared]:
    """All conditions."""
    for job in jobs():
        yield seeds_together(*job, rounds=rounds)
