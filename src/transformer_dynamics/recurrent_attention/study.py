"""Recurrent attention and its Jacobians: what is computed, and how."""

from collections.abc import Iterator
from math import floor
from pathlib import Path
from random import Random
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from replication.configuration import Computation
from replication.errors import InputError
from replication.seeds import Seed, SeedRange, batches, listed
from replication.strict import Count, Name, Strict, distinct, unknown_key
from replication.study import Experiment, Figure, FiguresOf, Job, StudySettings
from transformer_dynamics.recurrent_attention.boards.settings import BoardJob
from transformer_dynamics.recurrent_attention.measure_settings import (
    Factors,
    MeasureJob,
    Measures,
    WeightsJob,
)
from transformer_dynamics.recurrent_attention.model_settings import Model, Penalty, Projections
from transformer_dynamics.recurrent_attention.token_norms_settings import (
    METRICS,
    MeasureTokenNormsJob,
    TokenNormsJob,
)
from transformer_dynamics.recurrent_attention.train_settings import Training, TrainJob
from transformer_dynamics.recurrent_attention.tuning_settings import (
    Candidate,
    TuningJob,
)

BOARDS = "boards"
"""Name of the data, which all conditions share."""
TOKEN_NORMS = "token_norms"
"""Name of that of Figure 1."""
LARGEST_ON_PROCESSORS = 36
"""Cells of a board; larger ones would take a processor weeks."""
OPERATIONS = 3e10
"""A second, of one core on matrices of this size."""
MOST_NUMBERS = 10**9
"""That one array may hold."""
MOST_STEPS = 10**12
"""Of single tokens in the training of a seed, a thousand times those of the paper's scale."""
MOST_MEASURED = 10**6
"""Of whatever is counted when models are measured: steps, boards, draws."""
TUNING = "tuning"
"""Name of the experiment that chooses rates and strengths."""
Rate = Annotated[float, Field(gt=0, le=1)]
"""A learning rate of Adam, which moves every weight by about as much in an update; weights of more
than 1 have nothing left of how they were drawn, and soon of numbers."""


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
    learning_rate: Rate
    """Of Adam."""


def _without_removed(named: Any) -> Any:
    if not isinstance(named, dict):
        return named
    return {name: found for name, found in named.items() if found is not None}


WithoutRemoved = BeforeValidator(_without_removed)


class Candidates(Strict):
    """What is tried for a condition on the uncounted seed, one number at a time."""

    learning_rates: Annotated[list[Rate], Field(min_length=1), AfterValidator(distinct)] | None = (
        None
    )
    """Instead of its rate."""
    strengths: Factors | None = None
    """Instead of lambda."""

    @model_validator(mode="after")
    def _check_some(self) -> Self:
        if self.learning_rates is None and self.strengths is None:
            raise ValueError("learning_rates or strengths are needed")
        return self


class Tuning(Strict):
    """How rates and strengths are chosen: on validation boards, by a seed of its own."""

    seed: Seed
    """The uncounted seed."""
    loops: Count
    """T of the choice."""
    candidates: Annotated[dict[Name, Candidates], WithoutRemoved]
    """By condition; `null` in an overlay removes one."""


class TokenNorms(Strict):
    """Untrained attention on texts of many lengths."""

    seeds: SeedRange
    """Of the draws of weights and texts."""
    drawn: TokenNormsJob
    """What is drawn."""


