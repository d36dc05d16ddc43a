"""Gradient heterogeneity: what is computed, and how."""

from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

from replication.plan.configuration import Computation
from replication.study.contract import Experiment, Job
from replication.study.seeds import Seeds, batches, seed_list
from transformer_dynamics.encoders.cost import training_operations
from transformer_dynamics.encoders.settings import (
    EncoderJob,
    TextJob,
    TextName,
)
from transformer_dynamics.gradient_heterogeneity.configuration import (
    HEADS,
    HETEROGENEITY,
    PAIRS,
    Heads,
    Settings,
)
from transformer_dynamics.gradient_heterogeneity.grid_settings import (
    Case,
    Drawn,
    Grid,
    Network,
    OfWords,
    arms,
)
from transformer_dynamics.gradient_heterogeneity.head_settings import HeadsJob
from transformer_dynamics.gradient_heterogeneity.measure_settings import (
    MeasureCoordinates,
    MeasureEndpoint,
    MeasureHeads,
    MeasureJob,
)
from transformer_dynamics.gradient_heterogeneity.measured_grid_settings import (
    Heterogeneity,
    PairCase,
    Pairs,
    measured_arms,
    pair_arms,
)
from transformer_dynamics.gradient_heterogeneity.measured_settings import (
    MeasuredJob,
    MeasuredRuns,
    PairJob,
)
from transformer_dynamics.gradient_heterogeneity.net_settings import (
    NETWORKS,
    ImageNet,
    ImagesJob,
    NetChoice,
    NetworkJob,
    OfImages,
    TextNet,
    TinyNet,
    WordsJob,
)
from transformer_dynamics.gradient_heterogeneity.run_settings import Plain, RunJob

METRICS = ("curves", "endpoint", "accuracy", "heads", "step_directions", "fingerprint")
"""Of every experiment with trained networks."""
COORDINATES = "coordinates"
"""Metric of those whose blocks have coordinates or rates of their own."""
ENCODERS = "transformer_dynamics.encoders.data"
GAPS = ("*",)
"""Arrays of runs: a training that is lost goes on as NaN, and so does what is not known. Metrics
count the one and leave out the other."""
SMALL = {"train": 24, "validation": 8}
"""Samples of texts at the smallest scale."""
SHORT = {"steps": 3, "slice": 8, "points": 2}
"""Training at the smallest scale."""
MEASURING = {"batches": 2, "size": 4, "products": 2}
"""Measurements at the smallest scale."""
MADE_UP: dict[TextName, TextName] = {
    "cola": "cr",
    "rte": "cb",
    "banking77": "sst2_sentences",
}
"""Sets that can be made up, in the place of those that cannot."""


def experiments(settings: Settings, computation: Computation) -> dict[str, Experiment]:
    """Trained networks, heads on features that stay, and measured networks."""
    known = settings.known(computation)
    measured = measured_arms(settings.heterogeneity, known)
    pairs = pair_arms(settings.pairs, known)
    made = {
        name: _trained(settings, grid, arms(grid, known))
        for name, grid in settings.experiments.items()
    }
    return made | {
        HEADS: _heads(settings, settings.heads, computation),
        HETEROGENEITY: _measured(settings, "measured", measured, settings.heterogeneity.seeds),
        PAIRS: _measured(settings, "pairs", pairs, settings.pairs.seeds),
    }


def operations(job: RunJob) -> float:
    """Floating-point operations of fine-tuning an encoder on batches; 0 of anything else."""
    net, training = job.net, job.training
    if not isinstance(net, TextNet) or training.batch_size == "full":
        return 0.0
    return training_operations(net.net, training.steps * training.batch_size * net.texts.length)


def _trained(settings: Settings, grid: Grid, jobs: dict[str, RunJob]) -> Experiment:
    seeds = settings.seeds_of(grid.seeds)
    measured: dict[str, MeasureJob] = dict.fromkeys(METRICS, MeasureJob(runs=jobs))
    measured["endpoint"] = MeasureEndpoint(runs=jobs, parts=settings.training.parts)
    has_own = any(job.training.exponent or job.training.block_rates for job in jobs.values())
    if has_own:
        measured[COORDINATES] = MeasureCoordinates(runs=jobs, limit=settings.blocks.limit)
    return Experiment(
        data=_data_of(settings, jobs),
        runs={
            f"{arm}-{seed}": Job(
                "runs",
                job,
                (seed,),
                job.net.reads,
                memory=2500,
                minutes=1440,
                gaps=GAPS,
                operations=operations(job),
            )
            for arm, job in jobs.items()
            for seed in seeds
        },
        metrics={metric: Job(f"measures.{metric}", job) for metric, job in measured.items()},
    )


