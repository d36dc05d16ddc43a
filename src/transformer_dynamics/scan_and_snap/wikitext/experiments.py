"""Typed settings of experiments on text, and the jobs that measure them."""

from itertools import product
from typing import Annotated, ClassVar, Literal, NamedTuple

from pydantic import AfterValidator, Field

from transformer_dynamics.provenance import Provenance, provenance
from transformer_dynamics.scan_and_snap.wikitext.settings import (
    Evaluation,
    Positive,
    TextModel,
    TextTraining,
    TextTrainJob,
    TokenJob,
)
from transformer_dynamics.strict import Strict, distinct

TextMetric = Literal["maps", "validation", "dynamics"]
Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
Names = Annotated[list[str], Field(min_length=1), AfterValidator(distinct)]
Seeds = Annotated[
    list[Annotated[int, Field(ge=0, lt=2**32, strict=True)]],
    Field(min_length=1),
    AfterValidator(distinct),
]


class TextExperiment(Strict):
    """Training runs: every corpus, model, learning rate and seed."""

    corpora: Names
    """Names of the corpora."""
    models: Annotated[dict[Name, TextModel], Field(min_length=1)]
    """The models by name."""
    learning_rates: Annotated[list[Positive], Field(min_length=1), AfterValidator(distinct)]
    """Rates of all parameters but those of the lowest feed-forward part."""
    seeds: Seeds
    """Seeds of initialisation and dropout."""
    training: TextTraining
    """How they are trained."""
    evaluation: Evaluation = Evaluation()
    """On which text attention is recorded."""


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
        """Name of its files."""
        return f"{self.variant}-seed{self.seed}"


class TextRuns(Strict):
    """What all runs of an experiment depend on."""

    corpora: dict[str, TokenJob]
    """The corpora by name."""
    experiment: TextExperiment
    """Its settings."""
    device: Literal["cpu", "cuda"]
    """Where they are trained."""

    @property
    def runs(self) -> list[TextRun]:
        """All runs, in their order."""
        of = self.experiment
        return [
            TextRun(*run) for run in product(of.corpora, of.models, of.learning_rates, of.seeds)
        ]

    def train_job(self, run: TextRun) -> TextTrainJob:
        """The job that trains a run."""
        return TextTrainJob(
            tokens=self.corpora[run.corpus],
            model=self.experiment.models[run.model],
            learning_rate=run.learning_rate,
            training=self.experiment.training,
            evaluation=self.experiment.evaluation,
            device=self.device,
        )


class TextMeasureJob(TextRuns):
    """What a table of one metric over all runs of an experiment depends on."""

    stage: ClassVar[str] = "transformer_dynamics.scan_and_snap.wikitext.stages.measure"
    metric: TextMetric
    """`maps`: attention on the shown chunk; `validation`: entropy and perplexity of every trained
    model; `dynamics`: what attention is spent on, along training."""

    def provenance(self) -> Provenance:
        """What the file that this job makes must say of itself."""
        return provenance(self.stage, self.model_dump(mode="json"), self.experiment.seeds)
