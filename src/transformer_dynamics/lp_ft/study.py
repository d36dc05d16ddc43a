"""Linear probing then fine-tuning: the study's settings and jobs."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from random import Random
from typing import Annotated, Any, Self

from pydantic import model_validator

from replication.base.strict import REMOVABLE, Name, Strict, unknown_key
from replication.plan.configuration import Computation
from replication.study.contract import Experiment, Figure, FiguresOf, Job, StudySettings
from replication.study.seeds import Seeds, seed_list
from transformer_dynamics.encoders.settings import (
    EncoderChoice,
    EncoderJob,
    FeatureJob,
    TextChoice,
    TextJob,
    TextName,
    TextNumbers,
    refuse_without_folder,
)
from transformer_dynamics.lp_ft.needs import (
    encoder_need,
    feature_need,
    head_control_need,
    kernel_need,
    run_metric_need,
    run_need,
    split_sizes,
    start_metric_need,
    token_need,
)
from transformer_dynamics.lp_ft.settings.grids import Grid, Rate, SharedSettings, run_jobs
from transformer_dynamics.lp_ft.settings.labels import (
    ENCODER_LABELS,
    METHOD_LABELS,
    SET_LABELS,
    set_label,
)
from transformer_dynamics.lp_ft.settings.metrics import (
    CalibrationMetricJob,
    FeatureMetricJob,
    HeadMetricJob,
    KernelMetricJob,
    MetricJob,
    Metrics,
    RegressionMetricJob,
    SpectrumMetricJob,
    StartFingerprintJob,
    TsneMetricJob,
)
from transformer_dynamics.lp_ft.settings.runs import Adapters, Method, ProbeSettings, Training
from transformer_dynamics.lp_ft.settings.samples import (
    SMALL_TEST_SETS,
    DrawnJob,
    drawing_seed,
)
from transformer_dynamics.lp_ft.settings.start import (
    HeadControl,
    HeadControlJob,
    KernelJob,
    Kernels,
)

NAMES = {**SET_LABELS, **METHOD_LABELS, **ENCODER_LABELS, "pretrained": "pre-trained"}
ENCODER = "encoder"
"""Name of the data that have the parameters of the encoder."""
METRICS = ("accuracy", "head_rows", "norm", "validation", "delta", "fingerprint")
"""Metrics of every experiment with trained runs, besides those with settings of their own."""
DATA = "transformer_dynamics.encoders.data"
GAPS = ("*",)
"""Arrays of runs that may be not finite: metrics count runs that diverged."""


class Settings(StudySettings):
    """Linear probing then fine-tuning of pretrained encoders, and its kernel."""

    encoder: EncoderChoice
    """Encoder that is fine-tuned."""
    sets: Annotated[dict[TextName, TextNumbers], REMOVABLE]
    """Samples that are drawn of each set."""
    probe: ProbeSettings
    """Settings of linear probing."""
    adapters: Adapters
    """Settings of LoRA."""
    training: Training
    """Random head, and steps of all methods but LP."""
    metrics: Metrics
    """Numbers of metrics of runs, kernels and heads."""
    rates: dict[TextName, dict[Method, Rate]]
    """Rates chosen by set and method, on validation samples of a seed that is not judged."""
    seeds: Seeds
    """Seeds of all experiments that do not have their own."""
    experiments: Annotated[dict[Name, Grid], REMOVABLE]
    """Trained runs by name; `null` in an overlay removes an experiment."""
    kernels: Kernels
    """Explicit kernels at the start of fine-tuning."""
    fresh_kernels: Annotated[dict[TextName, Seeds], REMOVABLE] = {}
    """Seeds of further draws of kernels, which judge claims; `fresh_kernels_<set>` is the
    experiment of each set."""
    head_control: HeadControl
    """FT ratios of heads with either direction and either norm."""
    figures: Annotated[dict[str, Figure], FiguresOf(__package__)]
    """Figures by name: `figures/lp_ft/<name>.pdf`."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        refuse_without_folder(self.sets)
        for name, numbers in self.sets.items():
            if (numbers.train is None) != (numbers.validation is None):
                raise ValueError(f"sets > {name}: give both train and validation, or none of them")
        for key, inside, texts in (
            ("kernels", " > texts", self.kernels.texts),
            ("fresh_kernels", "", self.fresh_kernels),
            ("head_control", " > texts", self.head_control.texts),
        ):
            for name in texts:
                if name not in self.sets:
                    raise ValueError(f"{key}{inside}: {unknown_key(name, [*self.sets])}")
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
        shared = {} if grid.encoder else self.rates.get(name, {})
        known = {*shared, *grid.texts[name].rates, *grid.rates, "lp"}
        for method in grid.methods:
            if method not in known:
                place = "rates here" if grid.encoder else f"rates > {name}"
                raise ValueError(f"{where}: {method} has no rate; add {place} > {method}")
        lists = {f"rates of {method}": rates for method, rates in grid.rates.items()}
        lists |= {"factors": grid.factors, "clips": [each or 0 for each in grid.clips]}
        for what, numbers in lists.items():
            if len({f"{number:g}" for number in numbers}) < len(numbers):
                raise ValueError(f"{where}: two {what} have the same first six digits")

    def choice(self, name: TextName) -> TextChoice:
        """Return the samples to draw of a set, with its files."""
        return TextChoice(name=name, **self.sets[name].model_dump())

    def shared_settings(self, computation: Computation) -> SharedSettings:
        """Return the settings that runs of all experiments share, without folders of files."""
        return SharedSettings(
            encoder=self.encoder.name,
            texts={
                name: self.choice(name).model_copy(update={"folder": None}) for name in self.sets
            },
            rates=self.rates,
            training=self.training,
            probe=self.probe.choice,
            adapters=self.adapters,
            device=computation.device,
        )


