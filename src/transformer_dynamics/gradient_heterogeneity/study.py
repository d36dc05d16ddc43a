"""Gradient heterogeneity: the jobs of its experiments."""

from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

from replication.plan.configuration import Computation
from replication.plan.limits import time_limit
from replication.study.contract import Experiment, Job
from replication.study.seeds import Seeds, batches, seed_list
from transformer_dynamics.encoders.settings import EncoderJob, TextJob, TextName
from transformer_dynamics.gradient_heterogeneity.cost import (
    encoder_memory,
    features_operations,
    heads_needs,
    measured_needs,
    metric_memory,
    pair_needs,
    run_needs,
)
from transformer_dynamics.gradient_heterogeneity.settings.configuration import (
    HETEROGENEITY,
    PAIRS,
    SCALED_PAIRS,
    Settings,
)
from transformer_dynamics.gradient_heterogeneity.settings.data import (
    WEIGHTS,
    ImagesJob,
    PretrainedJob,
    VocabularyJob,
)
from transformer_dynamics.gradient_heterogeneity.settings.experiments import (
    Case,
    DrawnTexts,
    Grid,
    Heads,
    Heterogeneity,
    NetworkSetting,
    PairCase,
    Pairs,
    SharedSettings,
    SmallTransformerSetting,
)
from transformer_dynamics.gradient_heterogeneity.settings.heads import HeadsJob
from transformer_dynamics.gradient_heterogeneity.settings.measuring import MeasuredJob, PairJob
from transformer_dynamics.gradient_heterogeneity.settings.metrics import (
    CoordinatesMetricJob,
    EndpointMetricJob,
    FingerprintJob,
    HeadsMetricJob,
    MeasuredMetricJob,
    MetricJob,
)
from transformer_dynamics.gradient_heterogeneity.settings.networks import (
    ImageNetwork,
    ImageNetworkSetting,
    NetworkChoice,
    SmallTransformer,
)
from transformer_dynamics.gradient_heterogeneity.settings.training import RunJob, TrainingSetting

METRICS = ("curves", "accuracy", "heads", "step_directions")
"""Metrics of every experiment with trained networks, besides those with settings of their own."""
ENCODERS = "transformer_dynamics.encoders.data"
"""Package of the programs that read encoders and texts."""
GAPS = ("*",)
"""Arrays of runs that may hold NaN: a training that is lost goes on as NaN, and so does what is not
known. Metrics count the one and leave out the other."""
SMALL = {"train": 24, "validation": 8}
"""Numbers of samples of texts at the smallest scale."""
SHORT = {"steps": 3, "slice": 8, "points": 2}
"""Training at the smallest scale."""
MEASURING = {"batches": 2, "size": 4, "products": 2}
"""Measurements at the smallest scale."""
SYNTHETIC: dict[TextName, TextName] = {
    "cola": "cr",
    "rte": "cb",
    "banking77": "sst2_sentences",
}
"""Sets of which synthetic files can be written, in the place of those of which they cannot."""


def experiments(settings: Settings, computation: Computation) -> dict[str, Experiment]:
    """Return trained networks, heads on features that stay, and measured networks."""
    shared = settings.shared(computation)
    trained = {
        name: _trained(settings, grid, grid.jobs(shared))
        for name, grid in settings.experiments.items()
    }
    heterogeneity = settings.heterogeneity
    pairs = {PAIRS: settings.pairs, SCALED_PAIRS: settings.scaled_pairs}
    paired = {
        name: _measured(settings, "placement_pairs", each.jobs(shared), each.seeds)
        for name, each in pairs.items()
    }
    return (
        trained
        | {
            **{
                name: _heads(settings, heads, shared, computation)
                for name, heads in settings.heads_by_experiment.items()
            },
            HETEROGENEITY: _measured(
                settings, "measured_networks", heterogeneity.jobs(shared), heterogeneity.seeds
            ),
        }
        | paired
    )