def _measured(
    settings: Settings,
    program: str,
    jobs: Mapping[str, MeasuredJob | PairJob],
    seeds: Seeds | None,
) -> Experiment:
    measured = MeasuredRuns(runs=dict(jobs))
    return Experiment(
        data=_data_of(settings, jobs),
        runs={
            f"{arm}-{seed}": Job(
                program, job, (seed,), job.reads, memory=4000, minutes=1440, gaps=GAPS
            )
            for arm, job in jobs.items()
            for seed in settings.seeds_of(seeds)
        },
        metrics={
            "tensors": Job("measures.tensors", measured),
            "spread": Job("measures.spread", measured),
            "one_step": Job("measures.one_step", measured),
            "fingerprint": Job("measures.measured_fingerprint", measured),
        },
    )


def _data_of(
    settings: Settings, jobs: Mapping[str, RunJob | MeasuredJob | PairJob]
) -> dict[str, Job]:
    return {name: job for made in jobs.values() for name, job in data(settings, made.net).items()}


def data(settings: Settings, net: NetChoice) -> dict[str, Job]:
    """What a network reads, by name.

    Args:
        settings: the study's.
        net: the network, of which `reads` are the names.
    """
    if isinstance(net, ImageNet):
        return {
            "fashion_mnist": Job("data.images", ImagesJob(), reads=settings.files("fashion_mnist")),
            net.net: Job(
                "data.network",
                NetworkJob(network=net.net),
                reads=settings.files(NETWORKS[net.net]),
            ),
        }
    choice = settings.choice(net.texts.name)
    if isinstance(net, TinyNet):
        job = WordsJob(texts=choice.name, words=net.words, length=net.shape.length)
        files = (*settings.files("wikitext2"), *choice.sources)
        return {name: Job("data.words", job, reads=files) for name in net.reads}
    return {"encoder": _encoder(settings)} | of_texts(settings, choice.name, "tokens")


def _encoder(settings: Settings) -> Job:
    encoder = settings.encoder
    return Job(f"{ENCODERS}.encoder", EncoderJob(encoder=encoder.name), reads=encoder.sources)


def of_texts(settings: Settings, name: TextName, *kinds: str) -> dict[str, Job]:
    """Tokens or features of a set.

    Args:
        settings: the study's.
        name: of the set.
        kinds: `tokens`, `features` or both.
    """
    choice = settings.choice(name)
    job = TextJob(encoder=settings.encoder.name, texts=name, length=choice.length)
    files = (*settings.encoder.sources, *choice.sources)
    return {
        f"{kind}-{name}": Job(f"{ENCODERS}.{kind}", job, reads=files, memory=2500, minutes=240)
        for kind in kinds
    }


def _heads(settings: Settings, heads: Heads, computation: Computation) -> Experiment:
    jobs = {
        name: HeadsJob(
            encoder=settings.encoder.name,
            **task.model_dump(),
            **heads.model_dump(exclude={"tasks", "seeds", "optimisers"}),
            optimisers=[
                each.with_averages(settings.training.averages) for each in heads.optimisers
            ],
            head_deviation=settings.networks.head_deviation,
            device=computation.device,
        )
        for name, task in heads.tasks.items()
    }
    kinds = ("tokens", "features")
    parts = batches(seed_list(heads.seeds), computation.seeds_per_job)
    measured = MeasureHeads(runs=jobs)
    return Experiment(
        data={
            name: job
            for task in heads.tasks.values()
            for name, job in of_texts(settings, task.texts, *kinds).items()
        },
        runs={
            f"{name}-{part}": Job(
                "heads", job, seeds, tuple(f"{kind}-{job.texts}" for kind in kinds), minutes=240
            )
            for name, job in jobs.items()
            for part, seeds in parts.items()
        },
        metrics={
            "heads": Job(
                "measures.head_drift", measured, reads=tuple(f"tokens-{n}" for n in measured.texts)
            ),
            "fingerprint": Job("measures.head_fingerprint", measured),
        },
    )


