"""Settings of the study: its section of the configuration, and the values that it refuses."""

from collections.abc import Iterator, Mapping
from itertools import chain
from math import floor
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator

from replication.base.errors import InputError
from replication.base.strict import REMOVABLE, Count, Name, Strict, refuse_repeated, unknown_key
from replication.plan.configuration import Computation
from replication.study.contract import Figure, FiguresOf, StudySettings
from replication.study.seeds import Seed, SeedRange, seed_list
from transformer_dynamics.recurrent_attention.settings.boards import BoardJob
from transformer_dynamics.recurrent_attention.settings.metrics import (
    Factors,
    Metrics,
    Regimes,
)
from transformer_dynamics.recurrent_attention.settings.models import (
    MOST_ROWS,
    Network,
    Penalty,
    Projections,
    Scale,
    SharedSettings,
)
from transformer_dynamics.recurrent_attention.settings.more_boards import MoreBoards
from transformer_dynamics.recurrent_attention.settings.token_norms import TokenNormsJob
from transformer_dynamics.recurrent_attention.settings.training import Training, TrainJob

TOKEN_NORMS = "token_norms"
"""Name of the experiment of Figure 1."""
MOST_NUMBERS = 10**9
"""Largest number of numbers that one array may hold."""
MOST_STEPS = 10**12
"""Most steps of single tokens in the training of a seed, a thousand times the paper's."""
MOST_MEASURED = 10**6
"""Largest number of steps, boards or draws of a metric."""
TUNING = "tuning"
"""Name of the experiment that chooses rates and strengths by the common tuning seed."""
TUNING_SEEDS = "tuning_seeds"
"""Name of the experiment that chooses by seeds of the candidates' own."""
Rate = Annotated[float, Field(gt=0, le=1)]
"""Learning rate of Adam, which moves every weight by about as much in an update. Above 1 a weight
soon is no number."""


class Condition(Strict):
    """Model and training of a condition, besides the settings that all conditions share."""

    kind: str
    """Kind of the model: ItrSA, AKOrN or symmetric SA."""
    heads: Count
    """Number H of heads."""
    oscillator: int | None = None
    """Number N of channels that are normalised together; all of a token if left out."""
    normalised: bool = True
    """False if ItrSA does not normalise its tokens."""
    projections: Projections = "free"
    """Parametrisation of W^V and W^O."""
    penalty: Penalty | None = None
    """Penalty that is added to the loss."""
    learning_rate: Rate
    """Learning rate of Adam."""
    embedding: Scale | None = None
    """Standard deviation of the entries of the embeddings of digits and of cells before training;
    1/sqrt(D) if left out."""
    trained: bool = True
    """False for a control, which is not trained."""
    boards: Name | None = Field(default=None, exclude_if=lambda name: name is None)
    """Name of the boards that it learns, of `more_boards`; those of all conditions if left out."""
    seeds: SeedRange | None = None
    """Seeds of the condition; those of all conditions of its boards if left out."""


class Candidates(Strict):
    """Numbers that are tried for a condition on the uncounted seed, one at a time."""

    learning_rates: (
        Annotated[list[Rate], Field(min_length=1), AfterValidator(refuse_repeated)] | None
    ) = None
    """Learning rates that are tried."""
    strengths: Factors | None = None
    """Weights lambda of the penalty that are tried."""
    seeds: SeedRange | None = None
    """Seeds of these candidates; the common tuning seed if left out."""

    @model_validator(mode="after")
    def _check_some(self) -> Self:
        if self.learning_rates is None and self.strengths is None:
            raise ValueError("learning_rates or strengths are needed")
        return self


class Tuning(Strict):
    """Choice of rates and strengths on validation boards, by a seed of its own."""

    seed: Seed
    """Seed that is not judged."""
    loops: Count
    """Number T of loops of the choice; on `more_boards` it is that of training."""
    candidates: Annotated[dict[Name, Candidates], REMOVABLE]
    """Candidates by condition; `null` in an overlay removes one."""

    def by_experiment(
        self, conditions: Mapping[str, Condition]
    ) -> dict[str, dict[str, Candidates]]:
        """Return the candidates of each experiment that has some, by condition."""
        found: dict[str, dict[str, Candidates]] = {}
        for name, tried in self.candidates.items():
            boards = conditions[name].boards
            own = f"{TUNING}_{boards}" if boards else TUNING_SEEDS if tried.seeds else TUNING
            found.setdefault(own, {})[name] = tried
        return found


class TokenNorms(Strict):
    """Untrained attention on texts of many lengths."""

    seeds: SeedRange
    """Seeds of the draws of weights and texts."""
    drawn: TokenNormsJob
    """Weights and texts that are drawn."""


