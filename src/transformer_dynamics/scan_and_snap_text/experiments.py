"""Typed settings of experiments on text, and the jobs that measure them."""

from itertools import product
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, Field

from replication.base.strict import Strict, refuse_repeated
from replication.study.seeds import Seed
from transformer_dynamics.scan_and_snap_text.measure_settings import WordMeasures
from transformer_dynamics.scan_and_snap_text.settings import (
    Evaluation,
    Name,
    Names,
    Positive,
    TextModel,
    TextTraining,
    TokenJob,
)

TextMetric = Literal["fingerprint", "maps", "validation", "dynamics"]


class TextRun(NamedTuple):
    """One training run of an experiment."""

    corpus: str
    """Name of the corpus."""
    model: str
    """Name of the model."""
    learning_rate: float
    """Its rate."""
    seed: int
    """Its seed."""

    @property
    def variant(self) -> str:
        """What is trained, whatever the seed."""
        return f"{self.corpus}-{self.model}-rate{self.learning_rate:g}"

    @property
    def name(self) -> str:
        """Name of its file."""
        return f"{self.variant}-seed{self.seed}"


class TextExperiment(Strict):
    """Training runs: every corpus, model, learning rate and seed."""

    corpora: Names
    """Names of the corpora."""
    models: Annotated[dict[Name, TextModel], Field(min_length=1)]
    """The models by name."""
    learning_rates: Annotated[list[Positive], Field(min_length=1), AfterValidator(refuse_repeated)]
    """Rates of all parameters but those of the lowest feed-forward part."""
    seeds: Annotated[list[Seed], Field(min_length=1), AfterValidator(refuse_repeated)]
    """Seeds of initialisation and dropout."""
    training: TextTraining
    """How they are trained."""
    evaluation: Evaluation = Evaluation()
    """What is recorded of attention."""

    @property
    def runs(self) -> list[TextRun]:
        """All runs, in their order."""
        axes = self.corpora, self.models, self.learning_rates, self.seeds
        return [TextRun(*run) for run in product(*axes)]


class TextMeasureJob(Strict):
    """What a table of one metric over all runs of an experiment depends on."""

    corpora: dict[str, TokenJob]
    """The corpora by name."""
    experiment: TextExperiment
    """Its settings."""
    device: Literal["cpu", "cuda"]
    """Where its runs are trained."""
    words: WordMeasures | None
    """Which words attention is compared on; of `dynamics` only."""
    metric: TextMetric
    """`fingerprint`: a few numbers and a digest of every run; `maps`: attention on the shown chunk;
    `validation`: entropy and perplexity of every trained model; `dynamics`: what attention is spent
    on, along training."""
