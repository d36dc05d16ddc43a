"""Which networks are measured."""

from itertools import product
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from replication.base.strict import REMOVABLE, Count, Counts, Name, Positive, Strict
from replication.study.seeds import Seeds
from transformer_dynamics.gradient_heterogeneity.grid_settings import (
    Drawn,
    Known,
    Network,
    named_apart,
)
from transformer_dynamics.gradient_heterogeneity.measured_settings import (
    MeasuredJob,
    Measuring,
    PairJob,
    Tunings,
)
from transformer_dynamics.gradient_heterogeneity.net_settings import Masking, Shape, check_heads
from transformer_dynamics.gradient_heterogeneity.run_settings import Plain

Placement = Literal["post", "pre"]
PLACEMENTS: tuple[Placement, ...] = ("post", "pre")
"""Of a pair."""


class MeasuredCase(Strict):
    """A network that is measured before fine-tuning, and perhaps after it."""

    network: Network
    """Which, on which samples."""
    tuning: Plain | None = None
    """How it is fine-tuned; `null` for not at all."""


class Heterogeneity(Strict):
    """Gradients and curvatures of pretrained networks."""

    cases: Annotated[dict[Name, MeasuredCase], Field(min_length=1), REMOVABLE]
    """By name; `null` in an overlay removes one."""
    measuring: Measuring
    """What is measured."""
    seeds: Seeds | None = None
    """Instead of those of all experiments."""

    @model_validator(mode="after")
    def _check_cases(self) -> Self:
        known: dict[tuple[str, str], str] = {}
        for name, case in self.cases.items():
            texts = case.network.texts if isinstance(case.network, Drawn) else ""
            other = known.setdefault((case.network.net, texts), name)
            if other != name:
                raise ValueError(
                    f"cases: {other} and {name} are of one network and one set, which figures"
                    " cannot tell apart"
                )
        return self


class PairCase(Strict):
    """Pairs of transformers that differ in nothing but the place of normalisation."""

    depths: Counts
    """L."""
    deviations: Annotated[list[Positive | None], Field(min_length=1), AfterValidator(named_apart)]
    """Of random matrices; `null` for PyTorch's."""
    measuring: Measuring
    """What is measured."""
    masked: Plain | None = None
    """Training on masked words; `null` for none, so that random weights alone are measured."""
    tunings: Annotated[Tunings, REMOVABLE] = {}
    """Fine-tunings by name."""

    @model_validator(mode="after")
    def _check_masked(self) -> Self:
        if self.tunings and self.masked is None:
            raise ValueError("tunings: what is fine-tuned is trained on masked words first")
        return self


class Pairs(Strict):
    """Gradients and curvatures of matched Post-LN and Pre-LN transformers."""

    drawn: Drawn
    """Labelled texts."""
    words: Annotated[int, Field(ge=6)]
    """How many words they know."""
    length: Annotated[int, Field(ge=2)]
    """T, of running and of labelled texts."""
    width: Count
    """d."""
    heads: Count
    """H, a divisor of d."""
    embeddings: Positive | None
    """Standard deviation of random embeddings; `null` for that of matrices, or 1 as PyTorch's."""
    masking: Masking
    """Which words are masked, and how."""
    cases: Annotated[dict[Name, PairCase], Field(min_length=1), REMOVABLE]
    """By name; `null` in an overlay removes one."""
    seeds: Seeds | None = None
    """Instead of those of all experiments."""

    @model_validator(mode="after")
    def _check_cases(self) -> Self:
        check_heads(self.width, self.heads)
        known: dict[tuple[int, float | None], str] = {}
        for name, case in self.cases.items():
            for shape in product(case.depths, case.deviations):
                other = known.setdefault(shape, name)
                if other != name:
                    raise ValueError(
                        f"cases: {other} and {name} both have depth {shape[0]} and deviation"
                        f" {shape[1]}, which figures cannot tell apart"
                    )
        return self


def measured_arms(grid: Heterogeneity, known: Known) -> dict[str, MeasuredJob]:
    """Measurements of one seed by name."""
    return {
        name: MeasuredJob(
            net=known.network(case.network),
            measuring=grid.measuring,
            tuning=None if case.tuning is None else known.training.of(case.tuning),
            device=known.device,
        )
        for name, case in grid.cases.items()
    }


def pair_arms(grid: Pairs, known: Known) -> dict[str, PairJob]:
    """Measurements of both of all pairs of one seed by name."""
    found = {}
    for name, case in grid.cases.items():
        for depth, deviation, placement in product(case.depths, case.deviations, PLACEMENTS):
            spread = "torch" if deviation is None else f"{deviation:g}"
            found[f"{name}-{placement}{depth}-{spread}"] = PairJob(
                shape=Shape(
                    placement=placement,
                    depth=depth,
                    width=grid.width,
                    heads=grid.heads,
                    length=grid.length,
                    deviation=deviation,
                    embeddings=grid.embeddings,
                ),
                words=grid.words,
                texts=known.texts(grid.drawn),
                head_deviation=known.networks.head_deviation,
                masking=grid.masking,
                measuring=case.measuring,
                masked=None if case.masked is None else known.training.of(case.masked),
                tunings={own: known.training.of(plain) for own, plain in case.tunings.items()},
                device=known.device,
            )
    return found
