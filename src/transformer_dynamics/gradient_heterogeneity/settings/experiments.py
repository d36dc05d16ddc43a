"""Experiments as the configuration names them, and the job of each of their runs."""

from itertools import product
from typing import Annotated, Literal, Self, TypeVar

from pydantic import AfterValidator, Field, model_validator

from replication.base.strict import (
    REMOVABLE,
    Count,
    Counts,
    Name,
    Positive,
    Strict,
    refuse_repeated,
)
from replication.study.seeds import Seeds
from transformer_dynamics.encoders.settings import EncoderName, TextChoice, TextName
from transformer_dynamics.gradient_heterogeneity.settings.data import Length, Words
from transformer_dynamics.gradient_heterogeneity.settings.heads import (
    HeadOptimiserSettings,
    HeadsJob,
    HeadTask,
    HeadTraining,
)
from transformer_dynamics.gradient_heterogeneity.settings.measuring import (
    MeasuredJob,
    Measuring,
    PairJob,
    Tunings,
)
from transformer_dynamics.gradient_heterogeneity.settings.networks import (
    ImageNetworkSetting,
    Masking,
    NetworkChoice,
    Networks,
    Placement,
    Shape,
    SmallTransformer,
    TextNetwork,
    check_heads,
)
from transformer_dynamics.gradient_heterogeneity.settings.training import (
    HAS_EPSILON,
    USUAL_EPSILON,
    Blocks,
    Constant,
    Exponent,
    OptimiserName,
    RunJob,
    Schedule,
    SharedTraining,
    Training,
    TrainingSetting,
)

PLACEMENTS: tuple[Placement, ...] = ("post", "pre")
"""Places of layer normalisation of a pair."""
Number = TypeVar("Number", float, float | None)
Key = TypeVar("Key")


def check_names_of_numbers(values: list[Number]) -> list[Number]:
    """Refuse numbers that are equal in six digits: names of runs have no more."""
    if len({f"{value or 0:g}" for value in values}) < len(values):
        raise ValueError("two of these have the same first six digits")
    return values


Constants = Annotated[list[Constant], Field(min_length=1), AfterValidator(check_names_of_numbers)]


class DrawnTexts(Strict):
    """Labelled texts, and how many of them a seed draws if not as many as usual."""

    texts: TextName
    """Name of the set."""
    train: Count | None = None
    """Number of training samples."""
    validation: Count | None = None
    """Number of validation samples."""


class TextNetworkSetting(DrawnTexts):
    """The pretrained encoder on labelled texts."""

    net: Literal["encoder"]
    """Name of the study's encoder, whichever it is."""


class SmallTransformerSetting(DrawnTexts):
    """A transformer from random weights on labelled texts."""

    net: Literal["tiny"]
    """Name that tells it from published networks."""
    shape: Shape
    """Sizes of the transformer."""
    words: Words = 4000
    """Number of words that the transformer knows."""


NetworkSetting = Annotated[
    TextNetworkSetting | SmallTransformerSetting | ImageNetworkSetting, Field(discriminator="net")
]
"""Network with its samples."""


class SharedSettings(Strict):
    """Settings that all experiments share; the folders of files do not matter to them."""

    encoder: EncoderName
    """Name of the pretrained encoder."""
    sets: dict[TextName, TextChoice]
    """Samples of each set, without a folder."""
    networks: Networks
    """Constants of networks."""
    training: SharedTraining
    """Constants of trainings."""
    blocks: Blocks
    """Measurement that coordinates and rates of blocks follow."""
    device: Literal["cpu", "cuda"]
    """Device that trains and measures."""

    def network(self, setting: NetworkSetting) -> NetworkChoice:
        """Return a network with its samples and constants; a `KeyError` if a set has no samples."""
        if isinstance(setting, ImageNetworkSetting):
            return self.networks.complete(setting)
        texts, deviation = self.texts(setting), self.networks.head_deviation
        if isinstance(setting, TextNetworkSetting):
            dropout = self.networks.dropout.encoder
            return TextNetwork(
                net=self.encoder, texts=texts, head_deviation=deviation, dropout=dropout
            )
        return SmallTransformer(
            shape=setting.shape, words=setting.words, texts=texts, head_deviation=deviation
        )

    def texts(self, drawn: DrawnTexts) -> TextChoice:
        """Return a set with the numbers of samples that are drawn; a `KeyError` if it has none."""
        own = {"train": drawn.train, "validation": drawn.validation}
        given = {name: number for name, number in own.items() if number is not None}
        return self.sets[drawn.texts].model_copy(update=given)


