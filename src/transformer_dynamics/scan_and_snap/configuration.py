"""This study's section of the configuration, and what it must hold."""

from collections.abc import Collection, Iterable
from itertools import product
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from replication.base.errors import InputError
from replication.base.strict import Name, Strict, refuse_repeated, unknown_key
from replication.judge.sensitivity import Sensitivity
from replication.study.contract import Figure, FiguresOf, StudySettings
from replication.study.seeds import SeedRange, Seeds, seed_list
from replication.study.variants import BASELINE, check_titles
from transformer_dynamics.scan_and_snap.figures.base import OfRuns, OfSweep
from transformer_dynamics.scan_and_snap.figures.fig1 import Fig1
from transformer_dynamics.scan_and_snap.figures.fig2 import Fig2
from transformer_dynamics.scan_and_snap.figures.fig4 import Fig4
from transformer_dynamics.scan_and_snap.figures.fig5 import Fig5
from transformer_dynamics.scan_and_snap.figures.findings import Findings
from transformer_dynamics.scan_and_snap.figures.theory_vs_training import TheoryVsTraining
from transformer_dynamics.scan_and_snap.measure_settings import (
    MeasureJob,
    Measures,
    Metric,
    Thresholds,
)
from transformer_dynamics.scan_and_snap.settings import Mixture, Sampling, Training, TrainJob

MOST_NUMBERS = 10**9
"""In one array: several GB, which is more than a job may take."""


class ExperimentSettings(Strict):
    """One set of training runs: every mixture, every cell, every seed."""

    mixtures: Annotated[list[str], Field(min_length=1), AfterValidator(refuse_repeated)]
    """Names of the mixtures to train on."""
    seeds: Seeds
    """Seeds of the runs: a list, or `{first: 1, count: 10}`."""
    sampling: Sampling
    """How sequences are drawn."""
    training: Training
    """How the model is trained."""
    recall_thresholds: dict[str, Thresholds] = {}
    """By mixture, the attention thresholds at which recall is measured."""

    @field_validator("training", mode="before")
    @classmethod
    def _refuse_eta_y(cls, training: Any) -> Any:
        if isinstance(training, dict) and "eta_y" in training:
            raise ValueError("unknown key 'eta_y'; set ratio, as eta_Y = ratio x eta_Z")
        return training

    @model_validator(mode="after")
    def _check_recorded(self) -> Self:
        late = [step for step in self.training.recorded if step > self.sampling.steps]
        if late:
            raise ValueError(
                f"training.recorded asks for update {late[0]}, but sampling.steps is"
                f" {self.sampling.steps}"
            )
        return self


class SamplingChange(Strict):
    """Settings of sampling that a variant changes; what is left out stays."""

    steps: Annotated[int, Field(ge=1)] | None = None
    """Number of batches."""
    batch_size: Annotated[int, Field(ge=1)] | None = None
    """Sequences per batch."""
    sequence_length: Annotated[int, Field(ge=2, le=65536)] | None = None
    """T."""


class TrainingChange(Strict):
    """Settings of training that a variant changes; what is left out stays."""

    momentum: Annotated[float, Field(ge=0, lt=1)] | None = None
    """Momentum of `sgd`."""
    initialization: Literal["zero", "uniform"] | None = None
    """Start of Y and Z."""
    residual: bool | None = None
    """The query's one-hot vector added to the attention's output."""
    query_among_keys: bool | None = None
    """The query as a key of its own attention."""


class Variant(Strict):
    """One other reading of the paper, or one departure from it."""

    title: str = Field(min_length=1)
    """Its name in figures."""
    sampling: SamplingChange = SamplingChange()
    """What changes in sampling."""
    training: TrainingChange = TrainingChange()
    """What changes in training."""


class Variants(Strict):
    """Experiments that are repeated under every variant, to see which claims depend on it."""

    experiments: Annotated[list[str], Field(min_length=1), AfterValidator(refuse_repeated)]
    """Names of the experiments; their own settings are the variant `baseline`."""
    seeds: SeedRange
    """Seeds of every variant, other ones than the experiments' own."""
    variants: dict[Name, Variant]
    """The variants by name; `null` in an overlay removes one."""

    @field_validator("variants", mode="before")
    @classmethod
    def _without_removed(cls, variants: Any) -> Any:
        if not isinstance(variants, dict):
            return variants
        return {name: variant for name, variant in variants.items() if variant is not None}

    @model_validator(mode="after")
    def _check_titles(self) -> Self:
        check_titles({name: variant.title for name, variant in self.variants.items()})
        return self


