"""Accuracy of every candidate on the validation boards, which nothing else looks at."""

from collections.abc import Iterable, Sequence

import pandas as pd

from replication.study.contract import Run
from transformer_dynamics.recurrent_attention.metrics.accuracy import logits_along_loops
from transformer_dynamics.recurrent_attention.metrics.fingerprint import fingerprint_rows
from transformer_dynamics.recurrent_attention.metrics.trained_models import (
    Boards,
    initial_conditions,
    run_parameters,
    select_boards,
    solved_shares,
)
from transformer_dynamics.recurrent_attention.settings.tuning import TuningJob

SPLIT = "valid_out"
"""Split of the choice: the paper tunes on boards out of distribution."""


def measure(job: TuningJob, runs: Iterable[Run], data: Sequence[Boards]) -> pd.DataFrame:
    """Return the accuracy of every candidate out of distribution, or their fingerprints.

    Columns: condition, quantity, value, seed, loops, solved and cells, see `accuracy`; of the
    fingerprint candidate, seed, digest, loss and eta, see `fingerprint`.
    """
    if job.metric == "fingerprint":
        rows = [fingerprint_rows(run).assign(candidate=run.name) for run in runs]
        return pd.concat(rows, ignore_index=True)
    (boards,) = data
    shown = select_boards(boards, SPLIT)
    found: list[tuple[object, ...]] = []
    for run in runs:
        train = job.runs[run.name]
        parameters = run_parameters(run, place=job.device)
        loops = sorted({train.training.loops, job.loops})
        inputs, start = initial_conditions(train.model, parameters, shown, SPLIT)
        for done, logits in logits_along_loops(train.model, parameters, start, inputs, loops):
            shares = zip(
                run.seeds, *(part.tolist() for part in solved_shares(logits, shown)), strict=True
            )
            found.extend((run.name, seed, done, *share) for seed, *share in shares)
    accuracies = pd.DataFrame(found, columns=["run", "seed", "loops", "solved", "cells"])
    tried = pd.DataFrame([candidate.model_dump() for candidate in job.candidates])
    return tried.merge(accuracies, on="run").drop(columns="run")
