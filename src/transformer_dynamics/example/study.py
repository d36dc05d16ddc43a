"""The example: its settings and its jobs."""

from random import Random
from typing import Annotated, Any

from replication.base.strict import Strict
from replication.plan.configuration import Computation
from replication.study.contract import Experiment, Figure, FiguresOf, Job, StudySettings
from replication.study.seeds import SeedRange, batches, seed_list
from transformer_dynamics.example.settings import MetricJob, TrainJob

METRICS = ("error", "half_life", "fingerprint")
"""Metrics of every experiment; no program reads this file, so a new one reruns no other."""


class ExperimentSettings(Strict):
    """Training runs that differ in their seed."""

    seeds: SeedRange
    """Seeds of the runs."""
    training: TrainJob
    """Data and training."""


class Settings(StudySettings):
    """An invented paper: gradient descent learns large directions first."""

    experiments: dict[str, ExperimentSettings]
    """The experiments by name."""
    figures: Annotated[dict[str, Figure], FiguresOf(__package__)]
    """The figures by name: `figures/<study>/<name>.pdf`."""


def experiments(settings: Settings, computation: Computation) -> dict[str, Experiment]:
    """Return the jobs of every experiment."""
    size, made = computation.seeds_per_job, {}
    for name, found in settings.experiments.items():
        train, parts = found.training, batches(seed_list(found.seeds), size).items()
        made[name] = Experiment(
            data={f"{name}/{part}": Job("data", train.problem, seeds) for part, seeds in parts},
            runs={
                part: Job("training", train, seeds, (f"{name}/{part}",)) for part, seeds in parts
            },
            metrics={
                metric: Job("metrics", MetricJob(training=train, metric=metric))
                for metric in METRICS
            },
        )
    return made


def one_seed(settings: Settings, random: Random) -> dict[str, Any]:
    """Draw one of the seeds of every experiment."""
    seeds = {name: random.choice(seed_list(it.seeds)) for name, it in settings.experiments.items()}
    return {
        "experiments": {
            name: {"seeds": {"first": seed, "count": 1}} for name, seed in seeds.items()
        }
    }
