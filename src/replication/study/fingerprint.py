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
    return pd.DataFrame(
        [
            {"seed": seed, "digest": digest(arrays), **_last_values(arrays)}
            for run in runs
            for seed, arrays in run.by_seed()
        ]
    )


def digest(arrays: Mapping[str, ArrayLike], name: str = "") -> str:
    """Return a digest of all bits of a run of one seed.

    The name tells the run from another one with the same arrays.
    """
    bits = b"".join(np.asarray(arrays[key]).tobytes() for key in sorted(arrays))
    return hashlib.sha256(name.encode() + bits).hexdigest()[:16]


def _last_values(arrays: Mapping[str, ArrayLike]) -> dict[str, float]:
    """Return the norm of the last values of all arrays, and that of each array [time]."""
    values = {name: np.asarray(arrays[name], np.float64) for name in sorted(arrays)}
    last = {name: each[-1:] if each.ndim else each for name, each in values.items()}
    row = np.concatenate([each.ravel() for each in last.values()])[np.newaxis]
    of_time = [name for name, each in values.items() if each.ndim == 1 and each.size]
    # Along an axis, a sum is the same to the bit however many seeds stand beside each other.
    norm = float(np.linalg.norm(row, axis=1)[0])
    return {"norm": norm, **{name: float(last[name][0]) for name in of_time}}