class Settings(StudySettings):
    """Recurrent self-attention on Sudoku: ItrSA, AKOrN, their relatives, and their Jacobians."""

    boards: BoardJob
    """Boards of training, validation and test."""
    width: int = Field(ge=2)
    """Number D of channels of a token."""
    models: SharedSettings
    """Settings that all models share."""
    training: Training
    """Updates and batches of every condition."""
    seeds: SeedRange
    """Seeds of every condition."""
    more_boards: Annotated[dict[Name, MoreBoards], REMOVABLE] = Field(
        default={}, exclude_if=lambda boards: not boards
    )
    """Boards of other sizes by name, which conditions may learn instead of `boards`."""
    experiments: Annotated[dict[Name, Condition], REMOVABLE]
    """Conditions by name; `null` in an overlay removes one, if no claim or figure reads it."""
    tuning: Tuning
    """Choice of rates and strengths."""
    metrics: Metrics
    """Settings of the metrics."""
    conditions_of: dict[Name, list[Name]]
    """Metrics that are not offered for all conditions, and for which they are."""
    regimes: Regimes
    """Ranges of claims for which the paper prints no number."""
    token_norms: TokenNorms
    """Untrained attention of Figure 1."""
    figures: Annotated[dict[str, Figure], FiguresOf(f"{__package__}".removesuffix(".settings"))]
    """The figures by name: `figures/recurrent_attention/<name>.pdf`."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        others = (f"{TUNING}_{boards}" for boards in self.more_boards)
        for name in (TUNING, TUNING_SEEDS, TOKEN_NORMS, *others):
            if name in self.experiments:
                raise ValueError(f"experiments > {name}: the name has a meaning; choose another")
        for name, condition in self.experiments.items():
            if condition.boards is not None and condition.boards not in self.more_boards:
                said = unknown_key(condition.boards, [*self.more_boards])
                raise ValueError(f"experiments > {name} > boards: {said}")
            self.model(condition, f"experiments > {name}")
            self.training_of(condition)
        if not self.tuning.candidates:
            raise ValueError("tuning > candidates: those of one condition at least are needed")
        found = (
            self._find_untriable(),
            self._find_unknown_metrics(),
            self._find_judged_seeds(),
            self._find_too_large(),
            self._find_unmeasurable(),
            self._find_not_measured(),
            self._find_unjoinable(),
        )
        # Only the first: what comes later may rely on it.
        if wrong := next(chain(*found), ""):
            raise ValueError(wrong)
        return self

    def _find_untriable(self) -> Iterator[str]:
        """Yield a message per condition for which nothing can be tried."""
        for name, tried in self.tuning.candidates.items():
            where, condition = f"tuning > candidates > {name}", self.experiments.get(name)
            if condition is None:
                yield f"{where}: there is no such condition; correct the name, or set it to null"
                continue
            if tried.strengths and not condition.penalty:
                yield f"{where} > strengths: the condition has no penalty; leave them out"

    def _find_unknown_metrics(self) -> Iterator[str]:
        """Yield a message per metric or condition that is not there, or not for these boards."""
        for metric, names in self.conditions_of.items():
            where = f"conditions_of > {metric}"
            if metric not in Metrics.model_fields:
                yield f"{where}: {unknown_key(metric, [*Metrics.model_fields])}"
            for name in names:
                if name not in self.experiments:
                    yield f"{where}: {unknown_key(name, [*self.experiments])}"
                elif not hasattr(self.sizes_of(self.experiments[name]).metrics, metric):
                    boards = self.experiments[name].boards
                    yield f"{where}: {name} learns {boards}, for which there is no such metric"

    def _find_judged_seeds(self) -> Iterator[str]:
        """Yield a message per place that chooses by seeds which are judged as well."""
        judged = {*seed_list(self.seeds)}
        judged.update(*(seed_list(self.seeds_of(each)) for each in self.experiments.values()))
        if self.tuning.seed in judged:
            yield "tuning > seed: must not be one of the seeds that are judged; set another"
        for name, tried in self.tuning.candidates.items():
            if tried.seeds and judged & {*seed_list(tried.seeds)}:
                yield (
                    f"tuning > candidates > {name} > seeds: must not be among those that are"
                    " judged; set others"
                )

    def _sizes(self) -> dict[str, "Settings | MoreBoards"]:
        """Return the boards of all sizes, with their settings, by the place of these."""
        found: dict[str, Settings | MoreBoards] = {"": self}
        for name, each in self.more_boards.items():
            found[f"more_boards > {name} > "] = each
        return found

    def _find_too_large(self) -> Iterator[str]:
        """Yield a message per size that no memory is large enough for, or no life long enough."""
        drawn = self.token_norms.drawn
        vectors = drawn.vocabulary + drawn.texts * max(drawn.tokens) + drawn.dimension
        sizes = {
            "token_norms > drawn > vocabulary, texts or dimension": vectors * drawn.dimension,
            "token_norms > drawn > tokens or heads": max(drawn.tokens) ** 2 * max(drawn.heads),
        }
        counts: dict[str, Any] = {"tuning > loops": self.tuning.loops}
        for place, own in self._sizes().items():
            loops = self.training.loops
            sizes |= _sizes_of_arrays(place, own, loops)
            counts |= {
                f"{place}metrics > {metric} > {key}": n
                for metric, of in own.metrics
                for key, n in of
            }
            steps = own.training.batch_size * loops * own.boards.cells
            if own.training.updates * steps > MOST_STEPS:
                yield (
                    f"would take tokens through more than {MOST_STEPS:,} steps to train one seed;"
                    f" lower {place}training > updates, batch_size or loops"
                )
        for keys, size in sizes.items():
            if size > MOST_NUMBERS:
                yield (
                    f"makes more than {MOST_NUMBERS:,} numbers at once, which fit into no memory;"
                    f" lower {keys}"
                )
        for key, value in counts.items():
            most = max(value) if isinstance(value, list) else value
            if isinstance(most, int) and most > MOST_MEASURED:
                yield f"{key} must not be above {MOST_MEASURED:,}"

    def _find_unmeasurable(self) -> Iterator[str]:
        """Yield a message per setting that would fail only after training, or mean nothing."""
        for place, own in self._sizes().items():
            yield from _find_overlapping_givens(place, own.boards)
            yield from _find_lacking_boards(place, own)
            share, rows = own.metrics.pseudo_energy.share, own.boards.cells * own.width
            yield from _find_unbounded(place, own, rows)
            # As `theory.pseudo_energy.leading_directions` counts them.
            if floor(share * rows + 1e-9) < 1:
                yield (
                    f"{place}metrics > pseudo_energy > share ({share:g}) of {rows} directions"
                    " is less than one; raise it"
                )
            if rows > MOST_ROWS and own.metrics.pseudo_energy.eigenbases and share > 0.25:
                yield (
                    f"{place}metrics > pseudo_energy > share ({share:g}) must not be above 0.25"
                    f" where Jacobians have {rows:,} rows, as these are not written down"
                )
        yield from self._find_lacking_exponents()
        trajectories = self.metrics.trajectories
        if trajectories.points < 2:
            yield "metrics > trajectories > points must be at least 2, the first and the last step"
        for key in ("early", "linear"):
            if getattr(trajectories, key) > trajectories.steps:
                yield (
                    f"metrics > trajectories > {key} ({getattr(trajectories, key)}) must not be"
                    f" above steps ({trajectories.steps})"
                )

    def _find_lacking_exponents(self) -> Iterator[str]:
        """Yield a message per condition that has fewer exponents than are averaged."""
        places = {id(own): place for place, own in self._sizes().items()}
        for metric in ("exponents", "perturbed"):
            for name in self.conditions_of.get(metric, self.experiments):
                condition = self.experiments[name]
                own, model = self.sizes_of(condition), self.model(condition)
                if (settings := getattr(own.metrics, metric, None)) is None:
                    continue
                rows = own.boards.cells * model.width
                count = rows - (rows // model.block if model.normalised else 0)
                if settings.leading > count:
                    yield (
                        f"{places[id(own)]}metrics > {metric} > leading ({settings.leading}) must"
                        f" not be above {count}, the number of exponents of {name} that are not"
                        " null"
                    )

    def _find_not_measured(self) -> Iterator[str]:
        """Yield a message per run, board and T that a figure shows and no metric has."""
        measured = {"seed": seed_list(self.seeds), "loops": self.metrics.accuracy.loops}
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
                if board not in range(getattr(getattr(self.metrics, metric, None), "boards", 1)):
                    yield (
                        f"figures > {name} > board: {board} is not measured; see metrics >"
                        f" {metric} > boards, and the first is 0"
                    )

    def _find_unjoinable(self) -> Iterator[str]:
        """Yield a message per condition that a figure cannot draw together with another."""
        for name, figure in self.figures.items():
            names = [getattr(figure, "condition", ""), *getattr(figure, "joined", [])]
            known = [each for each in names if each in self.experiments]
            taken: set[int] = set()
            for other in known:
                condition, first = self.experiments[other], self.experiments[known[0]]
                where = f"figures > {name} > joined: {other}"
                if condition.model_copy(update={"seeds": first.seeds}) != first:
                    yield f"{where} differs from the others in more than its seeds; leave it out"
                seeds = {*seed_list(self.seeds_of(condition))}
                if taken & seeds:
                    yield f"{where} has seeds of another condition, too; give it others"
                taken |= seeds

    def model(self, condition: Condition, where: str = "") -> Network:
        """Return the network of a condition; raise ValueError with its place if there is none."""
        given = condition.model_dump(include={*Network.model_fields})
        try:
            width = {"width": self.sizes_of(condition).width}
            return Network.parse(self.models.model_dump() | width | given, where)
        except InputError as error:
            raise ValueError(error.message) from error

    def train_job(self, condition: Condition, computation: Computation) -> TrainJob:
        """Return the job that trains a condition."""
        return TrainJob(
            boards=self.sizes_of(condition).boards,
            model=self.model(condition),
            penalty=condition.penalty,
            learning_rate=condition.learning_rate,
            training=self.training_of(condition),
            device=computation.device,
            trained=condition.trained,
        )

    def training_of(self, condition: Condition) -> Training:
        """Return the updates and batches of a condition.

        Raise ValueError, which names them, if those of its boards do not go with those of all.
        """
        if condition.boards is None:
            return self.training
        own = self.more_boards[condition.boards].training.model_dump()
        try:
            where = f"more_boards > {condition.boards} > training"
            return Training.parse(self.training.model_dump() | own, where)
        except InputError as error:
            raise ValueError(error.message) from error

    def seeds_of(self, condition: Condition) -> SeedRange:
        """Return the seeds of a condition."""
        return condition.seeds or self.sizes_of(condition).seeds

    def sizes_of(self, condition: Condition) -> "Settings | MoreBoards":
        """Return the settings that hold the boards of a condition, its training and its metrics."""
        return self.more_boards[condition.boards] if condition.boards else self


def _sizes_of_arrays(place: str, own: Settings | MoreBoards, loops: int) -> dict[str, int]:
    """Return the sizes of the largest arrays of boards and training, by the keys that decide."""
    boards = own.boards
    puzzles = boards.train + 2 * (boards.valid + boards.test)
    shown = max(boards.valid, boards.test)
    steps = own.training.batch_size * loops * boards.cells
    return {
        f"{place}boards > train, valid or test": puzzles * boards.cells,
        f"{place}boards > valid or test, or width": shown * boards.cells * own.width,
        f"{place}training > batch_size or loops, or width": steps * own.width,
    }


def _find_unbounded(place: str, own: Settings | MoreBoards, rows: int) -> Iterator[str]:
    """Yield a message per metric of all eigenvalues or exponents of too large a Jacobian."""
    for metric in ("spectrum", "distribution"):
        key = f"{place}metrics > {metric} > largest"
        settings = getattr(own.metrics, metric, None)
        largest = getattr(settings, "largest", rows)
        if largest is None and rows > MOST_ROWS:
            yield (
                f"{key}: a Jacobian of {rows:,} rows is not written down, so that not all of its"
                f" values are found; set the number of the largest"
            )
        elif settings and (largest or 0) > rows // 4:
            yield f"{key} ({largest}) must not be above {rows // 4:,}, a quarter of the rows"


def _find_overlapping_givens(place: str, boards: BoardJob) -> Iterator[str]:
    """Yield a message if boards out of distribution are not harder than those in distribution."""
    usual, fewer = boards.in_distribution, boards.out_of_distribution
    # Of the paper's own 9x9, 31 to 34 givens are in distribution and out of it.
    key = "most" if boards.size == "9x9" else "least"
    if fewer.most >= getattr(usual, key):
        yield (
            f"{place}boards > out_of_distribution > most ({fewer.most}) must be below"
            f" in_distribution > {key} ({getattr(usual, key)})"
        )


def _find_lacking_boards(place: str, own: Settings | MoreBoards) -> Iterator[str]:
    """Yield a message per metric that is to measure more boards than there are."""
    energy = own.metrics.pseudo_energy
    if energy.eigenbases > energy.boards:
        yield (
            f"{place}metrics > pseudo_energy > eigenbases ({energy.eigenbases}) must not be above"
            f" its boards ({energy.boards})"
        )
    for metric, settings in own.metrics:
        count = getattr(settings, "boards", 0)
        if count > own.boards.test:
            yield (
                f"{place}metrics > {metric} > boards ({count}) must not be above boards > test"
                f" ({own.boards.test})"
            )
