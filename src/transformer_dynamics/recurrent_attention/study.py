"""Recurrent attention and its Jacobians: what is computed, and how."""

from pathlib import Path
from random import Random
from typing import Any

from replication.plan.configuration import Computation
from replication.study.contract import Experiment, Job
from replication.study.seeds import SeedRange, batches, seed_list
from transformer_dynamics.recurrent_attention.configuration import (
    TOKEN_NORMS,
    TUNING,
    Settings,
    TokenNorms,
)
from transformer_dynamics.recurrent_attention.measure_settings import MeasureJob, WeightsJob
from transformer_dynamics.recurrent_attention.token_norms_settings import (
    METRICS,
    MeasureTokenNormsJob,
)
from transformer_dynamics.recurrent_attention.train_settings import TrainJob
from transformer_dynamics.recurrent_attention.tuning_settings import Candidate, TuningJob

BOARDS = "boards"
"""Name of the data, which all conditions share."""


def experiments(settings: Settings, computation: Computation) -> dict[str, Experiment]:
    """The conditions, and what was tried to choose their rates and strengths."""
    conditions = {
        name: settings.train_job(condition, computation)
        for name, condition in settings.experiments.items()
    }
    made = {name: _condition(settings, computation, name, job) for name, job in conditions.items()}
    return made | {
        TUNING: _tuning(settings, conditions),
        TOKEN_NORMS: _token_norms(settings.token_norms, computation),
    }


def operations(job: TrainJob) -> float:
    """Floating-point operations of the training of one seed, those of its matrix products."""
    training, width, cells = job.training, job.model.width, job.boards.cells
    # Four projections and two products with P; forward, and twice as much backward.
    step = 3 * 2 * cells * (4 * width**2 + 2 * cells * width)
    return job.updates * training.batch_size * training.loops * step


def _condition(
    settings: Settings, computation: Computation, name: str, job: TrainJob
) -> Experiment:
    # All seeds at once: with fewer there is less to gain from the axis of seeds.
    seeds = settings.seeds_of(settings.experiments[name])
    parts = batches(seed_list(seeds), computation.seeds_per_job or settings.seeds.count)
    metrics = {
        metric: Job(
            f"measures.{metric}", MeasureJob(train=job, how=how), reads=(BOARDS,), minutes=240
        )
        for metric, how in settings.measures
        if name in settings.conditions_of.get(metric, [name])
    }
    own = WeightsJob(train=job)
    return Experiment(
        data={BOARDS: _boards(settings)},
        runs={
            part: Job(
                "runs",
                job,
                seeds,
                (BOARDS,),
                memory=2500,
                minutes=1440,
                operations=len(seeds) * operations(job),
            )
            for part, seeds in parts.items()
        },
        metrics=metrics
        | {name: Job(f"measures.{name}", own) for name in ("weights", "fingerprint")},
    )


def _boards(settings: Settings) -> Job:
    return Job("boards.program", settings.boards, reads=settings.boards.sources)


def _tuning(settings: Settings, conditions: dict[str, TrainJob]) -> Experiment:
    names: dict[tuple[TrainJob, tuple[int, ...]], str] = {}
    candidates = []
    for condition, tried in settings.tuning.candidates.items():
        base = conditions[condition]
        own = tuple(seed_list(tried.seeds)) if tried.seeds else (settings.tuning.seed,)
        for rate in tried.learning_rates or ():
            job = base.model_copy(update={"learning_rate": rate})
            names[job, own] = f"{condition}-{_shortest(rate)}"
            candidates.append((condition, "learning_rate", rate, (job, own)))
        for strength in tried.strengths or ():
            if base.penalty:
                penalty = base.penalty.model_copy(update={"strength": strength})
                job = base.model_copy(update={"penalty": penalty})
                names.setdefault((job, own), f"{condition}-lambda{_shortest(strength)}")
                candidates.append((condition, "strength", strength, (job, own)))
    runs = {name: job for (job, _), name in names.items()}
    seeds = {name: own for (_, own), name in names.items()}
    measured = TuningJob(
        candidates=[
            Candidate(run=names[run], condition=condition, quantity=quantity, value=value)
            for condition, quantity, value, run in candidates
        ],
        runs=runs,
        loops=settings.tuning.loops,
    )
    return Experiment(
        data={BOARDS: _boards(settings)},
        runs={
            # A rate at which a training diverges solves no board.
            name: Job(
                "runs",
                job,
                seeds[name],
                (BOARDS,),
                minutes=1440,
                operations=len(seeds[name]) * operations(job),
                gaps=("*",),
            )
            for name, job in runs.items()
        },
        metrics={
            "solved": Job("measures.tuning", measured, reads=(BOARDS,)),
            "fingerprint": Job("measures.tuning_fingerprint", measured),
        },
    )


