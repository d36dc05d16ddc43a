"""How every candidate does on the validation boards, which nothing else looks at."""

from collections.abc import Iterable, Sequence

import pandas as pd

from replication.study.contract import Run
from transformer_dynamics.recurrent_attention.measures.accuracy import forward
from transformer_dynamics.recurrent_attention.measures.trained import (
    Boards,
    beginning,
    parameters_of,
    puzzles,
    solved,
)
from transformer_dynamics.recurrent_attention.tuning_settings import TuningJob

SPLIT = "valid_out"
"""The paper tunes on boards out of distribution."""


def measure(job: TuningJob, runs: Iterable[Run], data: Sequence[Boards]) -> pd.DataFrame:
    """Accuracy of every candidate out of distribution.

    Args:
        job: the candidates.
        runs: one per candidate.
        data: the boards.

    Returns:
        Columns condition, quantity, value, seed, loops, solved and cells, see `accuracy`.
    """
    (boards,) = data
    shown = puzzles(boards, SPLIT)
    rows: list[tuple[object, ...]] = []
    for run in runs:
        train = job.runs[run.name]
        parameters, loops = parameters_of(run), sorted({train.training.loops, job.loops})
        inputs, start = beginning(train.model, parameters, shown, SPLIT)
        for done, logits in forward(train.model, parameters, start, inputs, loops):
            shares = zip(run.seeds, *(part.tolist() for part in solved(logits, shown)), strict=True)
            rows.extend((run.name, seed, done, *share) for seed, *share in shares)
    found = pd.DataFrame(rows, columns=["run", "seed", "loops", "solved", "cells"])
    tried = pd.DataFrame([candidate.model_dump() for candidate in job.candidates])
    return tried.merge(found, on="run").drop(columns="run")
