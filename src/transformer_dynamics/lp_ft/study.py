"""Linear probing then fine-tuning: what is computed, and how."""

from pathlib import Path
from random import Random
from typing import Annotated, Any, Self

from pydantic import model_validator

from replication.base.strict import REMOVABLE, Name, unknown_key
from replication.plan.configuration import Computation
from replication.study.contract import Experiment, Figure, FiguresOf, Job, StudySettings
from replication.study.seeds import Seeds, seed_list
from transformer_dynamics.encoders.cost import training_operations
from transformer_dynamics.encoders.settings import (
    EncoderChoice,
    EncoderJob,
    TextChoice,
    TextJob,
    TextName,
    TextNumbers,
)
from transformer_dynamics.lp_ft.figures.labels import ENCODERS, METHODS, SETS
from transformer_dynamics.lp_ft.grid_settings import Grid, Rate, Shared, arms
from transformer_dynamics.lp_ft.kernel_experiments import (
    head_control_experiment,
    kernel_experiment,
)
from transformer_dynamics.lp_ft.kernel_settings import (
    HeadControl,
    HeadControlJob,
    KernelJob,
    Kernels,
)
from transformer_dynamics.lp_ft.measure_settings import MeasureJob, PlaneJob
from transformer_dynamics.lp_ft.run_settings import Adapters, Method, ProbeChoice, RunJob

NAMES = {**SETS, **METHODS, **ENCODERS, "pretrained": "pre-trained"}
ENCODER = "encoder"
"""Name of the data that have its parameters."""
METRICS = (
    "features", "accuracy", "calibration", "head_rows", "norm", "validation", "delta",
    "fingerprint",
)  # fmt: skip
"""Of every experiment with trained runs."""
DATA = "transformer_dynamics.encoders.data"
GAPS = ("*",)
"""Arrays of runs: what a fine-tuning that diverged leaves is counted by metrics."""
PUBLISHED: dict[TextName, int] = {
    "cb": 250, "rte": 2490, "cola": 8551, "sst2": 67349, "mrpc": 3668, "trec6": 5452, "cr": 2775,
    "sst2_sentences": 6920, "sst5": 8544, "subj": 9000, "banking77": 10003, "clinc150": 15000,
}  # fmt: skip
"""Training samples that there are, about."""


