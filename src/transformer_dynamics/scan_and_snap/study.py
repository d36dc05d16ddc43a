"""Scan and Snap, without its two figures of training on text: its settings and its jobs."""

from collections.abc import Collection, Iterable
from itertools import product
from pathlib import Path
from random import Random
from typing import Annotated, Any, Literal, Self

from pydantic import model_validator

from replication.base.strict import Name, unknown_key
from replication.judge.sensitivity import Sensitivity
from replication.plan.configuration import Computation
from replication.study.contract import (
    AS_PUBLISHED,
    BASELINE,
    Experiment,
    ExperimentFigure,
    Figure,
    FiguresOf,
    Job,
    StudySettings,
    Variant,
)
from replication.study.seeds import SeedRange, batches, format_seeds, seed_list
from transformer_dynamics.scan_and_snap.figures.elements import SweepFigure
from transformer_dynamics.scan_and_snap.figures.fig1 import Fig1
from transformer_dynamics.scan_and_snap.figures.fig2 import Fig2
from transformer_dynamics.scan_and_snap.figures.fig4 import Fig4
from transformer_dynamics.scan_and_snap.figures.fig5 import Fig5
from transformer_dynamics.scan_and_snap.figures.findings import Findings
from transformer_dynamics.scan_and_snap.figures.theory_vs_training import TheoryVsTraining
from transformer_dynamics.scan_and_snap.settings.experiments import (
    ExperimentSettings,
    Variants,
    check_size,
)
from transformer_dynamics.scan_and_snap.settings.metrics import (
    METRICS,
    Metric,
    MetricJob,
    MetricSettings,
)
from transformer_dynamics.scan_and_snap.settings.training import Mixture, TrainJob

FIGURES = "figures"
DEFAULT = True


