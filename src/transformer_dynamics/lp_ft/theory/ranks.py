"""Which ranks P and F can have, whatever the network (Table 2).

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
    """Number of singular values above a share of the largest.

    Args:
        matrix: [m, n], real.
        tolerance: that share; by default max(m, n) times the resolution of the entries' type.

    Returns:
        The rank; 0 for a matrix of zeros.
    """
    values = np.linalg.svd(matrix, compute_uv=False)
    share = max(matrix.shape) * np.finfo(matrix.dtype).eps if tolerance is None else tolerance
    return int(np.sum(values > share * values[0]))


def p_rank(features: NDArray[np.floating], classes: int) -> int:
    """Rank of P, C rank(phi phi^T + 1).

    It is found from [phi, 1], as the Gram matrix squares the singular values.

    Args:
        features: [N, h] phi(x_i).
        classes: C.

    Returns:
        At most C min(N, h + 1).
    """
    with_ones = np.concatenate([features, np.ones((len(features), 1), features.dtype)], axis=1)
    return classes * numerical_rank(with_ones)


def f_rank_cap(weight: NDArray[np.floating], samples: int) -> int:
    """The largest rank that F can have, N rank V.

    Args:
        weight: [C, h] V.
        samples: N.

    Returns:
        N rank V.
    """
    return samples * numerical_rank(weight)