def _trained(settings: Settings, grid: Grid, jobs: dict[str, RunJob]) -> Experiment:
    metric = MetricJob(runs=jobs)
    seeds = settings.seeds_of(grid.seeds)
    memory = metric_memory(jobs.values(), len(seeds))
    metrics = {name: Job(f"metrics.{name}", metric, memory=memory) for name in METRICS}
    endpoint = EndpointMetricJob(runs=jobs, parts=settings.training.parts)
    metrics |= {
        "endpoint": Job("metrics.endpoint", endpoint, memory=memory),
        "fingerprint": Job("metrics.fingerprint", FingerprintJob(runs=dict(jobs))),
    }
    needs = {name: run_needs(job) for name, job in jobs.items()}
    if any(job.training.exponent or job.training.block_rates for job in jobs.values()):
        own = CoordinatesMetricJob(runs=jobs, limit=settings.blocks.limit)
        metrics["coordinates"] = Job("metrics.coordinates", own)
    return Experiment(
        data=_data_of(settings, jobs),
        runs={
            f"{name}-{seed}": Job(
                "training.runs",
                job,
                (seed,),
                job.net.reads,
                memory=needs[name].memory,
                minutes=time_limit(needs[name].operations, job.device),
                operations=needs[name].operations,
                gaps=GAPS,
            )
            for name, job in jobs.items()
            for seed in seeds
        },
        metrics=metrics,
    )


def _measured(
    settings: Settings,
    program: str,
    jobs: Mapping[str, MeasuredJob | PairJob],
    seeds: Seeds | None,
) -> Experiment:
    needs = {
        name: pair_needs(job) if isinstance(job, PairJob) else measured_needs(job)
        for name, job in jobs.items()
    }
    metric = MeasuredMetricJob(runs=dict(jobs))
    metrics = {name: Job(f"metrics.{name}", metric) for name in ("tensors", "spread", "one_step")}
    fingerprint = Job("metrics.fingerprint", FingerprintJob(runs=dict(jobs)))
    return Experiment(
        data=_data_of(settings, jobs),
        runs={
            f"{name}-{seed}": Job(
                f"training.{program}",
                job,
                (seed,),
                job.net.reads,
                memory=needs[name].memory,
                minutes=time_limit(needs[name].operations, job.device),
                operations=needs[name].operations,
                gaps=GAPS,
            )
            for name, job in jobs.items()
            for seed in settings.seeds_of(seeds)
        },
        metrics=metrics | {"fingerprint": fingerprint},
    )


def _data_of(
    settings: Settings, jobs: Mapping[str, RunJob | MeasuredJob | PairJob]
) -> dict[str, Job]:
    return {name: data for job in jobs.values() for name, data in data_jobs(settings, job.net)}


def data_jobs(settings: Settings, net: NetworkChoice) -> list[tuple[str, Job]]:
    """Return the names and the jobs of the data that a network reads; its `reads` are the names."""
    if isinstance(net, ImageNetwork):
        images = Job("data.images", ImagesJob(), reads=settings.files("fashion_mnist"))
        weights = Job(
            "data.pretrained",
            PretrainedJob(network=net.net),
            reads=settings.files(WEIGHTS[net.net]),
        )
        return [*zip(net.reads, (images, weights), strict=True)]
    choice = settings.text_choice(net.texts.name)
    if isinstance(net, SmallTransformer):
        job = VocabularyJob(texts=choice.name, words=net.words, length=net.shape.length)
        files = (*settings.files("wikitext2"), *choice.sources)
        return [(name, Job("data.vocabulary", job, reads=files)) for name in net.reads]
    encoder = settings.encoder
    program, job_of_encoder = f"{ENCODERS}.encoder", EncoderJob(encoder=encoder.name)
    return [
        (
            "encoder",
            Job(
                program, job_of_encoder, reads=encoder.sources, memory=encoder_memory(encoder.name)
            ),
        ),
        *text_jobs(settings, choice.name, "tokens"),
    ]


def text_jobs(settings: Settings, name: TextName, *kinds: str) -> list[tuple[str, Job]]:
    """Return the names and the jobs of `tokens`, `features` or both of a set of texts."""
    choice = settings.text_choice(name)
    job = TextJob(encoder=settings.encoder.name, texts=name, length=choice.length)
    files = (*settings.encoder.sources, *choice.sources)
    # A processor makes features, whatever device trains.
    work = {"tokens": 0.0, "features": features_operations(job.encoder, name)}
    return [
        (
            f"{kind}-{name}",
            Job(
                f"{ENCODERS}.{kind}",
                job,
                reads=files,
                memory=encoder_memory(job.encoder),
                minutes=time_limit(work[kind], "cpu"),
                operations=work[kind],
            ),
        )
        for kind in kinds
    ]


