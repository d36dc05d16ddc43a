"""Experiments on text, the corpora that they read, and other readings of the paper."""

from itertools import product
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, Field

from replication.base.strict import Name, Positives, Strict, refuse_repeated
from replication.study.seeds import Seed
from transformer_dynamics.scan_and_snap_text.settings.training import (
    Evaluation,
    Names,
    Sha256,
    TextModel,
    TextTraining,
    TokenJob,
)


class TextRun(NamedTuple):
    """One training run of an experiment."""

    corpus: str
    model: str
    learning_rate: float
    seed: int

    @property
    def variant(self) -> str:
        """Name of all that differs between runs but the seed."""
        return f"{self.corpus}-{self.model}-rate{self.learning_rate:g}"

    @property
    def name(self) -> str:
        """Name of the run's file."""
        return f"{self.variant}-seed{self.seed}"


class TextExperiment(Strict):
    """Training runs: every corpus, model, learning rate and seed."""

    corpora: Names
    """Names of the corpora."""
    models: Annotated[dict[Name, TextModel], Field(min_length=1)]
    """The models by name."""
    learning_rates: Positives
    """Rates of all parameters but those of the lowest feed-forward part."""
    seeds: Annotated[list[Seed], Field(min_length=1), AfterValidator(refuse_repeated)]
    """Seeds of initialisation and dropout."""
    training: TextTraining
    """Length, rates and batches."""
    evaluation: Evaluation = Evaluation()
    """Records of attention."""

    @property
    def runs(self) -> list[TextRun]:
        """Training runs of all combinations, in their order."""
        axes = self.corpora, self.models, self.learning_rates, self.seeds
        return [TextRun(*run) for run in product(*axes)]


class TextFile(Strict):
    """One split of a corpus."""

    name: str = Field(pattern="^[^/]+$")
    """Name of the file in `folder`."""
    sha256: Sha256
    """Digest of the file's content."""


class CorpusFiles(Strict):
    """A corpus of running text, words separated by spaces."""

    folder: str | None = None
    """Folder with the files; if left out, they are downloaded as `datasets.yaml` says."""
    train: TextFile
    """Training text."""
    valid: TextFile
    """Validation text."""

    @property
    def token_job(self) -> TokenJob:
        """Job that numbers the words of the corpus."""
        return TokenJob(train=self.train.sha256, valid=self.valid.sha256)

    def paths(self, name: str) -> tuple[str, ...]:
        """Return the paths of the training text and of the validation text of a corpus."""
        if self.folder is None:
            return tuple(f"results/datasets/{name}/{split}.txt" for split in ("train", "valid"))
        return tuple(str(Path(self.folder) / file.name) for file in (self.train, self.valid))


class OtherReading(Strict):
    """A variant of experiments."""

    title: str
    """Name of the variant in figures."""
    experiments: dict[Name, Name]
    """Name of the experiment that stands in for another one, by the name of the latter."""