class Settings(StudySettings):
    """Tian, Wang, Chen, Du: Scan and Snap (NeurIPS 2023)."""

    mixtures: dict[Name, Mixture]
    """The data models by name."""
    experiments: dict[Name, ExperimentSettings]
    """The experiments by name."""
    figures: Annotated[dict[Name, Figure], FiguresOf(__package__, Sensitivity)]
    """The figures by name: `figures/<name>.pdf`."""
    sensitivity: Variants
    """Which experiments are repeated under which variants."""
    measures: Measures
    """How claims about training are measured."""

    @model_validator(mode="after")
    def _check_references(self) -> Self:
        for name, mixture in self.mixtures.items():
            _check_mixture(f"mixtures > {name}", mixture)
        for name, experiment in self.experiments.items():
            where = f"experiments > {name}"
            _check_known(experiment.mixtures, self.mixtures, f"{where} > mixtures")
            thresholds = f"{where} > recall_thresholds"
            _check_known(experiment.recall_thresholds, self.mixtures, thresholds)
            self._check_stream(where, experiment)
        varied = self.sensitivity.experiments
        _check_known(varied, self.experiments, "sensitivity > experiments")
        for name, variant in product(varied, self.sensitivity.variants):
            self._varied(name, variant)
        for name, figure in self.figures.items():
            if isinstance(figure, OfRuns) and self._has(figure.experiment):
                self._check_runs(name, figure)
            elif isinstance(figure, Fig1):
                _check_known([figure.mixture], self.mixtures, f"figures > {name} > mixture")
                if self.mixtures[figure.mixture].num_classes < figure.num_classes:
                    raise ValueError(
                        f"figures > {name} > mixture: must have {figure.num_classes} sequence"
                        " classes; set the figure's num_classes"
                    )
        return self

    def _check_stream(self, where: str, experiment: ExperimentSettings) -> None:
        for name in experiment.mixtures:
            released = self.mixtures[name].in_released_code
            if experiment.sampling.stream == "authors" and not released:
                raise ValueError(
                    f"{where} > sampling: stream 'authors' is not defined for mixture '{name}'"
                    " (the authors ran 10 common tokens of weight 1 and 10 distinct tokens of"
                    " weights 0.1, 0.2, ..., 1.0); set stream: independent"
                )

    def _check_runs(self, name: str, figure: OfRuns) -> None:
        experiment = self.experiment(figure.experiment)
        mixtures = [self.mixtures[mixture] for mixture in experiment.mixtures]
        where = f"figures > {name}: experiment '{figure.experiment}'"
        source = f"experiments > {figure.experiment.partition('-')[0]}"
        if isinstance(figure, Fig2 | Fig4 | Fig5):
            if figure.seed not in seed_list(experiment.seeds):
                raise ValueError(f"{where} has no seed {figure.seed}; set the figure's seed")
            shown = [figure.sequence_class] if isinstance(figure, Fig5) else figure.sequence_classes
            if len(mixtures) > 1 or max(shown) > mixtures[0].num_classes:
                raise ValueError(f"{where} must have one mixture, of at least {max(shown)} classes")
        recorded = {*experiment.training.recorded, experiment.sampling.steps}
        absent = sorted(_needed(figure) - recorded)
        if absent:
            chosen = isinstance(figure, Fig4 | Fig5)
            instead = f", or set figures > {name} > iterations" if chosen else ""
            raise ValueError(
                f"{where} does not record update {absent[0]}; add {_listed(absent[:10])} to"
                f" {source} > training > recorded{instead}"
            )
        if isinstance(figure, Fig5) and experiment.training.ratio != [1]:
            raise ValueError(f"{where} must have the one ratio 1")
        if isinstance(figure, TheoryVsTraining | Findings) and len(mixtures) > 1:
            raise ValueError(f"{where} must have one mixture")
        if isinstance(figure, Findings) and figure.eta_z not in experiment.training.eta_z:
            raise ValueError(f"{where} has no eta_z {figure.eta_z:g}")
        if isinstance(figure, OfSweep):
            others = {mixture.next_tokens_per_query for mixture in mixtures}
            if others != {figure.next_tokens_per_query}:
                raise ValueError(
                    f"{where} has {'/'.join(map(str, sorted(others)))} next tokens per query; set"
                    " the figure's next_tokens_per_query"
                )
            if len({mixture.num_last for mixture in mixtures}) < len(mixtures):
                raise ValueError(f"{where} has two mixtures of the same num_last, one panel each")
            without = set(experiment.mixtures) - set(experiment.recall_thresholds)
            if figure.metric == "recall" and without:
                raise ValueError(
                    f"{where} has no recall_thresholds for '{min(without)}'; add {source} >"
                    f" recall_thresholds > {min(without)}: {{first: ..., last: ..., count: 11}}"
                )

    def _has(self, experiment: str) -> bool:
        """Whether there is an experiment, or a variant of one."""
        base, _, variant = experiment.partition("-")
        known = {"", BASELINE, *self.sensitivity.variants}
        return base in self.experiments and variant in known

    def train_job(self, experiment: str, device: Literal["cpu", "cuda"]) -> TrainJob:
        """The training job of an experiment; its sampling job is part of it."""
        found = self.experiment(experiment)
        return TrainJob(
            mixtures={name: self.mixtures[name] for name in found.mixtures},
            sampling=found.sampling,
            training=found.training,
            device=device,
        )

    def measure_job(
        self, experiment: str, metric: Metric, device: Literal["cpu", "cuda"]
    ) -> MeasureJob:
        """The job that makes one metric's table of an experiment."""
        found, job = self.experiment(experiment), self.train_job(experiment, device)
        names = found.mixtures if metric == "recall" else []
        thresholds = {name: found.recall_thresholds[name] for name in names}
        return MeasureJob(**dict(job), metric=metric, recall_thresholds=thresholds)

    def experiment(self, name: str) -> ExperimentSettings:
        """An experiment, or a variant `<experiment>-<variant>` of one."""
        base, _, variant = name.partition("-")
        return self._varied(base, variant) if variant else self.experiments[base]

    def varied_name(self, experiment: str, variant: str) -> str:
        """Name of an experiment's variant; the baseline's where the variant changes nothing."""
        same = self._varied(experiment, variant) == self._varied(experiment, BASELINE)
        return f"{experiment}-{BASELINE if same else variant}"

    def _varied(self, experiment: str, variant: str) -> ExperimentSettings:
        base, sensitivity = self.experiments[experiment], self.sensitivity
        data = base.model_dump() | {"seeds": sensitivity.seeds.model_dump()}
        if variant != BASELINE:
            for section in ("sampling", "training"):
                change = getattr(sensitivity.variants[variant], section)
                data[section] |= change.model_dump(exclude_none=True)
        # A variant that trains for a shorter time records as far as it goes.
        training, last = data["training"], data["sampling"]["steps"]
        training["recorded"] = [step for step in training["recorded"] if step <= last]
        return ExperimentSettings.model_validate(data)


