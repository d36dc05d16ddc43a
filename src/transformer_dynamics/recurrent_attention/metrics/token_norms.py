"""Norms of Jacobians of untrained attention, as a table."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from replication.study.contract import Run
from replication.study.fingerprint import digest
from transformer_dynamics.recurrent_attention.settings.token_norms import TokenNormsMetricJob
from transformer_dynamics.recurrent_attention.training.token_norms import READINGS


def measure(
    job: TokenNormsMetricJob, runs: Iterable[Run], data: Sequence[Mapping[str, NDArray[Any]]]
) -> pd.DataFrame:
    """Return all draws; of `norms`, columns seed, reading, initialisation, heads, tokens, norm."""
    rows = {"norms": _norms, "fingerprint": _fingerprint}[job.metric]
    tables = [rows(job, run.seeds, np.asarray(run.arrays["norms"], np.float64)) for run in runs]
    return pd.concat(tables, ignore_index=True)


def _norms(job: TokenNormsMetricJob, seeds: list[int], norms: NDArray[np.float64]) -> pd.DataFrame:
    made = job.runs
    axes = {
        "seed": seeds,
        "reading": READINGS,
        "initialisation": made.initialisations,
        "heads": made.heads,
        "tokens": made.tokens,
    }
    index = pd.MultiIndex.from_product([list(axis) for axis in axes.values()], names=list(axes))
    return pd.DataFrame({"norm": norms.ravel()}, index=index).reset_index()


def _fingerprint(
    job: TokenNormsMetricJob, seeds: list[int], norms: NDArray[np.float64]
) -> pd.DataFrame:
    """Return a digest of all bits of a draw, and a number that changes little with them."""
    return pd.DataFrame(
        {
            "seed": seeds,
            "digest": [digest({"norm": draw}) for draw in norms],
            "mean_log_norm": np.log(norms).mean(axis=(1, 2, 3, 4)),
        }
    )
