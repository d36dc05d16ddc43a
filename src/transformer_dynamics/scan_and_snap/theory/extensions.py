"""Section 7: the residual connection, and a positional bias of the attention.

With the query's embedding added before the output is normalised, class n's feature is
LN(f_n + e_m), m = psi(n), and since m does not occur before the query

    LN(f_n + e_m).LN(f_n' + e_m') = (f_n.f_n' + 1(psi(n) = psi(n')))/2.

Classes with the same query repel each other even if they share no token, so what is distinct or
common is decided among the classes of one query. A positional bias z_0 of the logits multiplies
P(l|m,n) by exp(z_0), which is what a non-zero Z(0) does too.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from replication.base.errors import InputError
from transformer_dynamics.scan_and_snap.theory.attention_flow import lemma4_rate
from transformer_dynamics.scan_and_snap.theory.sequence_classes import SequenceClasses

Floats = NDArray[np.float64]


def residual_features(feature_columns: ArrayLike, classes: SequenceClasses) -> Floats:
    """Return [M, K] LN(f_n + e_m) of every class."""
    f = np.array(feature_columns, dtype=np.float64)
    f[classes.query_tokens[classes.query], np.arange(f.shape[1])] += 1
    return np.asarray(f / np.linalg.norm(f, axis=0))


def residual_correlations(correlation: ArrayLike, query: ArrayLike) -> Floats:
    """Return [K, K] E with the residual connection, zero on the diagonal.

    Off it are (f_n.f_n' + 1(psi(n) = psi(n')))/2.
    """
    psi = np.asarray(query)
    e = (np.asarray(correlation, dtype=np.float64) + (psi[:, None] == psi[None, :])) / 2
    np.fill_diagonal(e, 0)
    return np.asarray(e)


def residual_rate(feature_columns: ArrayLike, beta: ArrayLike, query: ArrayLike) -> Floats:
    """Return [L, M] zdot_m / (eta_Z gamma) of (10) with the residual connection.

    It is half of the form without it, with its own beta: the projection removes LN(f_n + e_m), and
    a logit's gradient sees 1/sqrt(2) of f_n twice.
    """
    return lemma4_rate(feature_columns, beta, query) / 2


def biased_classes(classes: SequenceClasses, bias: ArrayLike) -> SequenceClasses:
    """Return the classes whose P(l|m,n) a positional bias [L, M] z_0 tilts: P exp(z_0), normalised.

    With P(l|m,n) exp(z_ml + z_0) attended to, training with the bias is training these classes
    without it. Raise InputError if the bias is not finite or has another shape.
    """
    z = np.asarray(bias, dtype=np.float64)
    expected = (len(classes.query_tokens), classes.vocabulary_size)
    if z.shape != expected or not np.isfinite(z).all():
        raise InputError(f"the positional bias must be {expected} finite logits, got {z.shape}")
    tilt = np.take_along_axis(z[classes.query], classes.support, axis=1)
    weights = classes.probabilities * np.exp(tilt - tilt.max(axis=1, keepdims=True))
    return replace(classes, probabilities=weights / weights.sum(axis=1, keepdims=True))
