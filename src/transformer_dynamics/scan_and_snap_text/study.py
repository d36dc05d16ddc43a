"""Training on text: its settings and its jobs."""

import hashlib
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated, Any, get_args

from pydantic import model_validator

from replication.base.strict import Name, unknown_key
from replication.judge.sensitivity import Sensitivity
from replication.plan.limits import time_limit
from replication.study.contract import (
    AS_PUBLISHED,
    BASELINE,
    Experiment,
    Figure,
    FiguresOf,
    Job,
    StudySettings,
    Variant,
    check_titles,
)
from replication.study.seeds import format_seeds
from transformer_dynamics.scan_and_snap_text.cost import metric_memory, run_needs
from transformer_dynamics.scan_and_snap_text.figures.fig7 import Fig7
from transformer_dynamics.scan_and_snap_text.figures.fig10 import Fig10
from transformer_dynamics.scan_and_snap_text.figures.wikitext_dynamics import WikitextDynamics
from transformer_dynamics.scan_and_snap_text.settings.experiments import (
    CorpusFiles,
    OtherReading,
    TextExperiment,
)
from transformer_dynamics.scan_and_snap_text.settings.metrics import (
    MetricSettings,
    TextMetric,
    TextMetricJob,
)
from transformer_dynamics.scan_and_snap_text.settings.training import TextTrainJob

if TYPE_CHECKING:
    from typing import Self

    from replication.plan.configuration import Computation

FIGURES = "figures"
MOST_NUMBERS = 10**9
"""Largest number of entries of one array: several GB, which is more than a job may take."""
MOST_POSITIONS = 10**12
"""Largest number of positions that a run trains on, thousands of times the paper's largest."""


class Settings(StudySettings):
    """Figures 7 and 10 of Scan and Snap: training on real text."""

    corpora: dict[Name, CorpusFiles]
    """The corpora by name."""
    experiments: dict[Name, TextExperiment]
    """The experiments by name."""
    metrics: MetricSettings
    """Words and updates by which attention is measured."""
    figures: Annotated[dict[Name, Figure], FiguresOf(__package__, Sensitivity)]
    """The figures by name: `figures/<name>.pdf`."""
    variants: dict[Name, OtherReading]
    """The variants by name, under which claims with `sensitivity` are judged, too."""

    @model_validator(mode="after")
    def _check_references(self) -> "Self":
        for name, experiment in self.experiments.items():
            where = f"experiments > {name}"
            for corpus in experiment.corpora:
                if corpus not in self.corpora:
                    known = unknown_key(corpus, list(self.corpora))
                    raise ValueError(f"{where} > corpora: {known}")
            _check_size(where, experiment)
            # Names of files have six digits of the rate.
            rates = [f"rate{rate:g}" for rate in experiment.learning_rates]
            for rate in rates:
                if rates.count(rate) > 1:
                    raise ValueError(f"{where} > learning_rates: two have the name {rate}")
        check_titles({name: variant.title for name, variant in self.variants.items()})
        for variant, reading in self.variants.items():
            for name in (*reading.experiments, *reading.experiments.values()):
                if name not in self.experiments:
                    known = unknown_key(name, list(self.experiments))
                    raise ValueError(f"variants > {variant} > experiments: {known}")
        for name, figure in self.figures.items():
            sources = [source for source, _ in figure.sources()]
            shown = {
                source: self.experiments[source] for source in sources if source in self.experiments
            }
            if isinstance(figure, Fig7):
                self._check_maps(f"figures > {name}", figure, shown)
            if isinstance(figure, Fig10):
                self._check_panels(f"figures > {name}", figure, shown)
            if isinstance(figure, WikitextDynamics) and len(shown) == len(sources):
                _check_models(f"figures > {name} > models", figure, shown)
        return self

    def _check_maps(self, where: str, figure: Fig7, shown: dict[str, TextExperiment]) -> None:
        depths = [model.layers for each in shown.values() for model in each.models.values()]
        if len({*depths}) < len(depths):
            raise ValueError(
                f"{where}: two models have the same number of layers, and the figure has one row"
                " for each number; name experiments whose models differ in it"
            )
        for name, experiment in shown.items():
            if figure.seed not in ("typical", *experiment.seeds):
                raise ValueError(
                    f"{where}: experiment '{name}' has no seed {figure.seed}; its seeds are"
                    f" {format_seeds(sorted(experiment.seeds))}: set {where} > seed to one of"
                    " them, or to typical"
                )
            if max(len(experiment.corpora), len(experiment.learning_rates)) > 1:
                raise ValueError(
                    f"{where}: experiment '{name}' must have one corpus and one rate; name another"
                    f" under {where} > experiments"
                )
            recorded = {*experiment.training.recorded, experiment.training.updates}
            absent = sorted({*figure.iterations} - recorded)
            if absent:
                raise ValueError(
                    f"{where}: experiment '{name}' does not record update {absent[0]}; leave it"
                    f" out of {where} > iterations, or record it under experiments > {name} >"
                    " training > recorded"
                )

    def _check_panels(self, where: str, figure: Fig10, shown: dict[str, TextExperiment]) -> None:
        if len({name for experiment in shown.values() for name in experiment.models}) > 1:
            raise ValueError(
                f"{where}: its experiments have several models, and the figure shows one; name"
                " experiments with the same one"
            )
        for corpus in (name for experiment in shown.values() for name in experiment.corpora):
            if corpus not in figure.panels:
                raise ValueError(f"{where} > panels: corpus '{corpus}' has none; add its title")


