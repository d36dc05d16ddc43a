"""Settings of the study: its section of the configuration, and what it refuses."""

from collections.abc import Iterator
from itertools import chain
from math import floor
from typing import Annotated, Self

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
    Network,
    Penalty,
    Projections,
    Scale,
    SharedSettings,
)
from transformer_dynamics.recurrent_attention.settings.token_norms import TokenNormsJob
from transformer_dynamics.recurrent_attention.settings.training import Training, TrainJob

TOKEN_NORMS = "token_norms"
"""Name of the experiment of Figure 1."""
MOST_NUMBERS = 10**9
"""Most numbers that one array may hold."""
MOST_STEPS = 10**12
"""Most steps of single tokens in the training of a seed, a thousand times the paper's."""
MOST_MEASURED = 10**6
"""Largest number of steps, boards or draws of a metric."""
TUNING = "tuning"
"""Name of the experiment that chooses rates and strengths."""
Rate = Annotated[float, Field(gt=0, le=1)]
"""Learning rate of Adam, which moves every weight by about as much in an update. Above 1 a weight
soon is no number."""


class Condition(Strict):
    """Model and training of a condition, besides what all conditions share."""

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
    seeds: SeedRange | None = None
    """Seeds of its own; those of all conditions if left out."""


class Candidates(Strict):
    """Numbers that are tried for a condition on the uncounted seed, one at a time."""

    learning_rates: (
        Annotated[list[Rate], Field(min_length=1), AfterValidator(refuse_repeated)] | None
    ) = None
    """Learning rates that are tried."""
    strengths: Factors | None = None
    """Weights lambda of the penalty that are tried."""
    seeds: SeedRange | None = None
    """Seeds of these candidates; the uncounted one of all if left out."""

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
    """Number T of loops of the choice."""
    candidates: Annotated[dict[Name, Candidates], REMOVABLE]
    """Candidates by condition; `null` in an overlay removes one."""


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
                known = [*Metrics.model_fields] if key is metric else [*self.experiments]
                if key not in known:
                    raise ValueError(f"conditions_of > {metric}: {unknown_key(key, known)}")
        if not self.tuning.candidates:
            raise ValueError("tuning > candidates: those of one condition at least are needed")
        found = (
            self._find_judged_seeds(),
            self._find_too_large(),
            self._find_unmeasurable(),
            self._find_not_measured(),
        )
        if wrong := [*chain(*found)]:
            raise ValueError(wrong[0])
        return self

    def _find_judged_seeds(self) -> Iterator[str]:
        """Yield a message per place that chooses by seeds which are judged as well."""
        judged = {*seed_list(self.seeds)}
        judged.update(*(seed_list(self.seeds_of(each)) for each in self.experiments.values()))
        if self.tuning.seed in judged:
            yield "tuning > seed: must not be one of the seeds that are judged"
        for name, tried in self.tuning.candidates.items():
            if tried.seeds and judged & {*seed_list(tried.seeds)}:
                yield (
                    f"tuning > candidates > {name} > seeds: must not be among those that are judged"
                )

    def _find_too_large(self) -> Iterator[str]:
        """Yield a message per size that no memory is large enough for, or no life long enough."""
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
            f"metrics > {metric} > {key}": n for metric, own in self.metrics for key, n in own
        }
        for key, value in (counts | {"tuning > loops": self.tuning.loops}).items():
            most = max(value) if isinstance(value, list) else value
            if isinstance(most, int) and most > MOST_MEASURED:
                yield f"{key} must not be above {MOST_MEASURED:,}"

    def _find_unmeasurable(self) -> Iterator[str]:
        """Yield a message per setting that would fail only after training, or mean nothing."""
        metrics, cells = self.metrics, self.boards.cells
        usual, fewer = self.boards.in_distribution, self.boards.out_of_distribution
        # Of the paper's own 9x9, 31 to 34 givens are in distribution and out of it.
        key = "most" if self.boards.size == "9x9" else "least"
        if fewer.most >= getattr(usual, key):
            yield (
                f"boards > out_of_distribution > most ({fewer.most}) must be below in_distribution"
                f" > {key} ({getattr(usual, key)})"
            )
        if metrics.pseudo_energy.eigenbases > metrics.pseudo_energy.boards:
            yield (
                f"metrics > pseudo_energy > eigenbases ({metrics.pseudo_energy.eigenbases}) must"
                f" not be above its boards ({metrics.pseudo_energy.boards})"
            )
        for metric, own in metrics:
            count = getattr(own, "boards", 0)
            if count > self.boards.test:
                yield (
                    f"metrics > {metric} > boards ({count}) must not be above boards > test"
                    f" ({self.boards.test})"
                )
        for metric in ("exponents", "perturbed"):
            leading = getattr(metrics, metric).leading
            for name in self.conditions_of.get(metric, self.experiments):
                model = self.model(self.experiments[name])
                nulls = cells * model.width // model.block if model.normalised else 0
                if leading > cells * model.width - nulls:
                    yield (
                        f"metrics > {metric} > leading ({leading}) must not be above"
                        f" {cells * model.width - nulls}, the number of exponents of {name} that"
                        " are not null"
                    )
        share = metrics.pseudo_energy.share
        # As `theory.pseudo_energy.leading_directions` counts them.
        if floor(share * cells * self.width + 1e-9) < 1:
            yield (
                f"metrics > pseudo_energy > share ({share:g}) of {cells * self.width} directions"
                " is less than one; raise it"
            )
        own = metrics.trajectories
        if own.points < 2:
            yield "metrics > trajectories > points must be at least 2, the first and the last step"
        for key in ("early", "linear"):
            if getattr(own, key) > own.steps:
                yield (
                    f"metrics > trajectories > {key} ({getattr(own, key)}) must not be above steps"
                    f" ({own.steps})"
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

    def model(self, condition: Condition, where: str = "") -> Network:
        """Return the network of a condition.

        Raises:
            ValueError: if there can be none such; the message names its place.
        """
        given = condition.model_dump(include={*Network.model_fields})
        try:
            return Network.parse(self.models.model_dump() | {"width": self.width} | given, where)
        except InputError as error:
            raise ValueError(error.message) from error

    def train_job(self, condition: Condition, computation: Computation) -> TrainJob:
        """Return the job that trains a condition."""
        return TrainJob(
            boards=self.boards,
            model=self.model(condition),
            penalty=condition.penalty,
            learning_rate=condition.learning_rate,
            training=self.training,
            device=computation.device,
            trained=condition.trained,
        )

    def seeds_of(self, condition: Condition) -> SeedRange:
        """Return the seeds of a condition."""
        return condition.seeds or self.seeds
