"""Recurrent attention and its Jacobians: what is computed, and how."""

from pathlib import Path
from random import Random
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from replication.configuration import Computation
from replication.seeds import Seed, SeedRange, batches, listed
from replication.strict import Strict
from replication.study import Experiment, Figure, FiguresOf, Job, StudySettings
from transformer_dynamics.recurrent_attention.boards.settings import BoardJob
from transformer_dynamics.recurrent_attention.measure_settings import (
    Count,
    Factors,
    MeasureJob,
    Measures,
    WeightsJob,
)
from transformer_dynamics.recurrent_attention.model_settings import Model, Penalty, Projections
from transformer_dynamics.recurrent_attention.train_settings import Positive, Training, TrainJob
from transformer_dynamics.recurrent_attention.tuning_settings import Candidate, TuningJob

BOARDS = "boards"
"""Name of the data, which all conditions share."""
READY = ("accuracy", "exponents", "distribution", "spectrum", "perturbed", "trajectories")
TUNING = "tuning"
"""Name of the experiment that chooses rates and strengths."""


class Condition(Strict):
    """What is trained, besides what all conditions share."""

    kind: str
    """ItrSA, AKOrN or symmetric SA."""
    heads: Count
    """H."""
    oscillator: int | None = None
    """N; all channels of a token if left out."""
    normalised: bool = True
    """Whether ItrSA normalises its tokens."""
    projections: Projections = "free"
    """W^V and W^O."""
    penalty: Penalty | None = None
    """What is added to the loss."""
    learning_rate: Positive
    """Of Adam."""


class Candidates(Strict):
    """What is tried for a condition on the uncounted seed."""

    learning_rates: Factors | None = None
    """Instead of its rate."""
    strengths: Factors | None = None
    """Instead of lambda."""

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        if (self.learning_rates is None) == (self.strengths is None):
            raise ValueError("either learning_rates or strengths is needed")
        return self


class Tuning(Strict):
    """How rates and strengths are chosen: on validation boards, by a seed of its own."""

    seed: Seed
    """The uncounted seed."""
    loops: Count
    """T of the choice."""
    candidates: dict[str, Candidates]
    """By condition."""


class Settings(StudySettings):
    """Recurrent self-attention on Sudoku: ItrSA, AKOrN, their relatives, and their Jacobians."""

    boards: BoardJob
    """What is trained and tested on."""
    width: int = Field(ge=2)
    """D."""
    training: Training
    """What all conditions share."""
    seeds: SeedRange
    """Of every condition."""
    experiments: dict[str, Condition]
    """Conditions by name."""
    tuning: Tuning
    """How rates and strengths were chosen."""
    measures: Measures
    """How models are measured."""
    figures: Annotated[dict[str, Figure], FiguresOf(__package__)]
    """The figures by name: `figures/recurrent_attention/<name>.pdf`."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if TUNING in self.experiments:
            raise ValueError(f"experiments > {TUNING}: the name has a meaning; choose another")
        for name, condition in self.experiments.items():
            try:
                self.model(condition)
            except ValueError as error:
                raise ValueError(f"experiments > {name}: {error}") from error
        for name in self.tuning.candidates:
            where = f"tuning > candidates > {name}"
            if name not in self.experiments:
                raise ValueError(f"{where}: there is no such condition")
            if self.tuning.candidates[name].strengths and not self.experiments[name].penalty:
                raise ValueError(f"{where}: the condition has no penalty whose strength is tried")
        if self.tuning.seed in listed(self.seeds):
            raise ValueError("tuning > seed: must not be one of the seeds that are judged")
        return self

    def model(self, condition: Condition) -> Model:
        """The model of a condition."""
        given = condition.model_dump(exclude={"penalty", "learning_rate"})
        return Model(width=self.width, **given)

    def train_job(self, condition: Condition, computation: Computation) -> TrainJob:
        """The job of a condition."""
        return TrainJob(
            boards=self.boards,
            model=self.model(condition),
            penalty=condition.penalty,
            learning_rate=condition.learning_rate,
            training=self.training,
            device=computation.device,
        )


def experiments(settings: Settings, computation: Computation) -> dict[str, Experiment]:
    """The conditions, and what was tried to choose their rates and strengths."""
    conditions = {
        name: settings.train_job(condition, computation)
        for name, condition in settings.experiments.items()
    }
    made = {name: _condition(settings, computation, job) for name, job in conditions.items()}
    return made | {TUNING: _tuning(settings, conditions)}


def _condition(settings: Settings, computation: Computation, job: TrainJob) -> Experiment:
    # All seeds at once: with fewer there is less to gain from the axis of seeds.
    parts = batches(listed(settings.seeds), computation.seeds_per_job or settings.seeds.count)
    metrics = {
        name: Job(f"measures.{name}", MeasureJob(train=job, how=how), reads=(BOARDS,), minutes=240)
        for name, how in settings.measures
        if name in READY
    }
    own = WeightsJob(train=job)
    return Experiment(
        data={BOARDS: _boards(settings)},
        runs={
            part: Job("runs", job, seeds, (BOARDS,), memory=2500, minutes=1440)
            for part, seeds in parts.items()
        },
        metrics=metrics | {"fingerprint": Job("measures.fingerprint", own)},
    )


def _boards(settings: Settings) -> Job:
    return Job("boards.program", settings.boards, reads=settings.boards.sources)


def _tuning(settings: Settings, conditions: dict[str, TrainJob]) -> Experiment:
    tried = {}
    for name, candidates in settings.tuning.candidates.items():
        for value in candidates.learning_rates or candidates.strengths or ():
            job, quantity = conditions[name], "learning_rate"
            if candidates.learning_rates:
                job = job.model_copy(update={"learning_rate": value})
            elif job.penalty:
                quantity = "strength"
                penalty = job.penalty.model_copy(update={"strength": value})
                job = job.model_copy(update={"penalty": penalty})
            tried[f"{name}-{value:g}"] = Candidate(
                condition=name, quantity=quantity, value=value, train=job
            )
    seed = settings.tuning.seed
    return Experiment(
        data={BOARDS: _boards(settings)},
        runs={
            name: Job("runs", candidate.train, (seed,), (BOARDS,), minutes=1440)
            for name, candidate in tried.items()
        },
        metrics={
            "solved": Job(
                "measures.tuning",
                TuningJob(candidates=tried, loops=settings.tuning.loops),
                reads=(BOARDS,),
            ),
        },
    )


def one_seed(settings: Settings, random: Random) -> dict[str, Any]:
    """One of the seeds of all conditions."""
    return {"seeds": {"first": random.choice(listed(settings.seeds)), "count": 1}}


def smallest(settings: Settings, folder: Path) -> dict[str, Any]:
    """Two seeds of few updates on few boards."""
    return {
        "boards": {"train": 100, "valid": 10, "test": 10},
        "training": {"updates": 30, "batch_size": 4, "loops": 2},
        "seeds": {"count": 2},
    }