def _check_models(where: str, figure: WikitextDynamics, shown: dict[str, TextExperiment]) -> None:
    known = {name for experiment in shown.values() for name in experiment.models}
    for name in figure.models:
        if name not in known:
            raise ValueError(f"{where}: {unknown_key(name, sorted(known))}")


def _check_size(where: str, experiment: TextExperiment) -> None:
    """Refuse an experiment that no memory is large enough for, or no life long enough."""
    training, shown = experiment.training, experiment.evaluation
    chunk = training.chunk_length
    maps = shown.batch_size * shown.sampled_chunks * chunk**2 * (len(training.recorded) + 1)
    sizes = {
        "training > batch_size or chunk_length": training.batch_size * chunk**2,
        "evaluation > batch_size or sampled_chunks, or training > recorded": maps,
    }
    for name, model in experiment.models.items():
        layer = model.width * (4 * model.width + 2 * model.hidden)
        held = training.batch_size * chunk * (model.width + model.hidden)
        sizes[f"models > {name} > layers, width or hidden"] = model.layers * layer
        sizes[f"models > {name} > layers or width, or training > batch_size"] = model.layers * held
    for keys, size in sizes.items():
        if size > MOST_NUMBERS:
            raise ValueError(
                f"{where}: makes more than {MOST_NUMBERS:,} numbers at once, which fit into no"
                f" memory; lower {keys}"
            )
    rounds = training.updates or training.epochs or 1
    if rounds * training.batch_size * chunk > MOST_POSITIONS:
        raise ValueError(
            f"{where}: would train on more than {MOST_POSITIONS:,} positions; lower"
            f" training > {'updates' if training.updates else 'epochs'}"
        )


def experiments(settings: Settings, computation: "Computation") -> dict[str, Experiment]:
    """Return the jobs of every experiment."""
    return {
        name: _experiment_jobs(settings, experiment, computation)
        for name, experiment in settings.experiments.items()
    }


