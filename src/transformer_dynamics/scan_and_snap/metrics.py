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
    z = _rows(classes, attention_logits)
    z = np.take_along_axis(
        z, np.broadcast_to(classes.support, (*z.shape[:-1], classes.support.shape[1])), axis=-1
    )
    return _normalise(np.log(classes.probabilities) + z)


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

    The attention is softmax(z_m) over the whole vocabulary, without P(l|n). The paper does not
    state this; it is inferred from the ranges of its Figures 11 and 12.

    Args:
        classes: the K sequence classes.
        attention_logits: [..., L, M] rows z_m of Z.
        thresholds: [H] attention thresholds.

    Returns:
        [..., H] recall at each threshold, in [0, 1].
    """
    alpha = _normalise(_rows(classes, attention_logits))
    index = np.broadcast_to(classes.support, (*alpha.shape[:-1], classes.support.shape[1]))
    on_support = np.take_along_axis(alpha, index, axis=-1)
    on_distinct = on_support[..., classes.distinct]
    return np.asarray((on_distinct[..., None] > np.asarray(thresholds)).mean(axis=-2))


def _rows(classes: SequenceClasses, attention_logits: ArrayLike) -> Floats:
    """[..., K, M] the row z_m of every class's query."""
    return np.asarray(attention_logits, dtype=np.float64)[..., classes.query, :]


def _normalise(logits: Floats) -> Floats:
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))
