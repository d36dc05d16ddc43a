"""The fingerprint of an ordinary run: a digest of all its bits, and numbers that say how close."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from replication.base.strict import Strict
from replication.study.contract import Run


def measure(job: Strict, runs: Iterable[Run], data: Sequence[object]) -> pd.DataFrame:
    """Return a digest of all arrays of every seed, and numbers that change little with their bits.

    Runs have arrays [seed] or [seed, time, ...] of numbers; the job and the data count for nothing.
    Columns seed, digest, norm (the Euclidean length of the last values of all arrays together) and,
    by its name, the last value of each array [seed, time].
    """
    return pd.concat([_rows(run) for run in runs], ignore_index=True)


def digest(arrays: Mapping[str, ArrayLike], name: str = "") -> str:
    """Return a digest of all bits of a run of one seed.

    The name tells the run from another one with the same arrays.
    """
    bits = b"".join(np.asarray(arrays[key]).tobytes() for key in sorted(arrays))
    return hashlib.sha256(name.encode() + bits).hexdigest()[:16]


def _rows(run: Run) -> pd.DataFrame:
    arrays = {name: np.ascontiguousarray(run.arrays[name]) for name in sorted(run.arrays)}
    last = [values[:, -1:] if values.ndim > 1 else values for values in arrays.values()]
    flat = [values.astype(np.float64).reshape(len(run.seeds), -1) for values in last]
    table = {
        "seed": run.seeds,
        "digest": [digest(own) for _, own in run.by_seed()],
        "norm": np.linalg.norm(np.concatenate(flat, axis=1), axis=1),
    }
    of_time = {
        name: end[:, 0]
        for (name, values), end in zip(arrays.items(), flat, strict=True)
        if values.ndim == 2 and values.size
    }
    return pd.DataFrame(of_time | table)[list(table | of_time)]