def _experiment_jobs(
    settings: Settings, experiment: TextExperiment, computation: "Computation"
) -> Experiment:
    files = {name: settings.corpora[name] for name in experiment.corpora}
    tokens = {name: corpus.token_job for name, corpus in files.items()}
    # Runs that differ in their seed share the settings.
    shared = {
        run.variant: TextTrainJob(
            tokens=tokens[run.corpus],
            model=experiment.models[run.model],
            learning_rate=run.learning_rate,
            training=experiment.training,
            evaluation=experiment.evaluation,
            device=computation.device,
        )
        for run in experiment.runs
    }
    needs = {variant: run_needs(job) for variant, job in shared.items()}
    metrics = {
        metric: TextMetricJob(
            corpora=tokens,
            experiment=experiment,
            words=settings.metrics.words if metric == "dynamics" else None,
            metric=metric,
        )
        for metric in get_args(TextMetric)
    }
    return Experiment(
        data={
            name: Job("data.corpus", tokens[name], reads=corpus.paths(name), memory=1000)
            for name, corpus in files.items()
        },
        runs={
            run.name: Job(
                "training.loop",
                shared[run.variant],
                (run.seed,),
                (run.corpus,),
                memory=needs[run.variant].memory,
                minutes=time_limit(needs[run.variant].operations, computation.device),
                operations=needs[run.variant].operations,
                gaps=("*validation_loss",),
            )
            for run in experiment.runs
        },
        metrics={
            metric: Job("metrics.tables", job, reads=tuple(files), memory=metric_memory(experiment))
            for metric, job in metrics.items()
        },
    )


def variants(settings: Settings) -> dict[str, Variant]:
    """Return the experiments as they are, and every other reading."""
    readings = {
        name: Variant(found.title, dict(found.experiments))
        for name, found in settings.variants.items()
    }
    return {BASELINE: Variant(AS_PUBLISHED, {}), **readings}


def one_seed(settings: Settings, random: Random) -> dict[str, Any]:
    """Draw one seed and one rate of every experiment; Figure 7 shows the seed that is left."""
    seeds = {
        name: random.choice(experiment.seeds) for name, experiment in settings.experiments.items()
    }
    figures = {}
    for name, figure in settings.figures.items():
        if isinstance(figure, Fig7):
            shared = (set(settings.experiments[shown].seeds) for shown in figure.experiments)
            seed = random.choice(sorted(set.intersection(*shared)))
            seeds |= dict.fromkeys(figure.experiments, seed)
            figures[name] = {"seed": seed}
    return {
        "experiments": {
            name: {
                "seeds": [seed],
                "learning_rates": [random.choice(settings.experiments[name].learning_rates)],
            }
            for name, seed in seeds.items()
        },
        "figures": figures,
    }


def smallest(settings: Settings, folder: Path) -> dict[str, Any]:
    """Return three updates of narrow models on short texts of random words."""
    corpus = {
        "folder": str(folder),
        "train": _write_random_text(folder / "train.txt", lines=80),
        "valid": _write_random_text(folder / "valid.txt", lines=16),
    }
    training = {"updates": 3, "epochs": None, "recorded": [0, 1, 2]}
    changes = {
        "training": training | {"batch_size": 4, "chunk_length": 12},
        "evaluation": {"shown_chunk": 0, "batch_size": 2, "sampled_chunks": 2},
    }
    narrow = {"width": 8, "hidden": 8}
    return {
        "corpora": dict.fromkeys(settings.corpora, corpus),
        "experiments": {
            name: changes | {"models": dict.fromkeys(found.models, narrow)}
            for name, found in settings.experiments.items()
        },
        "figures": {"fig7": {"iterations": [0, 3]}},
    }


def _write_random_text(path: Path, lines: int) -> dict[str, str]:
    """Write words, some of them frequent, and return name and digest of the file."""
    random = Random(path.name)
    words = [f"w{min(int(random.paretovariate(0.5)), 150)}" for _ in range(50 * lines)]
    rows = (" ".join(words[start : start + 50]) for start in range(0, len(words), 50))
    path.write_text("\n".join(rows), encoding="utf-8")
    return {"name": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
