"""Coupling of the classes: F, E, E' and the back-propagated gradient of Theorem 1.

    c_n ~ P(l|n) exp(z_ml),   f_n = c_n/|c_n|_2,   F = [f_1 .. f_K],   E = F^T F - I
    E' = I - (I+E)^{-1},      F^dagger = (I - E') F^T                             (Lemma 14)
    g_n = Y (x_{T+1} - alpha_n) = gamma (iota_n f_n - sum_{n'!=n} beta_nn' f_n')    (9)
    xi_n = gamma sum_{n'!=n} beta_nn' f_n.f_n'                                      (Theorem 1a)

The appendix prints E' and the last term of beta with the opposite sign; `printed=True` gives those.

In the functions `feature_columns` [M, K] is F, `correlation` [K, K] is E, `attention_logits`
[..., L, M] has rows z_m of Z, and `next_tokens` [K] are those of the classes, 0..K-1 by default. An
E that no independent columns have, K > M and M < 2 raise `InputError`, see `assumptions`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from replication.base.errors import InputError
from transformer_dynamics.scan_and_snap.theory.assumptions import (
    require_classes,
    require_correlations,
)
from transformer_dynamics.scan_and_snap.theory.attention import attention_weights
from transformer_dynamics.scan_and_snap.theory.decoder import q0, q1
from transformer_dynamics.scan_and_snap.theory.sequence_classes import Floats, SequenceClasses


def example_features(vocabulary_size: int = 200, num_classes: int = 6) -> Floats:
    """Return [M, K] unequal, overlapping f_n >= 0 with |f_n|_2 = 1, the same on every call."""
    rng = np.random.default_rng(0)
    weights = rng.uniform(0, 1, (vocabulary_size, num_classes)) ** 4
    weights *= rng.uniform(0, 1, weights.shape) < 0.5
    return np.asarray(weights / np.linalg.norm(weights, axis=0))


def features(classes: SequenceClasses, attention_logits: ArrayLike) -> Floats:
    """Return [..., M, K] F, the f_n = c_n/|c_n|_2 >= 0 in the limit of long sequences."""
    c = attention_weights(classes, attention_logits)
    f = c / np.linalg.norm(c, axis=-1, keepdims=True)
    columns = np.zeros((*f.shape[:-1], classes.vocabulary_size))
    np.put_along_axis(columns, np.broadcast_to(classes.support, f.shape), f, axis=-1)
    return np.asarray(np.swapaxes(columns, -1, -2))


def correlations(feature_columns: ArrayLike) -> Floats:
    """Return [K, K] E = F^T F - I with a zero diagonal."""
    f = np.asarray(feature_columns, dtype=np.float64)
    require_classes(f.shape[1], f.shape[0])
    e = f.T @ f
    np.fill_diagonal(e, 0)
    return np.asarray(e)


def initial_correlations(classes: SequenceClasses) -> Floats:
    """Return [K, K] E at Z = 0, where c_n is P(.|m,n)."""
    start = np.zeros((len(classes.query_tokens), classes.vocabulary_size))
    return correlations(features(classes, start))


def e_prime(correlation: ArrayLike, *, printed: bool = False) -> Floats:
    """Return [K, K] E' = I - (I+E)^{-1} (Lemma 14), symmetric.

    If `printed`, it is (I+E)^{-1} - I as App. D.1 prints it, under which (26)-(30) fail.
    """
    e = require_correlations(correlation)
    inverse = np.linalg.solve(np.eye(len(e)) + e, e)  # (I+E)^{-1} E = I - (I+E)^{-1}
    symmetric = (inverse + inverse.T) / 2
    return np.asarray(-symmetric if printed else symmetric)


class Coefficients(NamedTuple):
    """g_n in the basis F: the coefficient of f_n, and minus those of the other f_n'."""

    iota: Floats
    """[K] Coefficients iota_n."""
    beta: Floats
    """[K, K] Coefficients beta_nn'; the diagonal is 0."""