def _needed(figure: OfRuns) -> set[int]:
    """Updates that a figure shows or measures from, as far as no theory has to be computed."""
    if isinstance(figure, Fig4 | Fig5):
        return {*figure.iterations}
    return {0} if isinstance(figure, Fig2) or figure.metric == "growth" else set()


def _check_mixture(where: str, mixture: Mixture) -> None:
    # The decoder has K M numbers.
    if mixture.num_classes * mixture.vocabulary_size > MOST_NUMBERS:
        raise ValueError(
            f"{where}: K M, classes times tokens, is more than {MOST_NUMBERS:,}, which fits into no"
            " memory; lower num_last, next_tokens_per_query or the number of weights"
        )


def check_size(where: str, job: TrainJob, seeds: int, seeds_per_job: int) -> None:
    """Refuse an experiment for which no memory is large enough.

    Args:
        where: keys that lead to it.
        job: how it is trained.
        seeds: how many it has.
        seeds_per_job: how many of them are trained by one job.

    Raises:
        InputError: names the keys that decide.
    """
    sampling, cells = job.sampling, len(job.training.cells) * len(job.recorded)
    sequences = sampling.steps * sampling.batch_size
    for mixture in job.mixtures.values():
        kinds = len(mixture.common_weights) + len(mixture.distinct_weights)
        # The authors' stream holds every token of a seed, the independent one counts of each kind.
        drawn = sampling.sequence_length if sampling.stream == "authors" else kinds
        attention = mixture.num_classes * mixture.num_contextual
        for size, keys in (
            (sequences * drawn, "sampling > steps, batch_size or sequence_length"),
            (
                sequences * kinds * seeds_per_job,
                "computation.seeds_per_job, or sampling > steps or batch_size",
            ),
            (cells * attention * seeds, "training > recorded, eta_z or ratio, or the seeds"),
        ):
            if size > MOST_NUMBERS:
                raise InputError(
                    f"{where}: makes more than {MOST_NUMBERS:,} numbers at once, which fit into no"
                    f" memory; lower {keys}"
                )


def _listed(values: Iterable[object]) -> str:
    return ", ".join(map(str, values))


def _check_known(names: Iterable[str], known: Collection[str], where: str) -> None:
    for name in names:
        if name not in known:
            raise ValueError(f"{where}: {unknown_key(name, list(known))}")