class Settings(StudySettings):
    """Linear probing then fine-tuning of pretrained encoders, and what the kernel says of it."""

    encoder: EncoderChoice
    """What is fine-tuned."""
    sets: Annotated[dict[TextName, TextNumbers], REMOVABLE]
    """What is drawn of each set."""
    probe: ProbeChoice
    """Linear probing."""
    adapters: Adapters
    """LoRA."""
    rates: dict[TextName, dict[Method, Rate]]
    """What was chosen, on validation samples of a seed that is not judged."""
    seeds: Seeds
    """Of all experiments that do not have their own."""
    experiments: Annotated[dict[Name, Grid], REMOVABLE]
    """Trained runs by name; `null` in an overlay removes an experiment."""
    kernels: Kernels
    """Explicit kernels at the start of fine-tuning."""
    head_control: HeadControl
    """FT ratios of heads with either direction and either norm."""
    figures: Annotated[dict[str, Figure], FiguresOf(__package__)]
    """The figures by name: `figures/lp_ft/<name>.pdf`."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        for name, numbers in self.sets.items():
            if (numbers.train is None) != (numbers.validation is None):
                raise ValueError(f"sets > {name}: give both train and validation, or none of them")
        for key, chosen in (("kernels", self.kernels), ("head_control", self.head_control)):
            for name in chosen.texts:
                if name not in self.sets:
                    raise ValueError(f"{key} > texts: {unknown_key(name, [*self.sets])}")
                if f"{key}_{name}" in self.experiments:
                    raise ValueError(f"experiments > {key}_{name}: has a meaning; rename it")
        for experiment, grid in self.experiments.items():
            for name, length in grid.texts.items():
                where = f"experiments > {experiment} > texts > {name}"
                if name in length.others:
                    raise ValueError(f"{where} > others: {name} is no other set; leave it out")
                for each in (name, *length.others):
                    if each not in self.sets:
                        raise ValueError(f"{where}: {unknown_key(each, [*self.sets])}")
                self._check_rates(where, grid, name)
        return self

    def _check_rates(self, where: str, grid: Grid, name: TextName) -> None:
        known = {*self.rates.get(name, {}), *grid.rates, "lp"}
        for method in grid.methods:
            if method not in known:
                raise ValueError(f"{where}: {method} has no rate; add rates > {name} > {method}")
        lists = {f"rates of {method}": rates for method, rates in grid.rates.items()}
        lists |= {"factors": grid.factors, "clips": [each or 0 for each in grid.clips]}
        for what, numbers in lists.items():
            if len({f"{number:g}" for number in numbers}) < len(numbers):
                raise ValueError(f"{where}: two {what} have the same first six digits")

    def choice(self, name: TextName) -> TextChoice:
        """A set with its files."""
        return TextChoice(name=name, **self.sets[name].model_dump())

    def shared(self, computation: Computation) -> Shared:
        """What the runs of all experiments share; where files are does not matter to them."""
        return Shared(
            encoder=self.encoder.name,
            texts={
                name: self.choice(name).model_copy(update={"folder": None}) for name in self.sets
            },
            rates=self.rates,
            probe=self.probe,
            adapters=self.adapters,
            device=computation.device,
        )


def experiments(settings: Settings, computation: Computation) -> dict[str, Experiment]:
    """The experiments with trained runs, and those at the start of fine-tuning."""
    shared = settings.shared(computation)
    trained = {
        name: _trained(settings, grid, arms(grid, shared))
        for name, grid in settings.experiments.items()
    }
    return trained | _at_start(settings, shared)


def operations(job: RunJob) -> float:
    """Floating-point operations of fine-tuning, from the multiplications of its matrix products."""
    if job.tuning is None:
        return 0.0
    texts, schedule = job.texts, job.tuning.schedule
    samples = texts.train or int(texts.kept * PUBLISHED[texts.name])
    return training_operations(
        job.encoder, schedule.total(samples) * schedule.batch_size * texts.length
    )


def _trained(settings: Settings, grid: Grid, jobs: dict[str, RunJob]) -> Experiment:
    seeds = seed_list(settings.seeds if grid.seeds is None else grid.seeds)
    sets = list(dict.fromkeys(name for job in jobs.values() for name in job.sets))
    measured = MeasureJob(runs=jobs, sets=sets)
    metrics: dict[str, MeasureJob] = dict.fromkeys(METRICS, measured)
    if grid.tsne:
        metrics["tsne"] = PlaneJob(**dict(measured), **dict(grid.tsne))
    return Experiment(
        data=data(settings, sets),
        runs={
            f"{arm}-{seed}": Job(
                "runs",
                job,
                (seed,),
                reads(job),
                memory=2500,
                minutes=1440,
                gaps=GAPS,
                operations=operations(job),
            )
            for arm, job in jobs.items()
            for seed in seeds
        },
        metrics={
            metric: Job(f"measures.{metric}", given, reads=of_sets(sets), minutes=120)
            for metric, given in metrics.items()
        },
    )


def _at_start(settings: Settings, shared: Shared) -> dict[str, Experiment]:
    """Kernels, and heads by direction and norm, set by set."""
    seeds = seed_list(settings.seeds)

    def start(name: TextName) -> dict[str, Any]:
        return {
            "encoder": shared.encoder,
            "texts": shared.texts[name],
            "strengths": shared.probe.strengths,
            "device": shared.device,
        }

    kernels, control = settings.kernels, settings.head_control
    found = {}
    for name in kernels.texts:
        job = KernelJob(
            **start(name),
            samples=kernels.samples,
            test_samples=kernels.test_samples,
            adapters=shared.adapters,
            draws=kernels.draws,
        )
        own = data(settings, [name])
        found[f"kernels_{name}"] = kernel_experiment(job, kernels.regression, seeds, own)
    for name in control.texts:
        heads = HeadControlJob(**start(name), samples=control.samples)
        own = data(settings, [name])
        found[f"head_control_{name}"] = head_control_experiment(heads, seeds, own)
    return found


def data(settings: Settings, sets: list[TextName]) -> dict[str, Job]:
    """Tokens and features of some sets, and the encoder last, as runs read them.

    Args:
        settings: the study's.
        sets: names of the sets.
    """
    encoder, made = settings.encoder, {}
    for name in sets:
        choice = settings.choice(name)
        job = TextJob(encoder=encoder.name, texts=name, length=choice.length)
        files = (*encoder.sources, *choice.sources)
        for kind in ("tokens", "features"):
            made[f"{kind}-{name}"] = Job(
                f"{DATA}.{kind}", job, reads=files, memory=2500, minutes=240
            )
    whole = EncoderJob(encoder=encoder.name)
    return made | {ENCODER: Job(f"{DATA}.encoder", whole, reads=encoder.sources)}


def of_sets(sets: list[TextName]) -> tuple[str, ...]:
    """Names of the data of some sets: tokens and features of each in turn."""
    return tuple(f"{kind}-{name}" for name in sets for kind in ("tokens", "features"))


def reads(job: RunJob) -> tuple[str, ...]:
    """Names of the data that a run reads."""
    return (*of_sets(job.sets), *((ENCODER,) if job.tuning else ()))


def one_seed(settings: Settings, random: Random) -> dict[str, Any]:
    """One of the seeds of every experiment, and one of the values in each list of trained runs."""

    def one(grid: Grid) -> dict[str, Any]:
        # The set of `tsne` must stay.
        texts = grid.tsne.texts if grid.tsne else random.choice([*grid.texts])
        own = {} if grid.seeds is None else {"seeds": [random.choice(seed_list(grid.seeds))]}
        return own | {
            "texts": dict.fromkeys(grid.texts) | {texts: {}},
            "rates": {method: [random.choice(rates)] for method, rates in grid.rates.items()},
            "norms": [random.choice(grid.norms)],
            "factors": [random.choice(grid.factors)],
            "clips": [random.choice(grid.clips)],
        }

    return {
        "seeds": [random.choice(seed_list(settings.seeds))],
        "experiments": {name: one(grid) for name, grid in settings.experiments.items()},
    }


def smallest(settings: Settings, folder: Path) -> dict[str, Any]:
    """A few steps of an untrained encoder of width 8 on made-up texts, two seeds."""
    from transformer_dynamics.encoders.made_up import write_encoder, write_texts

    numbers = {"length": 12, "train": 20, "validation": 8}
    short = {"epochs": None, "steps": 2}
    # What is done with several seeds is the same for all; the main runs have two.
    one = {"equal_rate", "head_length", "scale", "scale_sgd", "scale_ood"}
    return {
        "encoder": {"folder": write_encoder(folder / "encoder")},
        "sets": {
            name: numbers | {"folder": write_texts(folder / name, name)} for name in settings.sets
        },
        "probe": {"steps": 20, "points": 5},
        "seeds": [1, 2],
        "experiments": {
            name: {
                "texts": dict.fromkeys(grid.texts, short),
                "factors": grid.factors[:2],
                "rates": {method: rates[:1] for method, rates in grid.rates.items()},
                **({"tsne": {"perplexity": 4}} if grid.tsne else {}),
                **({"seeds": [1]} if name in one else {}),
            }
            for name, grid in settings.experiments.items()
        },
        "kernels": {
            "samples": 8,
            "test_samples": 4,
            "draws": 2,
            "regression": {"strengths": [0.1, 10.0], "folds": 2},
        },
        "head_control": {"samples": 8},
    }