def _shortest(number: float) -> str:
    """A number as it is written; of two that differ never the same."""
    return repr(number).removesuffix(".0")


def _token_norms(found: TokenNorms, computation: Computation) -> Experiment:
    parts = batches(seed_list(found.seeds), computation.seeds_per_job)
    return Experiment(
        runs={part: Job("token_norms", found.drawn, seeds) for part, seeds in parts.items()},
        metrics={
            metric: Job(
                "measures.token_norms", MeasureTokenNormsJob(runs=found.drawn, metric=metric)
            )
            for metric in METRICS
        },
    )


def one_seed(settings: Settings, random: Random) -> dict[str, Any]:
    """One of the seeds of all conditions, one draw of Figure 1, what is tried for one condition."""

    def one_of(seeds: SeedRange) -> dict[str, int]:
        return {"first": random.choice(seed_list(seeds)), "count": 1}

    candidates = [*settings.tuning.candidates]
    tried = dict.fromkeys(candidates) | {random.choice(candidates): {}}
    seeds = one_of(settings.seeds)
    # Conditions that are compared have the same seeds, and the same one of them.
    own = {each.seeds for each in settings.experiments.values() if each.seeds}
    of_range = {each: one_of(each) for each in sorted(own, key=seed_list)}
    shown = [name for name, figure in settings.figures.items() if hasattr(figure, "seed")]
    return {
        "seeds": seeds,
        "experiments": {
            name: {"seeds": of_range[each.seeds]}
            for name, each in settings.experiments.items()
            if each.seeds
        },
        "figures": {name: {"seed": seeds["first"]} for name in shown},
        "tuning": {"candidates": tried},
        "token_norms": {"seeds": one_of(settings.token_norms.seeds)},
    }


def smallest(settings: Settings, folder: Path) -> dict[str, Any]:
    """Two seeds of few updates on few boards; models have half the channels."""
    two = {"count": 2}
    # One blank or two: even models that have learned nothing solve some boards.
    blanks = {"in_distribution": 1, "out_of_distribution": 2}
    # The parts of D are as they were, but for more heads than can be.
    halves = {
        name: {"oscillator": found.oscillator // 2}
        for name, found in settings.experiments.items()
        if found.oscillator
    }
    width = settings.width // 2
    heads = {
        name: {"heads": width // 2}
        for name, found in settings.experiments.items()
        if width % found.heads
    }
    fewer = {name: {"seeds": two} for name, found in settings.experiments.items() if found.seeds}
    experiments = {
        name: halves.get(name, {}) | heads.get(name, {}) | fewer.get(name, {})
        for name in [*halves, *heads, *fewer]
    }
    tuning = {
        name: {
            key: values[:1]
            for key, values in (
                ("learning_rates", tried.learning_rates),
                ("strengths", tried.strengths),
            )
            if values
        }
        | ({"seeds": two} if tried.seeds else {})
        for name, tried in settings.tuning.candidates.items()
    }
    return {
        "boards": {
            "train": 100,
            "valid": 10,
            "test": 10,
            **{key: {"least": 16 - count, "most": 16 - count} for key, count in blanks.items()},
        },
        "width": width,
        "experiments": experiments,
        "training": {"updates": 25, "batch_size": 2, "loops": 2}
        | ({"average": {"every": 1}} if settings.training.average else {}),
        "tuning": {"candidates": tuning},
        "seeds": two,
        "token_norms": {
            "seeds": two,
            "drawn": {
                "dimension": 8,
                "tokens": [2, 4],
                "vocabulary": 50,
                "texts": 1,
                "tolerance": 0.01,
            },
        },
        "measures": {
            "accuracy": {"loops": [1, 2, 4, 8, 16], "draws": 1},
            "pseudo_energy": {"boards": 2, "eigenbases": 1, "steps": 3},
            "votes": {"draws": 2, "boards": 2, "loops": 2},
            "exponents": {"boards": 1, "steps": 2, "long": 10},
            "distribution": {"steps": 2},
            "spectrum": {"boards": 1, "steps": 2},
            "perturbed": {"etas": [0.05, 1.0], "weights": [2.0], "inputs": [2.0], "loops": 2},
            "trajectories": {
                "warm_up": 2,
                "steps": 60,
                "points": 7,
                "early": 20,
                "linear": 30,
                "runs": 2,
            },
        },
    }
