"""Recurrent attention and its Jacobians: the jobs of all experiments."""

from pathlib import Path
from random import Random
from typing import Any, Literal

from replication.base.strict import Strict
from replication.plan.configuration import Computation
from replication.plan.limits import time_limit
from replication.study.contract import Experiment, Job
from replication.study.seeds import SeedRange, batches, seed_list
from transformer_dynamics.recurrent_attention.cost import (
    Need,
    metric_need,
    training_need,
    tuning_need,
)
from transformer_dynamics.recurrent_attention.settings.boards import BoardJob
from transformer_dynamics.recurrent_attention.settings.configuration import (
    TOKEN_NORMS,
    Candidates,
    Condition,
    Settings,
    TokenNorms,
)
from transformer_dynamics.recurrent_attention.settings.metrics import MetricJob, WeightsJob
from transformer_dynamics.recurrent_attention.settings.more_boards import MoreBoards
from transformer_dynamics.recurrent_attention.settings.token_norms import (
    METRICS,
    TokenNormsMetricJob,
)
from transformer_dynamics.recurrent_attention.settings.training import TrainJob
from transformer_dynamics.recurrent_attention.settings.tuning import Candidate, TuningJob

BOARDS = "boards"
"""Name of the data of conditions that name no other boards, which they share."""
TWO = {"count": 2}
"""Changes that leave the first two seeds, for the smallest scale."""
SMALL_METRICS = {
    "accuracy": {"loops": [1, 2, 4, 8, 16], "draws": 1},
    "exponents": {"boards": 1, "steps": 2, "leading": 4, "long": 5},
    "spectrum": {"boards": 1, "steps": 2},
    "perturbed": {"etas": [0.05, 1.0], "weights": [2.0], "inputs": [2.0], "loops": 2},
    "pseudo_energy": {"boards": 2, "eigenbases": 1, "steps": 3},
}
"""Changes of metrics that boards of every size have, for the smallest scale."""


def experiments(settings: Settings, computation: Computation) -> dict[str, Experiment]:
    """Return the conditions, the tuning of their rates and strengths, and Figure 1."""
    jobs = {
        name: settings.train_job(condition, computation)
        for name, condition in settings.experiments.items()
    }
    conditions = {name: _condition(settings, computation, name, job) for name, job in jobs.items()}
    return conditions | {
        **{
            name: _tuning(settings, jobs, candidates)
            for name, candidates in settings.tuning.by_experiment(settings.experiments).items()
        },
        TOKEN_NORMS: _token_norms(settings.token_norms, computation),
    }


def _condition(
    settings: Settings, computation: Computation, name: str, job: TrainJob
) -> Experiment:
    # All seeds at once: with fewer there is less to gain from the axis of seeds.
    condition = settings.experiments[name]
    sizes, seeds = settings.sizes_of(condition), settings.seeds_of(condition)
    parts = batches(seed_list(seeds), computation.seeds_per_job or sizes.seeds.count)
    boards = _name_of_boards(condition)
    metrics = {
        metric: _metric(metric, MetricJob(train=job, settings=own), boards, len(seed_list(seeds)))
        for metric, own in sizes.metrics
        if name in settings.conditions_of.get(metric, [name])
    }
    of_weights = WeightsJob(train=job)
    return Experiment(
        data={boards: _boards(job.boards)},
        runs={part: _training(job, seeds, boards) for part, seeds in parts.items()},
        metrics=metrics
        | {name: Job(f"metrics.{name}", of_weights) for name in ("weights", "fingerprint")},
    )


def _name_of_boards(condition: Condition) -> str:
    return f"{BOARDS}_{condition.boards}" if condition.boards else BOARDS


def _boards(boards: BoardJob) -> Job:
    return Job("data.boards", boards, reads=boards.sources)


def _training(
    job: TrainJob, seeds: tuple[int, ...], boards: str, gaps: tuple[str, ...] = ()
) -> Job:
    need = training_need(job, len(seeds))
    minutes = time_limit(need.operations, job.device)
    return Job("training.loop", job, seeds, (boards,), need.memory, minutes, need.operations, gaps)


def _metric(name: str, job: MetricJob[Any], boards: str, seeds: int) -> Job:
    return _measured(name, job, boards, metric_need(job, seeds), job.device)


def _measured(name: str, job: Strict, boards: str, need: Need, device: str) -> Job:
    minutes = time_limit(need.operations, device)
    return Job(f"metrics.{name}", job, (), (boards,), need.memory, minutes, need.operations)


