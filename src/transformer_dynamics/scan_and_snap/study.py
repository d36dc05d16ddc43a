"""Scan and Snap, without its two figures of training on text: what is computed, and how."""

from pathlib import Path
from random import Random
from typing import Any

from replication.plan.configuration import Computation
from replication.study.contract import Experiment, Job
from replication.study.seeds import SeedRange, batches, seed_list
from replication.study.variants import AS_PUBLISHED, BASELINE, Variant
from transformer_dynamics.scan_and_snap.configuration import Settings, check_size
from transformer_dynamics.scan_and_snap.measure_settings import METRICS

FIGURES = "figures"
DEFAULT = True


def experiments(settings: Settings, computation: Computation) -> dict[str, Experiment]:
    """The experiments, and those of every variant as `<experiment>-<variant>`, equal ones once."""
    varied = [name for found in variants(settings).values() for name in found.experiments.values()]
    names = dict.fromkeys([*settings.experiments, *varied])
    return {name: _experiment(settings, computation, name) for name in names}


def one_seed(settings: Settings, random: Random) -> dict[str, Any]:
    """One seed of each experiment that has a range of seeds, and of the variants."""

    def one_of(seeds: SeedRange) -> dict[str, int]:
        return {"first": seeds.first + random.randrange(seeds.count), "count": 1}

    chosen = {
        name: {"seeds": one_of(experiment.seeds)}
        for name, experiment in settings.experiments.items()
        if isinstance(experiment.seeds, SeedRange)
    }
    return {"experiments": chosen, "sensitivity": {"seeds": one_of(settings.sensitivity.seeds)}}


def variants(settings: Settings) -> dict[str, Variant]:
    """The experiments' own settings on other seeds, and every departure from them."""
    sensitivity = settings.sensitivity
    titles = {name: variant.title for name, variant in sensitivity.variants.items()}
    return {
        name: Variant(
            title, {each: settings.varied_name(each, name) for each in sensitivity.experiments}
        )
        for name, title in {BASELINE: AS_PUBLISHED, **titles}.items()
    }


def smallest(settings: Settings, folder: Path) -> dict[str, Any]:
    """Two seeds and one variant; few updates where none is a time of the theory."""
    ten: dict[str, Any] = {"sampling": {"steps": 10}, "training": {"recorded": [0, 5]}}
    twenty = {"sampling": {"steps": 20}, "training": {"recorded": [5, 10]}}
    past_t_0 = {"sampling": {"steps": 400}, "training": {"recorded": [0, 7, 11, 102, 200, 300]}}
    stages = {"sampling": {"steps": 163}, "training": {"recorded": [0, 14, 41]}}
    own = {"four_stages": stages, "after_the_transition": past_t_0, "long_training": twenty}
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


def datasets(settings: Settings) -> dict[str, Any]:
    """Sizes of the mixtures, and how many sequences a run draws; nothing is held out."""
    return {
        "mixtures": {
            name: {
                "tokens": mixture.vocabulary_size,
                "sequence_classes": mixture.num_classes,
                "query_tokens": mixture.num_last,
            }
            for name, mixture in settings.mixtures.items()
        },
        "sequences_per_run": {
            name: experiment.sampling.steps * experiment.sampling.batch_size
            for name, experiment in settings.experiments.items()
        },
    }


def _experiment(settings: Settings, computation: Computation, name: str) -> Experiment:
    found, device = settings.experiment(name), computation.device
    train = settings.train_job(name, device)
    sample = train.sample_job
    parts = batches(seed_list(found.seeds), computation.seeds_per_job)
    where = f"configuration: scan_and_snap > experiments > {name.replace('-', ', as variant ')}"
    check_size(where, train, sum(map(len, parts.values())), max(map(len, parts.values())))
    has_recall = {*found.mixtures} <= {*found.recall_thresholds}
    return Experiment(
        data={
            f"{name}/{part}": Job("data", sample, seeds, memory=1000)
            for part, seeds in parts.items()
        },
        runs={
            part: Job("runs", train, seeds, (f"{name}/{part}",), minutes=60)
            for part, seeds in parts.items()
        },
        metrics={
            metric: Job("measures", settings.measure_job(name, metric, device), memory=1000)
            for metric in METRICS
            if metric != "recall" or has_recall
        },
    )