def _heads(
    settings: Settings, heads: Heads, shared: SharedSettings, computation: Computation
) -> Experiment:
    jobs = heads.jobs(shared)
    kinds = ("tokens", "features")
    parts = batches(seed_list(heads.seeds), computation.seeds_per_job)
    metric = HeadsMetricJob(runs=jobs)

    def run(job: HeadsJob, seeds: tuple[int, ...]) -> Job:
        needs = heads_needs(job, len(seeds))
        return Job(
            "training.heads",
            job,
            seeds,
            tuple(f"{kind}-{job.texts}" for kind in kinds),
            memory=needs.memory,
            minutes=time_limit(needs.operations, job.device),
            operations=needs.operations,
        )

    return Experiment(
        data={
            name: data
            for job in jobs.values()
            for name, data in text_jobs(settings, job.texts, *kinds)
        },
        runs={
            f"{name}-{part}": run(job, seeds)
            for name, job in jobs.items()
            for part, seeds in parts.items()
        },
        metrics={
            "heads": Job(
                "metrics.head_drift", metric, reads=tuple(f"tokens-{n}" for n in metric.texts)
            ),
            "fingerprint": Job("metrics.fingerprint", FingerprintJob(runs=dict(jobs))),
        },
    )


def one_seed(settings: Settings, random: Random) -> dict[str, Any]:
    """Choose one seed; of every experiment one case, and of that one optimiser at one rate.

    Returns the overlay that leaves these.
    """
    return {
        "seeds": [random.choice(seed_list(settings.seeds))],
        "experiments": {
            name: _one_case(grid, random) for name, grid in settings.experiments.items()
        },
        **{
            name: {
                "tasks": _only([*heads.tasks], random),
                "seeds": [random.choice(seed_list(heads.seeds))],
            }
            for name, heads in settings.heads_by_experiment.items()
        },
        "heterogeneity": _one_network(settings.heterogeneity, random),
        "pairs": _one_pair(settings.pairs, random),
        "scaled_pairs": _one_pair(settings.scaled_pairs, random),
    }


def _only(names: list[str], random: Random) -> dict[str, Any]:
    """Return the overlay that removes all names except one."""
    return dict.fromkeys(names) | {random.choice(names): {}}


def _own_seed(seeds: Seeds | None, random: Random) -> dict[str, Any]:
    """Choose one of an experiment's own seeds, if it has seeds of its own."""
    return {} if seeds is None else {"seeds": [random.choice(seed_list(seeds))]}


def _one_case(grid: Grid, random: Random) -> dict[str, Any]:
    """Choose one optimiser at one rate of one case."""
    # A figure asks for the metric of cases with coordinates of their own.
    own = [item for item in grid.cases.items() if item[1].block_rates or any(item[1].exponents)]
    name, case = random.choice(own or [*grid.cases.items()])
    optimiser, rates = random.choice([*case.rates.items()])
    chosen = {
        "rates": dict.fromkeys(case.rates) | {optimiser: [random.choice(rates)]},
        "schedules": [random.choice(case.schedules)],
        "epsilons": [random.choice(case.epsilons)],
        "exponents": [random.choice(case.exponents)],
    }
    cases = dict.fromkeys(grid.cases) | {name: chosen}
    return {"cases": cases} | _own_seed(grid.seeds, random)


def _one_network(grid: Heterogeneity, random: Random) -> dict[str, Any]:
    """Choose one case of the networks that are measured."""
    return _own_seed(grid.seeds, random) | {"cases": _only([*grid.cases], random)}


def _one_pair(grid: Pairs, random: Random) -> dict[str, Any]:
    """Choose one depth and one deviation of one case."""
    name, case = random.choice([*grid.cases.items()])
    chosen = {
        "depths": [random.choice(case.depths)],
        "deviations": [random.choice(case.deviations)],
    }
    return _own_seed(grid.seeds, random) | {"cases": dict.fromkeys(grid.cases) | {name: chosen}}


