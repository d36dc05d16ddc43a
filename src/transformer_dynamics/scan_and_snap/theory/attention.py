"""Attention in the limit of long sequences, for any leading dimensions of Z, in float64."""

import numpy as np
from numpy.typing import ArrayLike

from transformer_dynamics.scan_and_snap.theory.sequence_classes import Floats, SequenceClasses


def attention_weights(classes: SequenceClasses, attention_logits: ArrayLike) -> Floats:
    """Return [..., K, S] c_n on supports, c_{l|m,n} ~ P(l|m,n) exp(z_ml) (Eq. 5, Lemma 2)."""
    return normalise(np.log(classes.probabilities) + classes.support_logits(attention_logits))


def unnormalised_attention(classes: SequenceClasses, attention_logits: ArrayLike) -> Floats:
    """Return [..., K, S] c~_n on supports, c~_{l|m,n} = P(l|m,n) exp(z_ml) (Eq. 5)."""
    return classes.probabilities * np.exp(classes.support_logits(attention_logits))


def normalise(logits: Floats) -> Floats:
    """Return the softmax along the last axis."""
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))
