"""Mixtures, sampling and training, and the jobs made of them."""

import math
import sys
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from replication.base.strict import Count, Positive, Positives, Strict, refuse_repeated

Decay = Annotated[float, Field(ge=0, lt=1)]
Length = Annotated[int, Field(ge=2, le=65536)]
MOST_NUMBERS = 10**9
"""Largest number of entries of one array: several GB, which is more than a job may take."""


class Mixture(Strict):
    """A mixture of sequence classes (P(l|m,n), m, n), all equally likely.

    Token ids: common tokens, then each class's distinct tokens, then the query tokens m, then the
    next tokens n. Class n belongs to query `n // next_tokens_per_query`.
    """

    num_last: Count
    """Number of query tokens m (last tokens of a sequence)."""
    next_tokens_per_query: Count
    """Number of next tokens n that share a query token."""
    common_weights: list[Positive]
    """Unnormalised P(l|n) of each common token; they occur in every class."""
    distinct_weights: list[Positive] = Field(min_length=1)
    """Unnormalised P(l|n) of each distinct token of a class; no two classes share one."""

    @property
    def num_classes(self) -> int:
        """Number K of sequence classes, which is that of next tokens."""
        return self.num_last * self.next_tokens_per_query

    @property
    def num_contextual(self) -> int:
        """Number of tokens that can stand before the query."""
        return len(self.common_weights) + self.num_classes * len(self.distinct_weights)

    @property
    def vocabulary_size(self) -> int:
        """Vocabulary size M: contextual tokens, query tokens and next tokens."""
        return self.num_contextual + self.num_last + self.num_classes

    @property
    def is_released(self) -> bool:
        """True if the authors ran it: 10 common weights 1, distinct weights 0.1, 0.2, ... 1."""
        tenths = [i / 10 for i in range(1, 11)]
        if self.common_weights != [1] * 10 or len(self.distinct_weights) != len(tenths):
            return False
        return all(map(math.isclose, self.distinct_weights, tenths))

    @model_validator(mode="after")
    def _check_size(self) -> Self:
        # The decoder has K M numbers.
        if self.num_classes * self.vocabulary_size > MOST_NUMBERS:
            raise ValueError(
                f"K M, classes times tokens, is more than {MOST_NUMBERS:,}, which fits into no"
                " memory; lower num_last, next_tokens_per_query or the number of weights"
            )
        return self

    @model_validator(mode="after")
    def _check_normalisable(self) -> Self:
        weights = self.common_weights + self.distinct_weights
        if not math.isfinite(sum(weights)):
            raise ValueError("the weights' sum overflows, so no probabilities can be made of them")
        if min(weights) / sum(weights) < sys.float_info.min:
            raise ValueError("the smallest weight vanishes against the sum of all")
        return self


class Sampling(Strict):
    """Stream, number and length of training sequences."""

    stream: Literal["authors", "independent"]
    """Stream of random numbers. `authors`: the released code's random calls in their order.
    `independent`: named scopes."""
    steps: Count
    """Number of batches, one per update."""
    batch_size: Count
    """Number of sequences per batch."""
    sequence_length: Length
    """Length T of a sequence, the query token included: T - 1 contextual tokens are drawn."""


class Adam(Strict):
    """Constants of Adam, which corrects the bias of both moments."""

    beta_1: Decay
    """Decay of the mean of gradients from one update to the next."""
    beta_2: Decay
    """Decay of the mean of squared gradients from one update to the next."""
    epsilon: float = Field(ge=1e-12)
    """Number that is added to the root of the mean of squared gradients."""


class Training(Strict):
    """Optimiser, rates and start of the decoder Y and of the attention logits Z."""

    optimizer: Literal["sgd", "adam"]
    """Optimiser: SGD with momentum or Adam, both as in PyTorch, without weight decay."""
    momentum: Decay = 0.9
    """Momentum of `sgd`; `adam` does not use it."""
    adam: Adam | None = None
    """Constants of `adam`, which needs them; `sgd` does not use them."""
    eta_z: Positives
    """Learning rates of Z; every one is combined with every ratio."""
    ratio: Positives
    """Ratios eta_Y / eta_Z."""
    initialization: Literal["zero", "uniform"]
    """Start of Y and Z. `zero`: 0. `uniform`: in U(-1/sqrt(M), 1/sqrt(M)), PyTorch's default of a
    linear layer."""
    residual: bool = False
    """True if the query's one-hot vector joins the attention's output before normalisation."""
    query_among_keys: bool = False
    """True if the query token is one of the keys, too; the paper and the released code leave it
    out. The metrics of attention stay on the contextual tokens: they take long sequences, in which
    the share of one query token vanishes."""
    dtype: Literal["float32", "float64"] = "float32"
    """Number format of training."""
    recorded: Annotated[list[Annotated[int, Field(ge=0)]], AfterValidator(refuse_repeated)] = []
    """Numbers of updates after which Z is recorded, besides the last one."""

    @model_validator(mode="after")
    def _check_adam(self) -> Self:
        if self.optimizer == "adam" and self.adam is None:
            raise ValueError("optimizer adam needs the key adam: {beta_1, beta_2, epsilon}")
        return self

    @property
    def cells(self) -> list[tuple[float, float]]:
        """Learning rate eta_Z and ratio eta_Y / eta_Z of every cell, in the order of training."""
        return [(eta_z, ratio) for eta_z in self.eta_z for ratio in self.ratio]


class SampleJob(Strict):
    """All that the sequences of a run depend on, besides its seed."""

    mixtures: dict[str, Mixture]
    """The mixtures by name."""
    sampling: Sampling
    """Stream, number and length of sequences."""


class TrainJob(SampleJob):
    """All that the training runs of a seed depend on, besides the seed."""

    training: Training
    """Optimiser, rates and start."""
    device: Literal["cpu", "cuda"]
    """Device that trains."""

    @property
    def recorded(self) -> list[int]:
        """Numbers of updates after which Z is recorded, ascending, the last one included."""
        return sorted({*self.training.recorded, self.sampling.steps})

    @property
    def sample_job(self) -> SampleJob:
        """Job that draws the sequences of this one."""
        return SampleJob(mixtures=self.mixtures, sampling=self.sampling)
