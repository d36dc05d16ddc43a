"""Measurement of the tensors of a network at one or several states of its training."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from replication.base.strict import Count, Name, Positive, Positives, Strict
from transformer_dynamics.encoders.settings import TextChoice
from transformer_dynamics.gradient_heterogeneity.settings.data import Words
from transformer_dynamics.gradient_heterogeneity.settings.networks import (
    Masking,
    NetworkChoice,
    Shape,
    SmallTransformer,
)
from transformer_dynamics.gradient_heterogeneity.settings.training import (
    Limit,
    Training,
    TrainingSetting,
)

INITIAL = "initial"
"""State of random weights, on masked words."""
MASKED = "masked"
"""State after training on masked words, on masked words."""
PRETRAINED = "pretrained"
"""State before fine-tuning, with a random head, on labelled samples."""
TUNED = "tuned"
"""State after fine-tuning."""
TRAINING_PREFIX = "on_"
"""Beginning of the names of trainings of pairs."""


class Measuring(Strict):
    """Measurement of one state, without dropout."""

    batches: Count = 16
    """Number of batches whose gradients are measured; none share a sample, if there are enough."""
    size: Count = 8
    """Number of samples of a batch."""
    curved: Annotated[int, Field(ge=0)] = 1
    """Number of the first of these batches of which curvatures are measured."""
    iteration: Literal["lanczos", "released"] = "lanczos"
    """Iteration that finds curvatures: Lanczos', or the released power iteration, which may end far
    below the largest eigenvalue."""
    tolerance: Positive = 1e-3
    """Relative error of a curvature that ends its iteration, or the released code's relative
    change."""
    products: Count = 100
    """Number of Hessian-vector products after which the iteration ends anyway; as released, for
    each vector."""
    least: Count
    """Products before which Lanczos' iteration does not end: at first its largest value may be one
    of the many eigenvalues near zero, near which a residual is small, too."""
    limit: Limit
    """Largest rate of a block by curvature, in units of the median block's."""
    factors: Positives
    """Rates of one step, in units of the rate eta* that is sure to gain most."""

    @model_validator(mode="after")
    def _check_batches(self) -> Self:
        if self.curved > self.batches:
            raise ValueError(f"curved: there are only {self.batches} batches")
        return self


def _check_names(tunings: dict[str, TrainingSetting]) -> dict[str, TrainingSetting]:
    for name in tunings:
        if name in {INITIAL, MASKED, PRETRAINED} or name.startswith(TRAINING_PREFIX):
            raise ValueError(f"{name}: the name has a meaning; choose another")
    return tunings


Tunings = Annotated[dict[Name, TrainingSetting], AfterValidator(_check_names)]
"""Fine-tunings by name, which is that of the state after it, too."""


class MeasuredJob(Strict):
    """Measurement of one pretrained network, for whatever seed."""

    net: NetworkChoice
    """Network and its samples."""
    measuring: Measuring
    """Batches and curvatures of each measurement."""
    tuning: Training | None = None
    """Fine-tuning, after which the network is measured again; `null` for none."""
    device: Literal["cpu", "cuda"] = "cpu"
    """Device that trains and measures."""


class PairJob(Strict):
    """Measurement of one of two transformers that differ in the place of normalisation."""

    shape: Shape
    """Sizes of the transformer, and the place of normalisation."""
    words: Words = 4000
    """Number of words that the transformer knows."""
    texts: TextChoice
    """Labelled texts."""
    head_deviation: Positive
    """Standard deviation of the entries of heads."""
    masking: Masking
    """Choice of masked words, and of their stand-ins."""
    measuring: Measuring
    """Batches and curvatures of each measurement."""
    masked: Training | None = None
    """Training on masked words; only random weights are measured if left out."""
    tunings: dict[Name, Training] = {}
    """Fine-tunings on labelled texts by name, each of which is measured."""
    device: Literal["cpu", "cuda"] = "cpu"
    """Device that trains and measures."""

    @property
    def net(self) -> SmallTransformer:
        """The transformer on labelled texts."""
        return SmallTransformer(
            shape=self.shape,
            words=self.words,
            texts=self.texts,
            head_deviation=self.head_deviation,
        )
