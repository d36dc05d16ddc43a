"""The fingerprint of an ordinary run: a digest of all its bits, and numbers that say how close."""

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from replication.base.strict import Strict
from replication.study.contract import Run


def measure(job: Strict, runs: Iterable[Run], data: Sequence[object]) -> pd.DataFrame:
    """Return a digest of all arrays of every seed, and numbers that change little with their bits.

    Args:
        job: says nothing.
        runs: arrays [seed] or [seed, time, ...] of numbers.
        data: not used.

    Returns:
        Columns seed, digest, norm (the Euclidean length of the last values of all arrays together)
        and, by its name, the last value of each array [seed, time].
    """
    return pd.concat([_rows(run) for run in runs], ignore_index=True)


def _rows(run: Run) -> pd.DataFrame:
    arrays = {name: np.ascontiguousarray(run.arrays[name]) for name in sorted(run.arrays)}
    bits = [b"".join(one) for one in zip(*map(_bytes_by_seed, arrays.values()), strict=True)]
    last = [values[:, -1:] if values.ndim > 1 else values for values in arrays.values()]
    flat = [values.astype(np.float64).reshape(len(run.seeds), -1) for values in last]
    table = {
        "seed": run.seeds,
        "digest": [hashlib.sha256(own).hexdigest()[:16] for own in bits],
        "norm": np.linalg.norm(np.concatenate(flat, axis=1), axis=1),
    }
    of_time = {
        name: end[:, 0]
        for (name, values), end in zip(arrays.items(), flat, strict=True)
        if values.ndim == 2 and values.size
    }
    return pd.DataFrame(of_time | table)[list(table | of_time)]


def _bytes_by_seed(values: NDArray[np.generic]) -> list[bytes]:
    return [own.tobytes() for own in values]
