"""What the decoder predicts under the paper's modified update (Lemma 5, Corollary 1).

w_n = (M-1) h zeta_n,    alpha_n = softmax(w_n),    e_n - alpha_n = (M-1)/((M-1)+exp(Mh)) zeta_n
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from transformer_dynamics.scan_and_snap.theory.assumptions import require_vocabulary
from transformer_dynamics.scan_and_snap.theory.decoder import prediction_error

Floats = NDArray[np.float64]


def zeta(vocabulary_size: int, tokens: ArrayLike) -> Floats:
    """zeta_n = M/(M-1) (e_n - 1/M 1), the direction in which class n's prediction moves.

    Args:
        vocabulary_size: M.
        tokens: [...] token ids n.

    Returns:
        [..., M] zeta_n; sums to 0.

    Raises:
        InputError: for M < 2.
    """
    require_vocabulary(vocabulary_size)
    one_hot = np.eye(vocabulary_size)[np.asarray(tokens)]
    return np.asarray((vocabulary_size * one_hot - 1) / (vocabulary_size - 1))


def q1(vocabulary_size: int) -> float:
    """zeta_n^T zeta_n = 1 + 1/(M-1)."""
    require_vocabulary(vocabulary_size)
    return 1 + 1 / (vocabulary_size - 1)


def q0(vocabulary_size: int) -> float:
    """zeta_n^T zeta_n' = -M/(M-1)^2 for n != n'."""
    require_vocabulary(vocabulary_size)
    return -vocabulary_size / (vocabulary_size - 1) ** 2


def lemma5_logits(h: ArrayLike, vocabulary_size: int, token: int) -> Floats:
    """w_n = (M-1) h zeta_n (31), the logits of a class under the modified update.

    Args:
        h: [...] h*(s) or h(s).
        vocabulary_size: M.
        token: id of the class's next token n.

    Returns:
        [..., M] w_n.

    Raises:
        InputError: for M < 2.
    """
    size = np.asarray(h, dtype=np.float64)[..., None]
    return np.asarray((vocabulary_size - 1) * size * zeta(vocabulary_size, token))


def lemma5_prediction(h: ArrayLike, vocabulary_size: int, token: int) -> Floats:
    """alpha_n = softmax(w_n) = e_n - (M-1)/((M-1) + exp(M h)) zeta_n (32).

    Args:
        h: [...] h*(s-1) for the prediction of step s.
        vocabulary_size: M.
        token: id of the class's next token n.

    Returns:
        [..., M] alpha_n.

    Raises:
        InputError: for M < 2.
    """
    rest = prediction_error(h, vocabulary_size)[..., None] / (vocabulary_size - 1)
    own = np.arange(vocabulary_size) == token
    return np.asarray(np.where(own, 1 - (vocabulary_size - 1) * rest, rest))
