"""What is measured on the attention: entropy on distinct tokens, recall of distinct tokens.

All in float64, vectorised over any leading dimensions of Z.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from transformer_dynamics.scan_and_snap.sequence_classes import SequenceClasses

Floats = NDArray[np.float64]


def attention(classes: SequenceClasses, attention_logits: ArrayLike) -> Floats:
    """Attention in the limit of long sequences, c_{l|m,n} ~ P(l|m,n) exp(z_ml) (Eq. 5, Lemma 2).

    Args:
        classes: the K sequence classes.
        attention_logits: [..., L, M] rows z_m of Z.

    Returns:
        [..., K, S] c_n on the support of each class; sums to 1.
    """
    z = _on_support(classes, _rows(classes, attention_logits))
    return _normalise(np.log(classes.probabilities) + z)


def unnormalised_attention(classes: SequenceClasses, attention_logits: ArrayLike) -> Floats:
    """Unnormalised attention c~_{l|m,n} = P(l|m,n) exp(z_ml) (Eq. 5).

    Args:
        classes: the K sequence classes.
        attention_logits: [..., L, M] rows z_m of Z.

    Returns:
        [..., K, S] c~_n on the support of each class.
    """
    z = _on_support(classes, _rows(classes, attention_logits))
    return classes.probabilities * np.exp(z)


def entropy_on_distinct(classes: SequenceClasses, attention_logits: ArrayLike) -> Floats:
    """Shannon entropy, in nats, of c_n restricted to the class's distinct tokens, averaged over n.

    The restriction is renormalised to sum 1. Uniform attention gives the logarithm of the number of
    distinct tokens.

    Args:
        classes: the K sequence classes.
        attention_logits: [..., L, M] rows z_m of Z.

    Returns:
        [...] mean over the K classes.
    """
    c = np.where(classes.distinct, attention(classes, attention_logits), 0)
    c = c / c.sum(axis=-1, keepdims=True)
    terms = np.where(c > 0, c * np.log(np.where(c > 0, c, 1)), 0)
    return np.asarray(-terms.sum(axis=-1).mean(axis=-1))


def recall_of_distinct(
    classes: SequenceClasses, attention_logits: ArrayLike, thresholds: ArrayLike
) -> Floats:
    """Fraction of (class, distinct token) pairs whose attention is above a threshold.

    The attention is softmax(z_m) over the whole vocabulary, without P(l|n). Appendix G states the
    fraction; that vocabulary is inferred from the ranges of Figures 11 and 12.

    Args:
        classes: the K sequence classes.
        attention_logits: [..., L, M] rows z_m of Z.
        thresholds: [H] attention thresholds.

    Returns:
        [..., H] recall at each threshold, in [0, 1].
    """
    alpha = _normalise(_rows(classes, attention_logits))
    on_distinct = _on_support(classes, alpha)[..., classes.distinct]
    return np.asarray((on_distinct[..., None] > np.asarray(thresholds)).mean(axis=-2))


GROWTH = ("exponent", "relative_gain", "growth_factor")
"""What `growth` measures, in the order of its last axis."""


def growth(classes: SequenceClasses, attention_logits: ArrayLike) -> Floats:
    """How far the distinct tokens of a trajectory have grown, averaged over classes.

    The most frequent distinct token l0 of a class is compared with the middle one, l.

    * exponent: B_n(t), from zdot_ml = f_nl^2 dB_n/dt for distinct tokens (98): the sum of their
      increments of z over that of f^2, averaged over each increment's two ends;
    * relative gain: r_{l0/l|n}(t) = c_l0^2/c_l^2 - 1 (Theorem 3);
    * growth factor: chi_l0(t) = exp(2 (z_ml0(t) - z_ml0(0))) (11).

    Args:
        classes: the K sequence classes, each with as many distinct tokens.
        attention_logits: [T, ..., L, M] rows z_m of Z along time.

    Returns:
        [T, ..., 3] in the order of `GROWTH`.
    """
    c = attention(classes, attention_logits)
    f = c / np.linalg.norm(c, axis=-1, keepdims=True)
    z = _on_support(classes, _rows(classes, attention_logits))
    shape = (len(classes.support), -1)
    z, f, c, p = (
        part[..., classes.distinct].reshape(*part.shape[:-2], *shape)
        for part in (z, f, c, classes.probabilities)
    )
    squares = (f[1:] ** 2 + f[:-1] ** 2) / 2
    increments = np.diff(z, axis=0).sum(-1) / squares.sum(-1)
    at_start = np.zeros_like(increments, shape=(1, *increments.shape[1:]))
    exponent = np.concatenate([at_start, np.cumsum(increments, axis=0)])
    order = np.argsort(p[0], kind="stable")
    first, middle = order[-1], order[len(order) // 2]
    gain = (c[..., first] / c[..., middle]) ** 2 - 1
    factor = np.exp(2 * (z - z[:1])[..., first])
    return np.stack([part.mean(axis=-1) for part in (exponent, gain, factor)], axis=-1)


def _on_support(classes: SequenceClasses, rows: Floats) -> Floats:
    """[..., K, S] from [..., K, M]: the entries on every class's support."""
    index = np.broadcast_to(classes.support, (*rows.shape[:-1], classes.support.shape[1]))
    return np.take_along_axis(rows, index, axis=-1)


def _rows(classes: SequenceClasses, attention_logits: ArrayLike) -> Floats:
    """[..., K, M] the row z_m of every class's query."""
    return np.asarray(attention_logits, dtype=np.float64)[..., classes.query, :]


def _normalise(logits: Floats) -> Floats:
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))