def one_seed(settings: Settings, random: Random) -> dict[str, Any]:
    """One seed; of every experiment, one case, and of that, one optimiser at one rate."""

    def only(names: list[str]) -> dict[str, Any]:
        """All but one removed."""
        return dict.fromkeys(names) | {random.choice(names): {}}

    def own_seed(seeds: Seeds | None) -> dict[str, Any]:
        """One of an experiment's own seeds, if it has any."""
        return {} if seeds is None else {"seeds": [random.choice(seed_list(seeds))]}

    def one_case(grid: Grid) -> dict[str, Any]:
        """One optimiser at one rate of one case."""
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
        return {"cases": cases} | own_seed(grid.seeds)

    def one_of(grid: Heterogeneity) -> dict[str, Any]:
        """One case of what is measured."""
        return own_seed(grid.seeds) | {"cases": only([*grid.cases])}

    def one_pair(grid: Pairs) -> dict[str, Any]:
        """One depth and one deviation of one case."""
        name, case = random.choice([*grid.cases.items()])
        chosen = {
            "depths": [random.choice(case.depths)],
            "deviations": [random.choice(case.deviations)],
        }
        return own_seed(grid.seeds) | {"cases": dict.fromkeys(grid.cases) | {name: chosen}}

    return {
        "seeds": [random.choice(seed_list(settings.seeds))],
        "experiments": {name: one_case(grid) for name, grid in settings.experiments.items()},
        "heads": {
            "tasks": only([*settings.heads.tasks]),
            "seeds": [random.choice(seed_list(settings.heads.seeds))],
        },
        "heterogeneity": one_of(settings.heterogeneity),
        "pairs": one_pair(settings.pairs),
    }


def smallest(settings: Settings, folder: Path) -> dict[str, Any]:
    """A few steps of untrained networks on made-up samples; two seeds, of what is costly one."""
    return _files(settings, folder) | {
        "seeds": [1, 2],
        "figures": {"fig8": {"draws": 30, "descents": 8}},
        "experiments": {
            experiment: {"cases": {name: _small(case) for name, case in grid.cases.items()}}
            | ({} if grid.seeds is None else {"seeds": seed_list(grid.seeds)[:2]})
            for experiment, grid in settings.experiments.items()
        },
        "heads": {
            "tasks": dict.fromkeys(settings.heads.tasks)
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
        },
        "heterogeneity": {
            "seeds": [1],
            "measuring": MEASURING,
            "cases": {
                name: {"network": _small_network(case.network), "tuning": _brief(case.tuning)}
                for name, case in settings.heterogeneity.cases.items()
            },
        },
        "pairs": {
            "seeds": [1],
            "drawn": _few(settings.pairs.drawn),
            "words": 12,
            "length": 8,
            "cases": {name: _small_pairs(case) for name, case in settings.pairs.cases.items()},
        },
    }


def _files(settings: Settings, folder: Path) -> dict[str, Any]:
    """Everything that is read, made up in a folder."""
    from transformer_dynamics.encoders.made_up import write_encoder, write_texts
    from transformer_dynamics.gradient_heterogeneity import made_up

    made: tuple[TextName, ...] = ("trec6", *MADE_UP.values())
    return {
        "encoder": {"folder": write_encoder(folder / "encoder")},
        "sets": dict.fromkeys(settings.sets)
        | {name: {"length": 12, "folder": write_texts(folder / name, name)} for name in made}
        | {"banking77": {"length": 12, "folder": made_up.write_banking77(folder / "banking77")}},
        "folders": {
            "fashion_mnist": made_up.write_images(folder / "images"),
            "efficientnet_lite0": made_up.write_efficientnet(folder / "efficientnet"),
            "vit_s": made_up.write_vit(folder / "vit"),
            "wikitext2": made_up.write_running(folder / "running"),
        },
    }


def _few(drawn: Drawn) -> dict[str, Any]:
    return SMALL | {"texts": MADE_UP.get(drawn.texts, "trec6")}


def _small_network(chosen: Network) -> dict[str, Any]:
    if isinstance(chosen, OfImages):
        size = 32 if chosen.net == "efficientnet" else 28
        return {"size": size, "train": 20, "validation": 4, "test": 6}
    shape = {"depth": 1, "width": 8, "heads": 2, "length": 8}
    words = {"shape": shape, "words": 12} if isinstance(chosen, OfWords) else {}
    return _few(chosen) | words


def _small(case: Case) -> dict[str, Any]:
    """One rate of every optimiser."""
    return SHORT | {
        "network": _small_network(case.network),
        "batch_size": "full" if case.batch_size == "full" else 4,
        "rates": {optimiser: rates[:1] for optimiser, rates in case.rates.items()},
    }


def _brief(training: Plain | None) -> dict[str, Any] | None:
    return None if training is None else SHORT | {"batch_size": 4}


def _small_pairs(case: PairCase) -> dict[str, Any]:
    return {
        "depths": [2],
        "deviations": case.deviations[:2],
        "measuring": MEASURING | {"curved": case.measuring.curved},
        "masked": _brief(case.masked),
        "tunings": {name: _brief(each) for name, each in case.tunings.items()},
    }