class Settings(StudySettings):
    """Recurrent self-attention on Sudoku: ItrSA, AKOrN, their relatives, and their Jacobians."""

    boards: BoardJob
    """What is trained and tested on."""
    width: int = Field(ge=2)
    """D."""
    training: Training
    """Updates and batches of every condition."""
    seeds: SeedRange
    """Of every condition."""
    experiments: Annotated[dict[Name, Condition], WithoutRemoved]
    """Conditions by name; `null` in an overlay removes one, if no claim or figure reads it."""
    tuning: Tuning
    """How rates and strengths were chosen."""
    measures: Measures
    """How models are measured."""
    conditions_of: dict[Name, list[Name]]
    """Metrics that are not offered for all conditions, and for which they are."""
    token_norms: TokenNorms
    """Figure 1."""
    figures: Annotated[dict[str, Figure], FiguresOf(__package__)]
    """The figures by name: `figures/recurrent_attention/<name>.pdf`."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        for name in (TUNING, TOKEN_NORMS):
            if name in self.experiments:
                raise ValueError(f"experiments > {name}: the name has a meaning; choose another")
        for name, condition in self.experiments.items():
            self.model(condition, f"experiments > {name}")
        for name in self.tuning.candidates:
            where = f"tuning > candidates > {name}"
            if name not in self.experiments:
                raise ValueError(f"{where}: there is no such condition")
            if self.tuning.candidates[name].strengths and not self.experiments[name].penalty:
                raise ValueError(f"{where}: the condition has no penalty whose strength is tried")
        for metric, names in self.conditions_of.items():
            for key in (metric, *names):
                known = [*Measures.model_fields] if key is metric else [*self.experiments]
                if key not in known:
                    raise ValueError(f"conditions_of > {metric}: {unknown_key(key, known)}")
        if not self.tuning.candidates:
            raise ValueError("tuning > candidates: those of one condition at least are needed")
        if self.tuning.seed in listed(self.seeds):
            raise ValueError("tuning > seed: must not be one of the seeds that are judged")
        if wrong := [*self._too_large(), *self._unmeasurable(), *self._not_shown()]:
            raise ValueError(wrong[0])
        return self

    def _too_large(self) -> Iterator[str]:
        """What no memory is large enough for, or no life long enough."""
        boards, training, drawn = self.boards, self.training, self.token_norms.drawn
        puzzles = boards.train + 2 * (boards.valid + boards.test)
        shown = max(boards.valid, boards.test)
        steps = training.batch_size * training.loops * boards.cells
        vectors = drawn.vocabulary + drawn.texts * max(drawn.tokens) + drawn.dimension
        sizes = {
            "boards > train, valid or test": puzzles * boards.cells,
            "boards > valid or test, or width": shown * boards.cells * self.width,
            "training > batch_size or loops, or width": steps * self.width,
            "token_norms > drawn > vocabulary, texts or dimension": vectors * drawn.dimension,
            "token_norms > drawn > tokens or heads": max(drawn.tokens) ** 2 * max(drawn.heads),
        }
        for keys, size in sizes.items():
            if size > MOST_NUMBERS:
                yield (
                    f"makes more than {MOST_NUMBERS:,} numbers at once, which fit into no memory;"
                    f" lower {keys}"
                )
        if training.updates * steps > MOST_STEPS:
            yield (
                f"would take tokens through more than {MOST_STEPS:,} steps to train one seed; lower"
                " training > updates, batch_size or loops"
            )
        counts = {
            f"measures > {metric} > {key}": n for metric, how in self.measures for key, n in how
        }
        for key, value in (counts | {"tuning > loops": self.tuning.loops}).items():
            most = max(value) if isinstance(value, list) else value
            if isinstance(most, int) and most > MOST_MEASURED:
                yield f"{key} must not be above {MOST_MEASURED:,}"

    def _unmeasurable(self) -> Iterator[str]:
        """What would fail only after training, or mean nothing: boards that there are not."""
        measures, cells = self.measures, self.boards.cells
        usual, fewer = self.boards.in_distribution, self.boards.out_of_distribution
        # Of the paper's own 9x9, 31 to 34 givens are in distribution and out of it.
        key = "most" if self.boards.size == "9x9" else "least"
        if fewer.most >= getattr(usual, key):
            yield (
                f"boards > out_of_distribution > most ({fewer.most}) must be below in_distribution"
                f" > {key} ({getattr(usual, key)})"
            )
        if measures.pseudo_energy.eigenbases > measures.pseudo_energy.boards:
            yield (
                f"measures > pseudo_energy > eigenbases ({measures.pseudo_energy.eigenbases}) must"
                f" not be above its boards ({measures.pseudo_energy.boards})"
            )
        for metric, how in measures:
            count = getattr(how, "boards", 0)
            if count > self.boards.test:
                yield (
                    f"measures > {metric} > boards ({count}) must not be above boards > test"
                    f" ({self.boards.test})"
                )
        for metric in ("exponents", "perturbed"):
            leading = getattr(measures, metric).leading
            for name in self.conditions_of.get(metric, self.experiments):
                model = self.model(self.experiments[name])
                nulls = cells * model.width // model.block if model.normalised else 0
                if leading > cells * model.width - nulls:
                    yield (
                        f"measures > {metric} > leading ({leading}) must not be above"
                        f" {cells * model.width - nulls}, the number of exponents of {name} that"
                        " are not null"
                    )
        share = measures.pseudo_energy.share
        # As `theory.pseudo_energy.leading` counts them.
        if floor(share * cells * self.width + 1e-9) < 1:
            yield (
                f"measures > pseudo_energy > share ({share:g}) of {cells * self.width} directions"
                " is less than one; raise it"
            )
        how = measures.trajectories
        if how.points < 2:
            yield "measures > trajectories > points must be at least 2, the first and the last step"
        for key in ("early", "linear"):
            if getattr(how, key) > how.steps:
                yield (
                    f"measures > trajectories > {key} ({getattr(how, key)}) must not be above steps"
                    f" ({how.steps})"
                )

    def _not_shown(self) -> Iterator[str]:
        """What figures show of single runs, boards and numbers of loops, and nothing measures."""
        measured = {
            "seed": listed(self.seeds),
            "loops": self.measures.accuracy.loops,
        }
        for name, figure in self.figures.items():
            for key, known in measured.items():
                value = getattr(figure, key, known[0])
                if value not in known:
                    yield (
                        f"figures > {name} > {key}: {value} is not measured; measured are"
                        f" {', '.join(map(str, known))}"
                    )
            board = getattr(figure, "board", 0)
            for _, metric in figure.sources():
                if board not in range(getattr(getattr(self.measures, metric, None), "boards", 1)):
                    yield (
                        f"figures > {name} > board: {board} is not measured; see measures >"
                        f" {metric} > boards, and the first is 0"
                    )

    def model(self, condition: Condition, where: str = "") -> Model:
        """The model of a condition.

        Raises:
            ValueError: if there can be none such, with its place.
        """
        given = condition.model_dump(exclude={"penalty", "learning_rate"})
        try:
            return Model.parse({"width": self.width, **given}, where)
        except InputError as error:
            raise ValueError(error.message) from error

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
    """The conditions, and what was tried to choose their rates and strengths.

    Raises:
        InputError: if boards are too large to be trained on without a GPU.
    """
    if settings.boards.cells > LARGEST_ON_PROCESSORS and computation.device == "cpu":
        raise InputError(
            f"configuration: recurrent_attention > boards > size: {settings.boards.size} would take"
            f" one core about {_core_days(settings):,.1f} days to train, measures not counted; it"
            " needs a GPU: where there is one, set computation > device: cuda"
        )
    conditions = {
        name: settings.train_job(condition, computation)
        for name, condition in settings.experiments.items()
    }
    made = {name: _condition(settings, computation, name, job) for name, job in conditions.items()}
    return made | {
        TUNING: _tuning(settings, conditions),
        TOKEN_NORMS: _token_norms(settings.token_norms, computation),
    }


def _core_days(settings: Settings) -> float:
    """Training of all seeds and conditions, from the multiplications of its matrix products."""
    training, cells, width = settings.training, settings.boards.cells, settings.width
    # Four projections and two products with P; forward, and twice as much backward.
    step = 3 * 2 * cells * (4 * width**2 + 2 * cells * width)
    updates = len(settings.experiments) * settings.seeds.count * training.updates
    return updates * training.batch_size * training.loops * step / OPERATIONS / 86_400


def _condition(
    settings: Settings, computation: Computation, name: str, job: TrainJob
) -> Experiment:
    # All seeds at once: with fewer there is less to gain from the axis of seeds.
    parts = batches(listed(settings.seeds), computation.seeds_per_job or settings.seeds.count)
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
            part: Job("runs", job, seeds, (BOARDS,), memory=2500, minutes=1440)
            for part, seeds in parts.items()
        },
        metrics=metrics
        | {name: Job(f"measures.{name}", own) for name in ("weights", "fingerprint")},
    )


def _boards(settings: Settings) -> Job:
    return Job("boards.program", settings.boards, reads=settings.boards.sources)


def _tuning(settings: Settings, conditions: dict[str, TrainJob]) -> Experiment:
    runs: dict[str, TrainJob] = {}
    candidates = []
    for condition, tried in settings.tuning.candidates.items():
        base = conditions[condition]
        for rate in tried.learning_rates or ():
            job = base.model_copy(update={"learning_rate": rate})
            runs[f"{condition}-{_shortest(rate)}"] = job
            candidates.append((condition, "learning_rate", rate, job))
        for strength in tried.strengths or ():
            if base.penalty:
                penalty = base.penalty.model_copy(update={"strength": strength})
                job = base.model_copy(update={"penalty": penalty})
                if job not in runs.values():
                    runs[f"{condition}-lambda{_shortest(strength)}"] = job
                candidates.append((condition, "strength", strength, job))
    names = {job: name for name, job in runs.items()}
    measured = TuningJob(
        candidates=[
            Candidate(run=names[job], condition=condition, quantity=quantity, value=value)
            for condition, quantity, value, job in candidates
        ],
        runs=runs,
        loops=settings.tuning.loops,
    )
    seed = settings.tuning.seed
    return Experiment(
        data={BOARDS: _boards(settings)},
        runs={
            name: Job("runs", job, (seed,), (BOARDS,), minutes=1440) for name, job in runs.items()
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
    parts = batches(listed(found.seeds), computation.seeds_per_job)
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
        return {"first": random.choice(listed(seeds)), "count": 1}

    candidates = [*settings.tuning.candidates]
    tried = dict.fromkeys(candidates) | {random.choice(candidates): {}}
    seeds = one_of(settings.seeds)
    shown = [name for name, figure in settings.figures.items() if hasattr(figure, "seed")]
    return {
        "seeds": seeds,
        "figures": {name: {"seed": seeds["first"]} for name in shown},
        "tuning": {"candidates": tried},
        "token_norms": {"seeds": one_of(settings.token_norms.seeds)},
    }


def smallest(settings: Settings, folder: Path) -> dict[str, Any]:
    """Two seeds of few updates on few boards; models have half the channels."""
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
    return {
        "boards": {
            "train": 100,
            "valid": 10,
            "test": 10,
            **{key: {"least": 16 - count, "most": 16 - count} for key, count in blanks.items()},
        },
        "width": width,
        "experiments": halves | heads,
        "training": {"updates": 25, "batch_size": 4, "loops": 2},
        "seeds": {"count": 2},
        "token_norms": {
            "seeds": {"count": 2},
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
            "perturbed": {"etas": [0.05, 0.1, 1.0], "weights": [2.0], "inputs": [2.0], "loops": 2},
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
