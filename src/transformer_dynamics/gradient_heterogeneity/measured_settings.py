"""What is measured of the tensors of a network, and of which networks."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from replication.base.strict import Count, Name, Positive, Positives, Strict
from transformer_dynamics.encoders.settings import TextChoice
from transformer_dynamics.gradient_heterogeneity.net_settings import (
    Masking,
    NetChoice,
    Shape,
    TinyNet,
)
from transformer_dynamics.gradient_heterogeneity.run_settings import Limit, Plain, Training

INITIAL = "initial"
"""State of random weights, on masked words."""
MASKED = "masked"
"""State after training on masked words, on masked words."""
PRETRAINED = "pretrained"
"""State before fine-tuning, with a random head, on labelled samples."""
TUNED = "tuned"
"""State after fine-tuning."""
ON = "on_"
"""How names of trainings of pairs begin."""


class Measuring(Strict):
    """What is measured at one state, without dropout."""

    batches: Count = 16
    """Batches of which gradients are measured; no two share a sample, if there are enough."""
    size: Count = 8
    """Samples of a batch."""
    curved: Annotated[int, Field(ge=0)] = 1
    """The first so many of them are those of which curvatures are measured."""
    iteration: Literal["lanczos", "released"] = "lanczos"
    """How curvatures are found: Lanczos' iteration, or the released power iteration, which may end
    far below the largest eigenvalue."""
    tolerance: Positive = 1e-3
    """Relative error of a curvature that ends its iteration, or the released code's relative
    change."""
    products: Count = 100
    """Hessian-vector products after which it ends anyway; as released, for each vector."""
    least: Count
    """Products before which Lanczos' iteration does not end: at first its largest value may be one
    of the many eigenvalues near zero, near which a residual is small, too."""
    limit: Limit
    """How far a rate by curvature may be above that of the median block."""
    factors: Positives
    """Of the rate eta* that is sure to gain most, at which one step is tried."""

    @model_validator(mode="after")
    def _check_batches(self) -> Self:
        if self.curved > self.batches:
            raise ValueError(f"curved: there are only {self.batches} batches")
        return self


def _free(tunings: dict[str, Plain]) -> dict[str, Plain]:
    for name in tunings:
        if name in {INITIAL, MASKED, PRETRAINED} or name.startswith(ON):
            raise ValueError(f"{name}: the name has a meaning; choose another")
    return tunings


Tunings = Annotated[dict[Name, Plain], AfterValidator(_free)]
"""Fine-tunings by name, which is that of the state after it, too."""


class MeasuredJob(Strict):
    """Measurements of one network, for whatever seed."""

    net: NetChoice
    """Which, on which samples."""
    measuring: Measuring
    """What is measured."""
    tuning: Training | None = None
    """How it is fine-tuned, and then measured again; only measured before if left out."""
    device: Literal["cpu", "cuda"] = "cpu"
    """Where."""

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of its data."""
        return self.net.reads


class PairJob(Strict):
    """Measurements of one of two transformers that differ in the place of normalisation."""

    shape: Shape
    """Its sizes, and where normalisation stands."""
    words: Annotated[int, Field(ge=6)] = 4000
    """How many there are."""
    texts: TextChoice
    """Labelled texts."""
    head_deviation: Positive
    """Standard deviation of the entries of heads."""
    masking: Masking
    """Which words are masked, and how."""
    measuring: Measuring
    """What is measured."""
    masked: Training | None = None
    """Training on masked words; only random weights are measured if left out."""
    tunings: dict[Name, Training] = {}
    """Fine-tunings on labelled texts by name, each of which is measured."""
    device: Literal["cpu", "cuda"] = "cpu"
    """Where."""

    @property
    def net(self) -> TinyNet:
        """The transformer on labelled texts."""
        return TinyNet(
            shape=self.shape,
            words=self.words,
            texts=self.texts,
            head_deviation=self.head_deviation,
        )

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of its data."""
        return self.net.reads


class MeasuredRuns(Strict):
    """One metric of all measured networks of an experiment."""

    runs: dict[str, MeasuredJob | PairJob]
    """What they were made by; the name of a run is one of these, a hyphen and its seed."""