def smallest(settings: Settings, folder: Path) -> dict[str, Any]:
    """Return the overlay of a few steps of untrained networks on synthetic samples.

    Costly experiments have one seed, others two or three.
    """
    return _files(settings, folder) | {
        "seeds": [1, 2],
        "figures": {"fig8": {"draws": 30, "descents": 8}},
        "experiments": {
            experiment: {"cases": {name: _small_case(case) for name, case in grid.cases.items()}}
            | ({} if grid.seeds is None else {"seeds": seed_list(grid.seeds)[:2]})
            for experiment, grid in settings.experiments.items()
        },
        **{
            name: {
                "tasks": dict.fromkeys(heads.tasks)
                | {
                    "two": {"texts": "trec6", "classes": 2},
                    "six": {"texts": "trec6"},
                    "many": {"texts": "banking77"},
                },
                "batch_sizes": [2, 5],
                "steps": 4,
                "points": 2,
                "slice": 8,
                "seeds": [1, 2, 3],
            }
            for name, heads in settings.heads_by_experiment.items()
        },
        "heterogeneity": {
            "seeds": [1],
            "measuring": MEASURING,
            "cases": {
                name: {
                    "network": _small_network(case.network),
                    "tuning": _short_training(case.tuning),
                }
                for name, case in settings.heterogeneity.cases.items()
            },
        },
        "pairs": _small_pairs(settings.pairs) | {"seeds": [1, 2]},
        "scaled_pairs": _small_pairs(settings.scaled_pairs),
    }


def _files(settings: Settings, folder: Path) -> dict[str, Any]:
    """Write synthetic files of everything that is read."""
    from transformer_dynamics.encoders.artificial import write_encoder, write_texts
    from transformer_dynamics.gradient_heterogeneity.data import synthetic

    names: tuple[TextName, ...] = ("trec6", *SYNTHETIC.values())
    return {
        "encoder": {"folder": write_encoder(folder / "encoder")},
        "sets": dict.fromkeys(settings.sets)
        | {name: {"length": 12, "folder": write_texts(folder / name, name)} for name in names}
        | {"banking77": {"length": 12, "folder": synthetic.write_banking77(folder / "banking77")}},
        "folders": {
            "fashion_mnist": synthetic.write_images(folder / "images"),
            "efficientnet_lite0": synthetic.write_efficientnet(folder / "efficientnet"),
            "vit_s": synthetic.write_vit(folder / "vit"),
            "wikitext2": synthetic.write_running(folder / "running"),
        },
    }


def _few_texts(drawn: DrawnTexts) -> dict[str, Any]:
    return SMALL | {"texts": SYNTHETIC.get(drawn.texts, "trec6")}


def _small_network(network: NetworkSetting) -> dict[str, Any]:
    if isinstance(network, ImageNetworkSetting):
        size = 32 if network.net == "efficientnet" else 28
        return {"size": size, "train": 20, "validation": 4, "test": 6}
    shape = {"depth": 1, "width": 8, "heads": 2, "length": 8}
    words = {"shape": shape, "words": 12} if isinstance(network, SmallTransformerSetting) else {}
    return _few_texts(network) | words


def _small_case(case: Case) -> dict[str, Any]:
    """Shorten a case to a few steps, and one rate of every optimiser."""
    return SHORT | {
        "network": _small_network(case.network),
        "batch_size": "full" if case.batch_size == "full" else 4,
        "rates": {optimiser: rates[:1] for optimiser, rates in case.rates.items()},
    }


def _short_training(training: TrainingSetting | None) -> dict[str, Any] | None:
    return None if training is None else SHORT | {"batch_size": 4}


def _small_pairs(pairs: Pairs) -> dict[str, Any]:
    return {
        "seeds": [1],
        "drawn": _few_texts(pairs.drawn),
        "words": 12,
        "length": 8,
        "cases": {name: _small_pair(case) for name, case in pairs.cases.items()},
    }


def _small_pair(case: PairCase) -> dict[str, Any]:
    return {
        "depths": [2],
        "deviations": case.deviations[:2],
        "measuring": MEASURING | {"curved": case.measuring.curved},
        "masked": _short_training(case.masked),
        "tunings": {name: _short_training(each) for name, each in case.tunings.items()},
    }
