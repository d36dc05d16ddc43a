"""Which training runs an experiment has."""

from itertools import product
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, Field

from replication.base.strict import REMOVABLE, Count, Name, Positive, Strict, refuse_repeated
from replication.study.seeds import Seeds
from transformer_dynamics.encoders.settings import EncoderName, TextChoice, TextName
from transformer_dynamics.gradient_heterogeneity.net_settings import (
    NetChoice,
    Networks,
    OfImages,
    Shape,
    TextNet,
    TinyNet,
)
from transformer_dynamics.gradient_heterogeneity.optimizer_settings import USUAL_EPSILON, Constant
from transformer_dynamics.gradient_heterogeneity.optimizer_settings import Name as OptimizerName
from transformer_dynamics.gradient_heterogeneity.run_settings import (
    Blocks,
    Exponent,
    Plain,
    RunJob,
    SharedTraining,
    Training,
)
from transformer_dynamics.gradient_heterogeneity.schedules import Schedule

HAS_EPSILON = frozenset({"rmsprop", "adam"})
"""Optimisers that it matters to."""
Number = TypeVar("Number", float, float | None)


def named_apart(values: list[Number]) -> list[Number]:
    """Refuse numbers that are equal in six digits: names of runs have no more."""
    if len({f"{value or 0:g}" for value in values}) < len(values):
        raise ValueError("two of these have the same first six digits")
    return values


Constants = Annotated[list[Constant], Field(min_length=1), AfterValidator(named_apart)]


class Drawn(Strict):
    """How many texts a seed draws, if not as many as all networks do."""

    texts: TextName
    """The set."""
    train: Count | None = None
    """Training samples."""
    validation: Count | None = None
    """Validation samples."""


class OfTexts(Drawn):
    """The pretrained encoder on labelled texts."""

    net: Literal["encoder"]
    """The study's."""


class OfWords(Drawn):
    """A transformer from random weights on labelled texts."""

    net: Literal["tiny"]
    """No published network."""
    shape: Shape
    """Its sizes."""
    words: Annotated[int, Field(ge=6)] = 4000
    """How many words it knows."""


Network = Annotated[OfTexts | OfWords | OfImages, Field(discriminator="net")]
"""A network and its samples."""


class Known(Strict):
    """What all experiments share; where files are does not matter to them."""

    encoder: EncoderName
    """The pretrained encoder."""
    sets: dict[TextName, TextChoice]
    """Samples of each set, without a folder."""
    networks: Networks
    """What networks share."""
    training: SharedTraining
    """What trainings share."""
    blocks: Blocks
    """What coordinates and rates of blocks follow."""
    device: Literal["cpu", "cuda"]
    """Where."""

    def network(self, chosen: Network) -> NetChoice:
        """A network with all that is known of its samples.

        Raises:
            KeyError: if a set has no samples.
        """
        if isinstance(chosen, OfImages):
            return self.networks.of_images(chosen)
        texts, deviation = self.texts(chosen), self.networks.head_deviation
        if isinstance(chosen, OfTexts):
            dropout = self.networks.dropout.encoder
            return TextNet(net=self.encoder, texts=texts, head_deviation=deviation, dropout=dropout)
        return TinyNet(
            shape=chosen.shape, words=chosen.words, texts=texts, head_deviation=deviation
        )

    def texts(self, drawn: Drawn) -> TextChoice:
        """A set with the numbers of samples that are drawn.

        Raises:
            KeyError: if it has no samples.
        """
        own = {"train": drawn.train, "validation": drawn.validation}
        given = {name: number for name, number in own.items() if number is not None}
        return self.sets[drawn.texts].model_copy(update=given)


class Case(Strict):
    """One run for every combination of its lists."""

    network: Network
    """What is trained."""
    rates: Annotated[dict[OptimizerName, Constants], Field(min_length=1), REMOVABLE]
    """By optimiser; `null` in an overlay removes one."""
    steps: Count
    """Of every run."""
    batch_size: Count | Literal["full"] = 16
    """Samples of a step; `full` for all of them."""
    clip: Positive | None = 1.0
    """Largest norm of the gradient; `null` for any."""
    schedules: Annotated[list[Schedule], Field(min_length=1), AfterValidator(refuse_repeated)] = [
        "linear"
    ]
    """Shares of the rate that steps have."""
    epsilons: Constants = [USUAL_EPSILON]
    """Of RMSProp and Adam."""
    exponents: Annotated[list[Exponent], Field(min_length=1), AfterValidator(named_apart)] = [0.0]
    """q of blocks' coordinates."""
    block_rates: bool = False
    """Whether blocks have rates by their curvature."""
    frozen: bool = False
    """Whether embeddings stay as they are."""
    points: Count = 4
    """At how many steps, evenly spaced, it is looked at; and before the first."""
    slice: Count = 512
    """Training samples whose cross-entropy is looked at."""

    def trainings(self, known: Known) -> dict[str, Training]:
        """Every run by its optimiser, rate and schedule, and in what else it differs.

        Args:
            known: what all experiments share.
        """
        found = {}
        for optimiser, rates in self.rates.items():
            epsilons = self.epsilons if optimiser in HAS_EPSILON else [USUAL_EPSILON]
            for rate, schedule, epsilon, exponent in product(
                rates, self.schedules, epsilons, self.exponents
            ):
                # A list that becomes longer leaves the names of its runs as they were.
                words = [optimiser, f"rate{rate:g}", schedule]
                if epsilon != USUAL_EPSILON:
                    words.append(f"eps{epsilon:g}")
                if exponent:
                    words.append(f"q{exponent:g}")
                name = "-".join(words)
                plain = Plain(
                    optimiser=optimiser,
                    rate=rate,
                    schedule=schedule,
                    epsilon=epsilon,
                    **self.model_dump(include={"steps", "batch_size", "clip", "points", "slice"}),
                )
                found[name] = known.training.of(
                    plain,
                    exponent=exponent,
                    block_rates=self.block_rates,
                    frozen=self.frozen,
                    blocks=known.blocks if exponent or self.block_rates else None,
                )
        return found


class Grid(Strict):
    """The runs of one experiment."""

    cases: Annotated[dict[Name, Case], Field(min_length=1), REMOVABLE]
    """By name; `null` in an overlay removes one."""
    seeds: Seeds | None = None
    """Instead of those of all experiments."""


def arms(grid: Grid, known: Known) -> dict[str, RunJob]:
    """The runs of one seed by name.

    Raises:
        KeyError: if a set has no samples.
    """
    return {
        f"{name}-{arm}": RunJob(
            case=name, net=known.network(case.network), training=training, device=known.device
        )
        for name, case in grid.cases.items()
        for arm, training in case.trainings(known).items()
    }