def counted(settings: Settings) -> list[str]:
    """Return the labels of small sets that are whole, as in the paper: these count for verdicts."""
    whole = (name for name, numbers in settings.sets.items() if numbers.train is None)
    return [set_label(name) for name in whole if name in SMALL_TEST_SETS]


def experiments(settings: Settings, computation: Computation) -> dict[str, Experiment]:
    """Return the experiments with trained runs, and those at the start of fine-tuning."""
    shared = settings.shared_settings(computation)
    trained = {
        name: _training_experiment(settings, grid, shared)
        for name, grid in settings.experiments.items()
    }
    return trained | _start_experiments(settings, shared)


def _training_experiment(settings: Settings, grid: Grid, shared: SharedSettings) -> Experiment:
    seeds = seed_list(settings.seeds if grid.seeds is None else grid.seeds)
    encoder, prefix = settings.encoder, ""
    if grid.encoder:
        # Texts have other tokens under another encoder, and its data a name of their own.
        encoder, prefix = grid.encoder, f"{grid.encoder.name}-"
        shared = shared.model_copy(update={"encoder": encoder.name, "rates": {}})
    jobs = run_jobs(grid, shared)
    needs = {name: run_need(job) for name, job in jobs.items()}
    sets = list(dict.fromkeys(name for job in jobs.values() for name in job.sets))
    plain, numbers = MetricJob(runs=jobs, sets=sets), settings.metrics
    drawn = sets_and_seeds([settings.choice(name) for name in grid.texts], seeds)
    read = (*data_names(sets, prefix), *(drawn_name(*each, prefix) for each in drawn))
    metrics: dict[str, MetricJob] = {
        "features": FeatureMetricJob(**dict(plain), ridge=numbers.ridge),
        "calibration": CalibrationMetricJob(
            **dict(plain), bins=numbers.bins, resamples=numbers.resamples
        ),
        **dict.fromkeys(METRICS, plain),
    }
    if grid.tsne:
        metrics["tsne"] = TsneMetricJob(**dict(plain), **dict(grid.tsne))
    return Experiment(
        data=data_jobs(settings, shared, sets, drawn, prefix, encoder),
        runs={
            f"{name}-{seed}": Job(
                "training.runs", job, (seed,),
                run_data_names(job.sets, job.texts, seed, prefix)
                + ((prefix + ENCODER,) if job.tuning else ()),
                gaps=GAPS, **needs[name]._asdict(),
            )
            for name, job in jobs.items()
            for seed in seeds
        },
        metrics={
            metric: run_metric_need(
                metric, jobs.values(), sets, len(seeds), numbers.resamples,
                grid.tsne.texts if grid.tsne and metric == "tsne" else None,
            ).asked_by(Job(f"metrics.runs.{metric}", job, reads=read))
            for metric, job in metrics.items()
        },
    )  # fmt: skip