class Case(Strict):
    """One run for every combination of its lists."""

    network: NetworkSetting
    """Network and its samples."""
    rates: Annotated[dict[OptimiserName, Constants], Field(min_length=1), REMOVABLE]
    """Rates by optimiser; `null` in an overlay removes one."""
    steps: Count
    """Number of steps of every run."""
    batch_size: Count | Literal["full"] = 16
    """Number of samples of a step; `full` for all of them."""
    clip: Positive | None = 1.0
    """Largest norm of the gradient; `null` for any."""
    schedules: Annotated[list[Schedule], Field(min_length=1), AfterValidator(refuse_repeated)] = [
        "linear"
    ]
    """Shares of the rate that steps have."""
    epsilons: Constants = [USUAL_EPSILON]
    """Epsilons of RMSProp and Adam."""
    exponents: Annotated[
        list[Exponent], Field(min_length=1), AfterValidator(check_names_of_numbers)
    ] = [0.0]
    """Exponents q of blocks' coordinates."""
    block_rates: bool = False
    """True if blocks have rates by their curvature."""
    frozen: bool = False
    """True if embeddings stay as they are."""
    points: Count = 4
    """Number of evenly spaced steps after which the network is recorded; also before the first."""
    slice: Count = 512
    """Number of training samples whose cross-entropy is recorded."""

    def trainings(self, shared: SharedSettings) -> dict[str, Training]:
        """Return the training of every run by all that varies: optimiser, rate, schedule, ..."""
        found = {}
        for optimiser, rates in self.rates.items():
            epsilons = self.epsilons if optimiser in HAS_EPSILON else [USUAL_EPSILON]
            for rate, schedule, epsilon, exponent in product(
                rates, self.schedules, epsilons, self.exponents
            ):
                # A list that becomes longer leaves the names of its runs as they were.
                name = f"{optimiser}-rate{rate:g}-{schedule}"
                name += f"-eps{epsilon:g}" if epsilon != USUAL_EPSILON else ""
                name += f"-q{exponent:g}" if exponent else ""
                setting = TrainingSetting(
                    optimiser=optimiser,
                    rate=rate,
                    schedule=schedule,
                    epsilon=epsilon,
                    **self.model_dump(include={"steps", "batch_size", "clip", "points", "slice"}),
                )
                found[name] = shared.training.complete(
                    setting,
                    exponent=exponent,
                    block_rates=self.block_rates,
                    frozen=self.frozen,
                    blocks=shared.blocks if exponent or self.block_rates else None,
                )
        return found


class Grid(Strict):
    """The runs of one experiment."""

    cases: Annotated[dict[Name, Case], Field(min_length=1), REMOVABLE]
    """Cases by name; `null` in an overlay removes one."""
    seeds: Seeds | None = None
    """Seeds instead of those of all experiments."""

    def jobs(self, shared: SharedSettings) -> dict[str, RunJob]:
        """Return the runs of one seed by name; a `KeyError` if a set has no samples."""
        return {
            f"{name}-{run}": RunJob(
                case=name,
                net=shared.network(case.network),
                training=training,
                device=shared.device,
            )
            for name, case in self.cases.items()
            for run, training in case.trainings(shared).items()
        }


def _distinct_tasks(tasks: dict[str, HeadTask]) -> dict[str, HeadTask]:
    refuse_repeated([*tasks.values()])
    return tasks


class Heads(HeadTraining):
    """Heads on features that stay as they are."""

    optimisers: HeadOptimiserSettings
    """Optimisers, all at the same rate."""
    tasks: Annotated[
        dict[Name, HeadTask], Field(min_length=1), AfterValidator(_distinct_tasks), REMOVABLE
    ]
    """Sets of texts by name; `null` in an overlay removes one."""
    seeds: Seeds
    """Seeds of starts and orders."""

    def jobs(self, shared: SharedSettings) -> dict[str, HeadsJob]:
        """Return the heads of each task by its name."""
        averages = shared.training.averages
        return {
            name: HeadsJob(
                encoder=shared.encoder,
                **task.model_dump(),
                **self.model_dump(exclude={"tasks", "seeds", "optimisers"}),
                optimisers=[each.with_averages(averages) for each in self.optimisers],
                head_deviation=shared.networks.head_deviation,
                device=shared.device,
            )
            for name, task in self.tasks.items()
        }


