"""Fingerprints of trained runs."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from replication.study.contract import Run
from replication.study.fingerprint import digest
from transformer_dynamics.lp_ft.metrics.runs.trained_runs import Arrays, Columns, trained_runs
from transformer_dynamics.lp_ft.settings.metrics import MetricJob


def measure(job: MetricJob, runs: Iterable[Run], data: Sequence[Arrays]) -> pd.DataFrame:
    """Compute a digest of all bits of every run, beside its norm and loss.

    Columns are arm (the run in words; the name of its file depends on the other runs), seed,
    digest, norm (||V||_F at the end) and loss (the last one, nats).
    """
    rows = []
    for run in trained_runs(job, runs):
        # The arm, too: where fine-tuning changed nothing, runs of two methods may be the same.
        bits = digest(run.arrays, repr(run.columns))
        norm = float(np.linalg.norm(run.arrays["weight"]))
        rows.append((run_name(run.columns), run.seed, bits, norm, float(run.arrays["losses"][-1])))
    return pd.DataFrame(rows, columns=["arm", "seed", "digest", "norm", "loss"])


def run_name(columns: Columns) -> str:
    """Return `TrainedRun.columns` without the seed as text: "cb ft adamw clip 1 ..."."""
    said = {name: value for name, value in columns.items() if name != "seed"}
    return " ".join(
        value if isinstance(value, str) else f"{name} {value:g}" for name, value in said.items()
    )
