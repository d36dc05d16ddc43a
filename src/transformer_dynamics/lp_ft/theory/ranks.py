"""Ranks that P and F can have, whatever the network (Table 2).

With N samples and C classes, P and F as [N C, N C] matrices:

    rank P = C rank(phi phi^T + 1) <= C min(N, h + 1)
    rank F <= N rank V

A binary probe (-w/2, +w/2) has rank 1 and a multinomial one rank C-1, so the rank of F after linear
probing is at most N and (C-1) N; a random head allows C N. P and F are positive semidefinite, so
rank(P + F) is at least each of theirs.
"""

import numpy as np
from numpy.typing import NDArray


def numerical_rank(matrix: NDArray[np.floating], tolerance: float | None = None) -> int:
    """Count the singular values of a matrix above a share of the largest.

    The share is `tolerance`, by default the larger side times the resolution of the entries' type.
    """
    values = np.linalg.svd(matrix, compute_uv=False)
    share = max(matrix.shape) * np.finfo(matrix.dtype).eps if tolerance is None else tolerance
    return int(np.sum(values > share * values[0]))


def f_rank_cap(weight: NDArray[np.floating], samples: int) -> int:
    """Return the largest rank that F can have, N rank V, for V [C, h] and N samples."""
    return samples * numerical_rank(weight)