def _check_apart(names: dict[str, list[Key]], told: str) -> None:
    """Refuse two cases with the same key, which figures cannot tell apart."""
    known: dict[Key, str] = {}
    for name, keys in names.items():
        for key in keys:
            other = known.setdefault(key, name)
            if other != name:
                said = told.format(other=other, name=name, key=key)
                raise ValueError(f"cases: {said}, which figures cannot tell apart")


class MeasuredCase(Strict):
    """A network that is measured before fine-tuning, and perhaps after it."""

    network: NetworkSetting
    """Network and its samples."""
    tuning: TrainingSetting | None = None
    """Fine-tuning; `null` for none."""


class Heterogeneity(Strict):
    """Gradients and curvatures of pretrained networks."""

    cases: Annotated[dict[Name, MeasuredCase], Field(min_length=1), REMOVABLE]
    """Networks by name; `null` in an overlay removes one."""
    measuring: Measuring
    """Batches and curvatures of each measurement."""
    seeds: Seeds | None = None
    """Seeds instead of those of all experiments."""

    @model_validator(mode="after")
    def _check_cases(self) -> Self:
        networks = {name: case.network for name, case in self.cases.items()}
        keys = {
            name: [(network.net, network.texts if isinstance(network, DrawnTexts) else "")]
            for name, network in networks.items()
        }
        _check_apart(keys, "{other} and {name} are of one network and one set")
        return self

    def jobs(self, shared: SharedSettings) -> dict[str, MeasuredJob]:
        """Return the measurements of one seed by name."""
        return {
            name: MeasuredJob(
                net=shared.network(case.network),
                measuring=self.measuring,
                tuning=None if case.tuning is None else shared.training.complete(case.tuning),
                device=shared.device,
            )
            for name, case in self.cases.items()
        }


class PairCase(Strict):
    """Pairs of transformers that differ in nothing but the place of normalisation."""

    depths: Counts
    """Numbers L of layers."""
    deviations: Annotated[
        list[Positive | None], Field(min_length=1), AfterValidator(check_names_of_numbers)
    ]
    """Standard deviations of random matrices; `null` for PyTorch's."""
    measuring: Measuring
    """Batches and curvatures of each measurement."""
    masked: TrainingSetting | None = None
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

    drawn: DrawnTexts
    """Labelled texts."""
    words: Words
    """Number of words that the transformers know."""
    length: Length
    """Largest number T of tokens, of running and of labelled texts."""
    width: Count
    """Number d of channels."""
    heads: Count
    """Number H of heads of attention, a divisor of d."""
    embeddings: Positive | None
    """Standard deviation of random embeddings; `null` for that of matrices, or 1 as PyTorch's."""
    masking: Masking
    """Choice of masked words, and of their stand-ins."""
    cases: Annotated[dict[Name, PairCase], Field(min_length=1), REMOVABLE]
    """Pairs by name; `null` in an overlay removes one."""
    seeds: Seeds | None = None
    """Seeds instead of those of all experiments."""

    @model_validator(mode="after")
    def _check_cases(self) -> Self:
        check_heads(self.width, self.heads)
        keys = {name: [*product(case.depths, case.deviations)] for name, case in self.cases.items()}
        _check_apart(keys, "{other} and {name} both have depth {key[0]} and deviation {key[1]}")
        return self

    def jobs(self, shared: SharedSettings) -> dict[str, PairJob]:
        """Return the measurements of both of all pairs of one seed by name."""
        found = {}
        for name, case in self.cases.items():
            for depth, deviation, placement in product(case.depths, case.deviations, PLACEMENTS):
                spread = "torch" if deviation is None else f"{deviation:g}"
                found[f"{name}-{placement}{depth}-{spread}"] = PairJob(
                    shape=Shape(
                        placement=placement,
                        depth=depth,
                        deviation=deviation,
                        **self.model_dump(include={"width", "heads", "length", "embeddings"}),
                    ),
                    words=self.words,
                    texts=shared.texts(self.drawn),
                    head_deviation=shared.networks.head_deviation,
                    masking=self.masking,
                    measuring=case.measuring,
                    masked=None if case.masked is None else shared.training.complete(case.masked),
                    tunings={
                        own: shared.training.complete(tuning)
                        for own, tuning in case.tunings.items()
                    },
                    device=shared.device,
                )
        return found