def _start_experiments(settings: Settings, shared: SharedSettings) -> dict[str, Experiment]:
    """Return experiments with kernels, and with heads by direction and norm, set by set."""
    kernels = {
        f"kernels_{name}": _kernel_experiment(settings, shared, name, settings.seeds)
        for name in settings.kernels.texts
    }
    fresh = {
        f"fresh_kernels_{name}": _kernel_experiment(settings, shared, name, seeds)
        for name, seeds in settings.fresh_kernels.items()
    }
    heads = {
        f"head_control_{name}": _head_experiment(settings, shared, name)
        for name in settings.head_control.texts
    }
    return kernels | fresh | heads


def _kernel_experiment(
    settings: Settings, shared: SharedSettings, name: TextName, seeds: Seeds
) -> Experiment:
    kernels = settings.kernels
    job = KernelJob(
        **_start_settings(shared, name), samples=kernels.samples,
        test_samples=kernels.test_samples, adapters=shared.adapters, draws=kernels.draws,
    )  # fmt: skip
    plain = KernelMetricJob(runs=job)
    spectra = SpectrumMetricJob(runs=job, rank_tolerance=settings.metrics.rank_tolerance)
    metrics: dict[str, Strict] = {
        "kernel_sizes": spectra,
        "kernel_spectra": spectra,
        "kernel_blocks": plain,
        "ft_ratio": plain,
        "adapters": plain,
        "kernel_regression": RegressionMetricJob(runs=job, **dict(kernels.regression)),
        "fingerprint": StartFingerprintJob(runs=job),
    }
    run = kernel_need(job).asked_by(Job("training.kernels", job))
    return _start_experiment(settings, shared, name, seeds, run, metrics)


def _head_experiment(settings: Settings, shared: SharedSettings, name: TextName) -> Experiment:
    job = HeadControlJob(**_start_settings(shared, name), samples=settings.head_control.samples)
    metrics: dict[str, Strict] = {
        "head_control": HeadMetricJob(runs=job, long_probe=settings.metrics.long_probe),
        "fingerprint": StartFingerprintJob(runs=job),
    }
    run = head_control_need(job).asked_by(Job("training.head_control", job))
    return _start_experiment(settings, shared, name, settings.seeds, run, metrics)


def _start_settings(shared: SharedSettings, name: TextName) -> dict[str, Any]:
    return {
        "encoder": shared.encoder,
        "texts": shared.texts[name],
        "head_deviation": shared.training.head_deviation,
        "strengths": shared.probe.strengths,
        "folds": shared.probe.folds,
        "tolerance": shared.probe.tolerance,
        "device": shared.device,
    }


def _start_experiment(
    settings: Settings,
    shared: SharedSettings,
    name: TextName,
    drawn: Seeds,
    run: Job,
    metrics: Mapping[str, Strict],
) -> Experiment:
    """Return a run for each seed, which reads one set, and the metrics of all of them."""
    choice, seeds = settings.choice(name), seed_list(drawn)
    regression = settings.kernels.regression
    fits = len(regression.strengths) * (regression.folds + 1)
    return Experiment(
        data=data_jobs(settings, shared, [name], sets_and_seeds([choice], seeds)),
        runs={
            str(seed): run._replace(
                seeds=(seed,), reads=(*run_data_names([name], choice, seed), ENCODER)
            )
            for seed in seeds
        },
        metrics={
            metric: start_metric_need(metric, run.settings, len(seeds), fits).asked_by(
                Job(f"metrics.start.{metric}", job)
            )
            for metric, job in metrics.items()
        },
    )


def data_jobs(
    settings: Settings,
    shared: SharedSettings,
    sets: Sequence[TextName],
    drawn: Sequence[tuple[TextName, int]],
    prefix: str = "",
    encoder: EncoderChoice | None = None,
) -> dict[str, Job]:
    """Return the jobs of all data that runs read, by name, all with the prefix.

    `drawn` are sets with seeds that draw samples of them. The encoder is by default that of all
    experiments.
    """
    encoder = encoder or settings.encoder
    read_encoder = Job(f"{DATA}.encoder", EncoderJob(encoder=encoder.name), reads=encoder.sources)
    jobs = {prefix + ENCODER: encoder_need(encoder.name).asked_by(read_encoder)}
    for name in sets:
        choice, split = settings.choice(name), split_sizes(settings.choice(name))
        files = (*encoder.sources, *choice.sources)
        whole = {"encoder": encoder.name, "texts": name, "length": choice.length}
        tokens, tests = data_names([name], prefix)
        jobs[tokens] = token_need(encoder.name, name, choice.length).asked_by(
            Job(f"{DATA}.tokens", TextJob(**whole), reads=files)
        )
        jobs[tests] = feature_need(encoder.name, choice, split.test, shared.device).asked_by(
            Job("data.features_of_tests", FeatureJob(**whole, device=shared.device), reads=files)
        )
        drawn_job = DrawnJob(
            encoder=encoder.name,
            texts=choice.model_copy(update={"folder": None}),
            device=shared.device,
        )
        drawn_texts = split.train + split.validation
        job = feature_need(encoder.name, choice, drawn_texts, shared.device).asked_by(
            Job("data.drawn_features", drawn_job, reads=files)
        )
        for seed in (seed for each, seed in drawn if each == name):
            jobs[drawn_name(name, seed, prefix)] = job._replace(seeds=(seed,))
    return jobs