def theorem1_coefficients(
    correlation: ArrayLike, vocabulary_size: int, *, printed: bool = False
) -> Coefficients:
    """Return coefficients of Theorem 1 for classes seen equally often (theta = sigma = 0).

        iota_n   = q1 (1 - E'_nn) - q0 sum_{k!=n} E'_kn                      (87)
        beta_nn' = q1 E'_nn' - q0 (1 - sum_{k!=n} E'_kn')

    If `printed`, beta has the sign of (88), q0 (1 + sum_{k!=n} E'_kn').
    """
    prime = e_prime(correlation)
    require_classes(len(prime), vocabulary_size)
    own, other = q1(vocabulary_size), q0(vocabulary_size)
    diagonal = np.diagonal(prime)
    column = prime.sum(axis=0)
    iota = own * (1 - diagonal) - other * (column - diagonal)
    rest = column[None, :] - prime  # [n, n']: sum over k != n of E'_kn'
    beta = own * prime + other * ((1 + rest) if printed else (rest - 1))
    np.fill_diagonal(beta, 0)
    return Coefficients(iota=iota, beta=beta)


def combine_features(
    feature_columns: ArrayLike, coefficients: Coefficients, gamma: float
) -> Floats:
    """Return [M, K] g_n = gamma (iota_n f_n - sum_{n'!=n} beta_nn' f_n') as columns (9)."""
    f = np.asarray(feature_columns, dtype=np.float64)
    return np.asarray(gamma * (f * coefficients.iota - f @ coefficients.beta.T))


def drive(correlation: ArrayLike, coefficients: Coefficients, gamma: ArrayLike = 1) -> Floats:
    """Return [..., K] xi_n = gamma sum_{n'!=n} beta_nn' f_n.f_n', the drive (Theorem 1a)."""
    e = np.asarray(correlation, dtype=np.float64)
    size = np.asarray(gamma, dtype=np.float64)[..., None]
    return np.asarray(size * (e * coefficients.beta).sum(axis=1))


def theorem5_decoder(
    feature_columns: ArrayLike, h: float, next_tokens: ArrayLike | None = None
) -> Floats:
    """Return Y = F (I - E') W with w_n = (M-1) h zeta_n, every class seen equally often (70)."""
    f = np.asarray(feature_columns, dtype=np.float64)
    size, num_classes = f.shape
    rows = size * _one_hot(next_tokens, num_classes, size) - 1
    prime = e_prime(correlations(f))
    return np.asarray(h * (f - f @ prime) @ rows)


def feature_gradient(
    decoder: ArrayLike, feature_columns: ArrayLike, next_tokens: ArrayLike | None = None
) -> Floats:
    """Return [M, K] g_n = Y (x_{T+1} - alpha_n) of any decoder, alpha_n = softmax(Y^T f_n)."""
    y = np.asarray(decoder, dtype=np.float64)
    f = np.asarray(feature_columns, dtype=np.float64)
    alpha = softmax(y.T @ f, axis=0)
    target = _one_hot(next_tokens, f.shape[1], y.shape[1])
    return np.asarray(y @ (target.T - alpha))


def drive_on_distinct(
    gradient: ArrayLike, feature_columns: ArrayLike, distinct: ArrayLike
) -> Floats:
    """Return [..., K] xi_n as the distinct tokens feel it, for any g_n.

    The attention logit of token l moves at f_nl (g_nl - f_nl f_n.g_n) (Lemma 1); over the distinct
    tokens, on which g_n ~ f_n if F stands still, this is f_nl^2 xi_n (98) with

        xi_n = sum_l f_nl g_nl / sum_l f_nl^2 - f_n.g_n.
    """
    g, f = np.asarray(gradient, dtype=np.float64), np.asarray(feature_columns, dtype=np.float64)
    mask = np.asarray(distinct, dtype=np.bool_)
    if not mask.any(axis=0).all():
        raise InputError("every class needs a distinct token (Theorem 2a) to measure xi_n on it")
    product = f * g
    own = (product * mask).sum(axis=-2) / (f**2 * mask).sum(axis=-2)
    return np.asarray(own - product.sum(axis=-2))


def distinct_columns(classes: SequenceClasses) -> NDArray[np.bool_]:
    """Return [M, K] true where token l is a distinct token of class n."""
    columns = np.zeros((len(classes.support), classes.vocabulary_size), dtype=np.bool_)
    np.put_along_axis(columns, classes.support, classes.distinct, axis=1)
    return columns.T


def _one_hot(next_tokens: ArrayLike | None, num_classes: int, size: int) -> Floats:
    """Return [K, M] e_n of each class."""
    ids = np.arange(num_classes) if next_tokens is None else np.asarray(next_tokens)
    return np.asarray(np.eye(size)[ids])