class Settings(StudySettings):
    """Tian, Wang, Chen, Du: Scan and Snap (NeurIPS 2023)."""

    mixtures: dict[Name, Mixture]
    """The data models by name."""
    experiments: dict[Name, ExperimentSettings]
    """The experiments by name."""
    figures: Annotated[dict[Name, Figure], FiguresOf(__package__, Sensitivity)]
    """The figures by name: `figures/<name>.pdf`."""
    sensitivity: Variants
    """Experiments that are repeated under variants."""
    metrics: MetricSettings
    """Constants by which claims about training are measured."""

    @model_validator(mode="after")
    def _check_references(self) -> Self:
        for name, experiment in self.experiments.items():
            where = f"experiments > {name}"
            _check_known(experiment.mixtures, self.mixtures, f"{where} > mixtures")
            thresholds = f"{where} > recall_thresholds"
            _check_known(experiment.recall_thresholds, self.mixtures, thresholds)
            self._check_stream(where, experiment)
        varied = self.sensitivity.experiments
        _check_known(varied, self.experiments, "sensitivity > experiments")
        for name, variant in product(varied, self.sensitivity.variants):
            self._varied_experiment(name, variant)
        for name, figure in self.figures.items():
            if isinstance(figure, ExperimentFigure) and self._is_known(figure.experiment):
                self._check_runs(name, figure)
            elif isinstance(figure, Fig1):
                _check_known([figure.mixture], self.mixtures, f"figures > {name} > mixture")
                classes = self.mixtures[figure.mixture].num_classes
                if classes < figure.num_classes:
                    lower = f", or set num_classes to {classes} at most" if classes > 1 else ""
                    raise ValueError(
                        f"figures > {name} > mixture: '{figure.mixture}' has {classes} sequence"
                        f" class(es), fewer than num_classes; name a larger one{lower}"
                    )
        return self

    def _check_stream(self, where: str, experiment: ExperimentSettings) -> None:
        for name in experiment.mixtures:
            released = self.mixtures[name].is_released
            if experiment.sampling.stream == "authors" and not released:
                raise ValueError(
                    f"{where} > sampling: stream 'authors' is not defined for mixture '{name}'"
                    " (the authors ran 10 common tokens of weight 1 and 10 distinct tokens of"
                    " weights 0.1, 0.2, ..., 1.0); set stream: independent"
                )

    def _check_runs(self, name: str, figure: ExperimentFigure) -> None:
        experiment = self.experiment(figure.experiment)
        mixtures = [self.mixtures[mixture] for mixture in experiment.mixtures]
        where = f"figures > {name}: experiment '{figure.experiment}'"
        source = f"experiments > {figure.experiment.partition('-')[0]}"
        of_one = isinstance(figure, Fig2 | Fig4 | Fig5 | TheoryVsTraining | Findings)
        if of_one and len(mixtures) > 1:
            raise ValueError(
                f"{where} has {len(mixtures)} mixtures, and the figure shows one; name an"
                " experiment with one mixture"
            )
        if isinstance(figure, Fig2 | Fig4 | Fig5):
            if figure.seed not in (seeds := seed_list(experiment.seeds)):
                raise ValueError(
                    f"{where} has no seed {figure.seed}; its seeds are {format_seeds(seeds)}: set"
                    f" figures > {name} > seed to one of them"
                )
            key = "sequence_class" if isinstance(figure, Fig5) else "sequence_classes"
            shown = [figure.sequence_class] if isinstance(figure, Fig5) else figure.sequence_classes
            if max(shown) > (classes := mixtures[0].num_classes):
                raise ValueError(
                    f"{where} has no sequence class {max(shown)}; set figures > {name} > {key} to"
                    f" {classes} at most"
                )
        self._check_updates(name, figure, experiment)
        if isinstance(figure, Fig5) and experiment.training.ratio != [1]:
            raise ValueError(
                f"{where} has other ratios than 1; name another experiment, or set {source} >"
                " training > ratio: [1]"
            )
        if isinstance(figure, Findings) and figure.eta_z not in experiment.training.eta_z:
            known = ", ".join(f"{rate:g}" for rate in experiment.training.eta_z)
            raise ValueError(
                f"{where} has no eta_z {figure.eta_z:g}; set figures > {name} > eta_z to one of"
                f" {known}"
            )
        if isinstance(figure, SweepFigure):
            own = "give the others an experiment and a figure of their own"
            others = sorted({mixture.next_tokens_per_query for mixture in mixtures})
            if len(others) > 1:
                raise ValueError(
                    f"{where} has mixtures with {' and '.join(map(str, others))} next tokens per"
                    f" query, and a figure shows mixtures with the same number; {own}"
                )
            if others != [figure.next_tokens_per_query]:
                raise ValueError(
                    f"{where} has mixtures with next_tokens_per_query {others[0]}; set figures >"
                    f" {name} > next_tokens_per_query to {others[0]}"
                )
            if len({mixture.num_last for mixture in mixtures}) < len(mixtures):
                raise ValueError(
                    f"{where} has two mixtures with the same num_last, and a figure shows one for"
                    f" each num_last, whatever their weights; {own}"
                )
            without = set(experiment.mixtures) - set(experiment.recall_thresholds)
            if "recall" in figure.metrics and without:
                raise ValueError(
                    f"{where} has no recall_thresholds for '{min(without)}'; add {source} >"
                    f" recall_thresholds > {min(without)}: {{first: ..., last: ..., count: 11}}"
                )

    def _check_updates(
        self, name: str, figure: ExperimentFigure, experiment: ExperimentSettings
    ) -> None:
        last = experiment.sampling.steps
        absent = sorted(_needed_updates(figure) - {*experiment.training.recorded, last})
        if not absent:
            return
        where = f"figures > {name}: experiment '{figure.experiment}'"
        if absent[-1] > last:
            raise ValueError(
                f"{where} ends at update {last}; leave {absent[-1]} out of figures > {name} >"
                " iterations"
            )
        source = f"experiments > {figure.experiment.partition('-')[0]}"
        chosen = isinstance(figure, Fig4 | Fig5)
        instead = f", or leave them out of figures > {name} > iterations" if chosen else ""
        raise ValueError(
            f"{where} does not record update {absent[0]}; add"
            f" {', '.join(map(str, absent[:10]))} to {source} > training > recorded{instead}"
        )

    def _is_known(self, experiment: str) -> bool:
        """Say whether there is an experiment of a name, or a variant of one."""
        base, _, variant = experiment.partition("-")
        known = {"", BASELINE, *self.sensitivity.variants}
        return base in self.experiments and variant in known

    def train_job(self, experiment: str, device: Literal["cpu", "cuda"]) -> TrainJob:
        """Return the training job of an experiment; its sampling job is part of it."""
        found = self.experiment(experiment)
        return TrainJob(
            mixtures={name: self.mixtures[name] for name in found.mixtures},
            sampling=found.sampling,
            training=found.training,
            device=device,
        )

    def metric_job(
        self, experiment: str, metric: Metric, device: Literal["cpu", "cuda"]
    ) -> MetricJob:
        """Return the job that makes one metric's table of an experiment."""
        found, job = self.experiment(experiment), self.train_job(experiment, device)
        names = found.mixtures if metric == "recall" else []
        thresholds = {name: found.recall_thresholds[name] for name in names}
        return MetricJob(**dict(job), metric=metric, recall_thresholds=thresholds)

    def experiment(self, name: str) -> ExperimentSettings:
        """Return an experiment, or a variant `<experiment>-<variant>` of one."""
        base, _, variant = name.partition("-")
        return self._varied_experiment(base, variant) if variant else self.experiments[base]

    def varied_name(self, experiment: str, variant: str) -> str:
        """Return the name of a variant, the baseline's where the variant changes nothing."""
        same = self._varied_experiment(experiment, variant) == self._varied_experiment(
            experiment, BASELINE
        )
        return f"{experiment}-{BASELINE if same else variant}"

    def _varied_experiment(self, experiment: str, variant: str) -> ExperimentSettings:
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


