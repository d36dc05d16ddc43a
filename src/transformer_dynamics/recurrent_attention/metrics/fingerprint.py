"""Digests that tell runs apart."""

from collections.abc import Iterable, Sequence
from math import nan

import pandas as pd

from replication.study.contract import Run
from replication.study.fingerprint import digest
from transformer_dynamics.recurrent_attention.metrics.trained_models import Boards
from transformer_dynamics.recurrent_attention.settings.metrics import WeightsJob


def measure(job: WeightsJob, runs: Iterable[Run], data: Sequence[Boards]) -> pd.DataFrame:
    """Return seed, digest of all bits, loss (mean of the last updates, nats; NaN if none), eta."""
    return pd.concat([fingerprint_rows(run) for run in runs], ignore_index=True)


def fingerprint_rows(run: Run) -> pd.DataFrame:
    """Return the rows of one file of runs, a seed each."""
    rows = []
    for seed, own in run.by_seed():
        last = float(own["losses"][-1]) if own["losses"].size else nan
        rows.append((seed, digest(own), last, float(own["eta"])))
    return pd.DataFrame(rows, columns=["seed", "digest", "loss", "eta"])
