"""Entropy of attention on distinct tokens, and recall of distinct tokens, in float64."""

import numpy as np
from numpy.typing import ArrayLike

from transformer_dynamics.scan_and_snap.theory.attention import attention_weights, normalise
from transformer_dynamics.scan_and_snap.theory.sequence_classes import Floats, SequenceClasses


def entropy_on_distinct(classes: SequenceClasses, attention_logits: ArrayLike) -> Floats:
    """Return [...] the entropy, in nats, of c_n on the class's distinct tokens, averaged over n.

    `attention_logits` are [..., L, M] rows z_m of Z. The restriction is renormalised to sum 1.
    Uniform attention gives the logarithm of the number of distinct tokens.
    """
    c = np.where(classes.distinct, attention_weights(classes, attention_logits), 0)
    c = c / c.sum(axis=-1, keepdims=True)
    terms = np.where(c > 0, c * np.log(np.where(c > 0, c, 1)), 0)
    return np.asarray(-terms.sum(axis=-1).mean(axis=-1))


def recall_of_distinct(
    classes: SequenceClasses, attention_logits: ArrayLike, thresholds: ArrayLike
) -> Floats:
    """Return [..., H] share of (class, distinct token) pairs with attention above each threshold.

    The attention is softmax(z_m) over the whole vocabulary, without P(l|n). Appendix G states the
    fraction; that vocabulary is inferred from the ranges of Figures 11 and 12. `attention_logits`
    are [..., L, M] rows z_m of Z.
    """
    alpha = normalise(classes.query_logits(attention_logits))
    on_distinct = classes.take_support(alpha)[..., classes.distinct]
    return np.asarray((on_distinct[..., None] > np.asarray(thresholds)).mean(axis=-2))