def data_names(sets: Sequence[TextName], prefix: str = "") -> tuple[str, ...]:
    """Return the names of the data of some sets: tokens and test features of each in turn."""
    return tuple(f"{prefix}{kind}-{name}" for name in sets for kind in ("tokens", "features"))


def sets_and_seeds(
    choices: Iterable[TextChoice], seeds: Iterable[int]
) -> list[tuple[TextName, int]]:
    """Return the names of sets with the seeds that draw samples of them, each pair once."""
    pairs = ((each.name, drawing_seed(each, seed)) for each, seed in product(choices, seeds))
    return [*dict.fromkeys(pairs)]


def drawn_name(name: TextName, seed: int, prefix: str = "") -> str:
    """Return the name of the features of the samples that a seed draws of a set."""
    return f"{prefix}features-{name}-{seed}"


def run_data_names(
    sets: Sequence[TextName], choice: TextChoice, seed: int, prefix: str = ""
) -> tuple[str, ...]:
    """Return the names of the data that a run reads, except the encoder, all with the prefix.

    `sets` are the run's set, and others to test on.
    """
    drawn = drawn_name(choice.name, drawing_seed(choice, seed), prefix)
    return (*data_names(sets, prefix), drawn)


def one_seed(settings: Settings, random: Random) -> dict[str, Any]:
    """Return an overlay that keeps one seed, and one value in each list of trained runs."""
    return {
        "seeds": [random.choice(seed_list(settings.seeds))],
        "experiments": {
            name: _one_value(grid, random) for name, grid in settings.experiments.items()
        },
        "fresh_kernels": {
            name: [random.choice(seed_list(seeds))]
            for name, seeds in settings.fresh_kernels.items()
        },
    }


def _one_value(grid: Grid, random: Random) -> dict[str, Any]:
    """Return an overlay that keeps one value in each list of an experiment."""
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


def smallest(settings: Settings, folder: Path) -> dict[str, Any]:
    """Write an encoder of width 8 and made-up texts, and return an overlay that uses them.

    It has two seeds and a few steps; the encoder is untrained.
    """
    from transformer_dynamics.encoders.artificial import write_encoder, write_texts

    numbers = {"length": 12, "train": 20, "validation": 8}
    short = {"epochs": None, "steps": 2}
    # What is done with several seeds is the same for all; the main runs have two.
    one = {"equal_rate", "head_length", "scale", "scale_sgd", "scale_ood"}
    encoder = {"folder": write_encoder(folder / "encoder")}
    return {
        "encoder": encoder,
        "sets": {
            name: numbers | {"folder": write_texts(folder / name, name)} for name in settings.sets
        },
        "probe": {"steps": 20, "points": 5},
        "metrics": {"resamples": 20},
        "seeds": [1, 2],
        "experiments": {
            name: {
                "texts": dict.fromkeys(grid.texts, short),
                "factors": grid.factors[:2],
                "rates": {method: rates[:1] for method, rates in grid.rates.items()},
                **({"tsne": {"perplexity": 4}} if grid.tsne else {}),
                **({"encoder": encoder} if grid.encoder else {}),
                **({} if "tuning" in name else {"seeds": [1] if name in one else None}),
            }
            for name, grid in settings.experiments.items()
        },
        "kernels": {
            "samples": 8,
            "test_samples": 4,
            "draws": 2,
            "regression": {"strengths": [0.1, 10.0], "folds": 2},
        },
        "fresh_kernels": {name: [1, 2] for name in settings.fresh_kernels},
        "head_control": {"samples": 8},
    }