def _needed_updates(figure: ExperimentFigure) -> set[int]:
    """Return the updates that a figure shows, unless theory has to be computed for them."""
    if isinstance(figure, Fig4 | Fig5):
        return {*figure.iterations}
    return {0} if isinstance(figure, Fig2) or "growth" in figure.metrics else set()


def _check_known(names: Iterable[str], known: Collection[str], where: str) -> None:
    for name in names:
        if name not in known:
            raise ValueError(f"{where}: {unknown_key(name, list(known))}")


def experiments(settings: Settings, computation: Computation) -> dict[str, Experiment]:
    """Return the jobs by experiment, and by `<experiment>-<variant>`, equal ones once."""
    varied = [name for found in variants(settings).values() for name in found.experiments.values()]
    names = dict.fromkeys([*settings.experiments, *varied])
    return {name: _experiment_jobs(settings, computation, name) for name in names}


def one_seed(settings: Settings, random: Random) -> dict[str, Any]:
    """Draw one seed of each experiment that has a range of seeds, and one of the variants."""

    def draw_one(seeds: SeedRange) -> dict[str, int]:
        return {"first": seeds.first + random.randrange(seeds.count), "count": 1}

    chosen = {
        name: {"seeds": draw_one(experiment.seeds)}
        for name, experiment in settings.experiments.items()
        if isinstance(experiment.seeds, SeedRange)
    }
    return {"experiments": chosen, "sensitivity": {"seeds": draw_one(settings.sensitivity.seeds)}}


def variants(settings: Settings) -> dict[str, Variant]:
    """Return the experiments' own settings on other seeds, and every departure from them."""
    sensitivity = settings.sensitivity
    titles = {name: variant.title for name, variant in sensitivity.variants.items()}
    return {
        name: Variant(
            title, {each: settings.varied_name(each, name) for each in sensitivity.experiments}
        )
        for name, title in {BASELINE: AS_PUBLISHED, **titles}.items()
    }


def smallest(settings: Settings, folder: Path) -> dict[str, Any]:
    """Return two seeds and one variant; few updates where none is a time of the theory."""
    ten: dict[str, Any] = {"sampling": {"steps": 10}, "training": {"recorded": [0, 5]}}
    twenty = {"sampling": {"steps": 20}, "training": {"recorded": [5, 10]}}
    past_t_0 = {"sampling": {"steps": 400}, "training": {"recorded": [0, 7, 11, 102, 200, 300]}}
    stages = {"sampling": {"steps": 163}, "training": {"recorded": [0, 14, 41]}}
    slow = {"sampling": {"steps": 90}, "training": {"recorded": [0, 27, 40, 60, 70, 80]}}
    onset = {"sampling": {"steps": 90}, "training": {"recorded": [*range(81)]}}
    own = {
        "four_stages": stages, "after_the_transition": past_t_0, "long_training": twenty,
        "within_assumptions": slow, "onset_of_the_snap": onset,
    }  # fmt: skip
    shown, two = {"iterations": [0, 5, 10]}, {"seeds": {"count": 2}}
    # Of seeds whose random start reverses a pair of tokens.
    reversed_in = {"random_start": {"seeds": {"first": 203, "count": 2}}}
    figures = {"fig2": {"frozen_after": 4}, "fig4": shown, "fig5": shown}
    return {
        "experiments": {
            name: own.get(name, ten)
            | (reversed_in.get(name, two) if isinstance(found.seeds, SeedRange) else {})
            for name, found in settings.experiments.items()
        },
        "figures": figures | {"findings": {"first_update": 5}},
        "sensitivity": two | {"variants": dict.fromkeys([*settings.sensitivity.variants][1:])},
    }


def _experiment_jobs(settings: Settings, computation: Computation, name: str) -> Experiment:
    found, device = settings.experiment(name), computation.device
    train = settings.train_job(name, device)
    sample = train.sample_job
    parts = batches(seed_list(found.seeds), computation.seeds_per_job)
    where = f"configuration: scan_and_snap > experiments > {name.replace('-', ', as variant ')}"
    check_size(where, train, sum(map(len, parts.values())), max(map(len, parts.values())))
    has_recall = {*found.mixtures} <= {*found.recall_thresholds}
    return Experiment(
        data={
            f"{name}/{part}": Job("data.sequences", sample, seeds) for part, seeds in parts.items()
        },
        runs={
            part: Job("training.loop", train, seeds, (f"{name}/{part}",), memory=2500, minutes=60)
            for part, seeds in parts.items()
        },
        metrics={
            metric: Job("metrics.tables", settings.metric_job(name, metric, device), memory=1000)
            for metric in METRICS
            if metric != "recall" or has_recall
        },
    )
