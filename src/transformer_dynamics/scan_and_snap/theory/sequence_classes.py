"""The data model: sequence classes (P(l|m,n), m, n) as arrays."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from transformer_dynamics.scan_and_snap.settings.training import Mixture

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SequenceClasses:
    """K sequence classes over a vocabulary of M tokens, each with a support of S tokens."""

    vocabulary_size: int
    """Number M of tokens."""
    support: Ints
    """[K, S] Ids of the tokens l with P(l|m,n) > 0."""
    probabilities: Floats
    """[K, S] Probability P(l|m,n) of those tokens; every row sums to 1."""
    query: Ints
    """[K] Index psi(n) of the class's query in `query_tokens`."""
    query_tokens: Ints
    """[L] Ids of the query tokens m."""
    next_tokens: Ints
    """[K] Id of the class's next token n."""

    @property
    def num_contextual(self) -> int:
        """Number of tokens that can stand before a query; they have the first ids."""
        return int(self.query_tokens[0])

    @property
    def distinct(self) -> NDArray[np.bool_]:
        """[K, S] True for a token that occurs in this class only, |Omega(l)| = 1."""
        occurrences = np.bincount(self.support.ravel(), minlength=self.vocabulary_size)
        return np.asarray(occurrences[self.support] == 1)

    def take_support(self, rows: Floats) -> Floats:
        """Return the entries [..., K, S] on every class's support of rows [..., K, M]."""
        index = np.broadcast_to(self.support, (*rows.shape[:-1], self.support.shape[1]))
        return np.take_along_axis(rows, index, axis=-1)

    def query_logits(self, attention_logits: ArrayLike) -> Floats:
        """Return the row z_m [..., K, M] of every class's query, of Z [..., L, M]."""
        return np.asarray(attention_logits, dtype=np.float64)[..., self.query, :]

    def support_logits(self, attention_logits: ArrayLike) -> Floats:
        """Return z_ml [..., K, S] on every class's support, of Z [..., L, M]."""
        return self.take_support(self.query_logits(attention_logits))


def sequence_classes(mixture: Mixture) -> SequenceClasses:
    """Lay out a mixture: common tokens, distinct tokens class by class, queries, next tokens."""
    num_common, num_distinct = len(mixture.common_weights), len(mixture.distinct_weights)
    num_classes = mixture.num_classes
    common = np.tile(np.arange(num_common), (num_classes, 1))
    distinct = num_common + np.arange(num_classes * num_distinct).reshape(num_classes, num_distinct)
    weights = np.array(mixture.common_weights + mixture.distinct_weights)
    first_query = mixture.num_contextual
    first_next = first_query + mixture.num_last
    return SequenceClasses(
        vocabulary_size=mixture.vocabulary_size,
        support=np.concatenate([common, distinct], axis=1),
        probabilities=np.tile(weights / weights.sum(), (num_classes, 1)),
        query=np.arange(num_classes) // mixture.next_tokens_per_query,
        query_tokens=np.arange(first_query, first_next),
        next_tokens=np.arange(first_next, first_next + num_classes),
    )
