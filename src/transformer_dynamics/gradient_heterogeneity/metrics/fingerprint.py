"""Digests that tell runs apart: of trained networks, of heads and of measured networks."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from replication.study.contract import Run
from replication.study.fingerprint import digest
from transformer_dynamics.gradient_heterogeneity.settings.heads import HeadsJob
from transformer_dynamics.gradient_heterogeneity.settings.metrics import FingerprintJob
from transformer_dynamics.gradient_heterogeneity.settings.training import RunJob

Arrays = Mapping[str, NDArray[Any]]


def measure(job: FingerprintJob, runs: Iterable[Run], data: Sequence[object]) -> pd.DataFrame:
    """Return a digest of all bits of a run, and a few numbers of its end.

    Columns are arm (the name of the run without its seed), seed and digest. Of trained networks,
    loss (of the last batch) and endpoint, in nats. Of heads, the mean norm of V and the mean loss
    (nats). Of measured networks, norm, the mean of ||g|| of the last state, and curvature, the mean
    of its h_b, NaN if none was measured.
    """
    rows = []
    for run in runs:
        # The seeds of a run of heads have hyphens, too; the other names do.
        first, _, _ = run.name.partition("-")
        arm = first if isinstance(job.runs.get(first), HeadsJob) else run.name.rpartition("-")[0]
        for seed, whole in run.by_seed():
            arrays = {"heads": whole["heads"]} if isinstance(job.runs[arm], HeadsJob) else whole
            if isinstance(job.runs[arm], HeadsJob):
                *_, norm, loss = arrays["heads"][:, :, -1].mean(axis=(0, 1))
                numbers = {"norm": float(norm), "loss": float(loss)}
            elif isinstance(job.runs[arm], RunJob):
                loss, endpoint = arrays["losses"][-1], arrays["looks"][-1, 0]
                numbers = {"loss": float(loss), "endpoint": float(endpoint)}
            else:
                numbers = _end_of_measurements(arrays)
            # The arm, too: where nothing could be learned, two runs may be the same.
            rows.append({"arm": arm, "seed": seed, "digest": digest(arrays, arm)} | numbers)
    return pd.DataFrame(rows)


def _end_of_measurements(arrays: Arrays) -> dict[str, float]:
    curvatures = arrays["curvatures"][-1]
    known = curvatures[np.isfinite(curvatures)]
    return {
        "norm": float(np.linalg.norm(arrays["norms"][-1], axis=-1).mean()),
        "curvature": float(known.mean()) if len(known) else np.nan,
    }