def _tuning(
    settings: Settings, jobs: dict[str, TrainJob], by_condition: dict[str, Candidates]
) -> Experiment:
    names: dict[tuple[TrainJob, tuple[int, ...]], str] = {}
    tried = []
    # All of an experiment learn the same boards.
    first = settings.experiments[next(iter(by_condition))]
    boards, own = _name_of_boards(first), settings.sizes_of(first).boards
    for condition, candidates in by_condition.items():
        base = jobs[condition]
        seeds = tuple(seed_list(candidates.seeds or SeedRange(first=settings.tuning.seed, count=1)))
        for rate in candidates.learning_rates or ():
            job = base.model_copy(update={"learning_rate": rate})
            names[job, seeds] = f"{condition}-{_shortest_text(rate)}"
            tried.append((condition, "learning_rate", rate, (job, seeds)))
        for strength in candidates.strengths or ():
            if base.penalty:
                penalty = base.penalty.model_copy(update={"strength": strength})
                job = base.model_copy(update={"penalty": penalty})
                names.setdefault((job, seeds), f"{condition}-lambda{_shortest_text(strength)}")
                tried.append((condition, "strength", strength, (job, seeds)))

    def table(metric: Literal["solved", "fingerprint"]) -> TuningJob:
        """Return the settings of a table of all candidates."""
        return TuningJob(
            candidates=[
                Candidate(run=names[run], condition=condition, quantity=quantity, value=value)
                for condition, quantity, value, run in tried
            ],
            runs={name: job for (job, _), name in names.items()},
            loops=settings.training.loops if first.boards else settings.tuning.loops,
            metric=metric,
        )

    solved, most = table("solved"), max(len(seeds) for _, seeds in names)
    return Experiment(
        data={boards: _boards(own)},
        # A rate at which a training diverges solves no board.
        runs={
            name: _training(job, seeds, boards, gaps=("*",)) for (job, seeds), name in names.items()
        },
        metrics={
            "solved": _measured("tuning", solved, boards, tuning_need(solved, most), solved.device),
            "fingerprint": Job("metrics.tuning", table("fingerprint")),
        },
    )


def _shortest_text(number: float) -> str:
    """Return a number as it is written, which two that differ never share."""
    return repr(number).removesuffix(".0")


def _token_norms(settings: TokenNorms, computation: Computation) -> Experiment:
    drawn = settings.drawn
    parts = batches(seed_list(settings.seeds), computation.seeds_per_job)
    return Experiment(
        runs={part: Job("training.token_norms", drawn, seeds) for part, seeds in parts.items()},
        metrics={
            metric: Job("metrics.token_norms", TokenNormsMetricJob(runs=drawn, metric=metric))
            for metric in METRICS
        },
    )


def one_seed(settings: Settings, random: Random) -> dict[str, Any]:
    """Return the overlay that leaves one seed, one draw of Figure 1, few candidates.

    They are those of one condition for the common tuning seed, and of one for seeds of its own.
    """

    def one_of(seeds: SeedRange) -> dict[str, int]:
        return {"first": random.choice(seed_list(seeds)), "count": 1}

    left: dict[str, Any] = dict.fromkeys(settings.tuning.candidates)
    for candidates in settings.tuning.by_experiment(settings.experiments).values():
        chosen = random.choice([*candidates])
        own_seeds = candidates[chosen].seeds
        left[chosen] = {"seeds": one_of(own_seeds)} if own_seeds else {}
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
        "tuning": {"candidates": left},
        "token_norms": {"seeds": one_of(settings.token_norms.seeds)},
        "more_boards": {
            name: {"seeds": one_of(each.seeds)} for name, each in settings.more_boards.items()
        },
    }


def smallest(settings: Settings, folder: Path) -> dict[str, Any]:
    """Return the overlay of two seeds, few updates, few boards and half the channels."""
    experiments = {
        name: changed
        for name, condition in settings.experiments.items()
        if (changed := _small_condition(condition, settings.sizes_of(condition).width // 2))
    }
    tuning = {name: _one_candidate(each) for name, each in settings.tuning.candidates.items()}
    small = _small_sizes(settings)
    return {
        **small,
        "training": small["training"]
        | {"loops": 2}
        | ({"average": {"every": 1}} if settings.training.average else {}),
        "experiments": experiments,
        "more_boards": {
            name: _small_sizes(each) | {"metrics": SMALL_METRICS}
            for name, each in settings.more_boards.items()
        },
        "tuning": {"candidates": tuning},
        "token_norms": {
            "seeds": TWO,
            "drawn": {
                "dimension": 8,
                "tokens": [2, 4],
                "vocabulary": 50,
                "texts": 1,
                "tolerance": 0.01,
            },
        },
        "metrics": {
            **SMALL_METRICS,
            "votes": {"draws": 2, "boards": 2, "loops": 2},
            "distribution": {"steps": 2},
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


def _small_sizes(sizes: Settings | MoreBoards) -> dict[str, Any]:
    """Return the changes that leave few boards of a size, few updates and two seeds."""
    # One blank or two: even models that have learned nothing solve some boards.
    blanks = {"in_distribution": 1, "out_of_distribution": 2}
    cells = sizes.boards.cells
    return {
        "boards": {
            "train": 100,
            "valid": 10,
            "test": 10,
            **{key: {"least": cells - n, "most": cells - n} for key, n in blanks.items()},
        },
        "width": sizes.width // 2,
        "training": {"updates": 25, "batch_size": 2},
        "seeds": TWO,
    }


def _small_condition(condition: Condition, width: int) -> dict[str, Any]:
    """Return the changes of a condition that has half the channels and two seeds."""
    # The parts of D are as they were, except for more heads than can be.
    halves = {"oscillator": condition.oscillator // 2} if condition.oscillator else {}
    heads = {"heads": width // 2} if width % condition.heads else {}
    return halves | heads | ({"seeds": TWO} if condition.seeds else {})


def _one_candidate(candidates: Candidates) -> dict[str, Any]:
    """Return the changes that leave the first value of each list, and two seeds."""
    lists = candidates.model_dump(include={"learning_rates", "strengths"}, exclude_none=True)
    fewest: dict[str, Any] = {key: values[:1] for key, values in lists.items()}
    return fewest | ({"seeds": TWO} if candidates.seeds else {})
