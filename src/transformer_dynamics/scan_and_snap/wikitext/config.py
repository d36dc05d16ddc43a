"""The configuration of training on text: corpora, experiments and figures."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from transformer_dynamics.errors import InputError
from transformer_dynamics.scan_and_snap.wikitext.experiments import (
    Name,
    Names,
    TextExperiment,
    TextMeasureJob,
    TextMetric,
    TextRuns,
)
from transformer_dynamics.scan_and_snap.wikitext.settings import Sha256, TokenJob
from transformer_dynamics.strict import Strict, distinct, unknown_key


class TextFile(Strict):
    """One split of a corpus."""

    name: str = Field(pattern="^[^/]+$")
    """Name of the file in `folder`."""
    sha256: Sha256
    """Digest of its content."""


class CorpusFiles(Strict):
    """A corpus of running text, words separated by spaces."""

    folder: str | None = None
    """Folder with the files; if left out, they are downloaded as `papers/datasets.yaml` says."""
    train: TextFile
    """Training text."""
    valid: TextFile
    """Validation text."""

    @property
    def token_job(self) -> TokenJob:
        """The job that numbers its words."""
        return TokenJob(train=self.train.sha256, valid=self.valid.sha256)


class TextFigure(Strict):
    """A figure of experiments on text."""

    metric: ClassVar[TextMetric]
    experiments: Names
    """Names of the experiments that are drawn."""


class Fig7(TextFigure):
    """Attention maps of the lowest layer along training, a row of panels per model."""

    metric: ClassVar[TextMetric] = "maps"
    drawing: Literal["fig7"]
    """Which drawing."""
    seed: int
    """The seed that is drawn."""
    iterations: Annotated[
        list[Annotated[int, Field(ge=0)]], Field(min_length=1), AfterValidator(distinct)
    ]
    """Numbers of updates that are drawn."""
    words: bool = False
    """Write the chunk's words on the axes."""


class Fig10(TextFigure):
    """Mean attention entropy on the validation text against the learning rate."""

    metric: ClassVar[TextMetric] = "validation"
    drawing: Literal["fig10"]
    """Which drawing."""
    panels: Annotated[dict[Name, str], Field(min_length=1)]
    """Corpora that have a panel, and its title; one without runs is marked as not tested."""


class WikitextDynamics(TextFigure):
    """What attention is spent on along training."""

    metric: ClassVar[TextMetric] = "dynamics"
    drawing: Literal["wikitext_dynamics"]
    """Which drawing."""


TextFigureSettings = Annotated[Fig7 | Fig10 | WikitextDynamics, Field(discriminator="drawing")]


class WikitextSettings(Strict):
    """Figures 7 and 10 of Scan and Snap: training on real text."""

    corpora: dict[Name, CorpusFiles]
    """The corpora by name."""
    experiments: dict[Name, TextExperiment]
    """The experiments by name."""
    figures: dict[Name, TextFigureSettings]
    """The figures by name: `figures/<name>.pdf`."""

    @model_validator(mode="after")
    def _check_references(self) -> Self:
        for name, experiment in self.experiments.items():
            for corpus in experiment.corpora:
                if corpus not in self.corpora:
                    known = unknown_key(corpus, list(self.corpora))
                    raise ValueError(f"experiments > {name} > corpora: {known}")
        for name, figure in self.figures.items():
            for shown in figure.experiments:
                if shown not in self.experiments:
                    known = unknown_key(shown, list(self.experiments))
                    raise ValueError(f"figures > {name} > experiments: {known}")
            if isinstance(figure, Fig7):
                self._check_maps(f"figures > {name}", figure)
            if isinstance(figure, Fig10):
                self._check_panels(f"figures > {name}", figure)
        return self

    def _check_maps(self, where: str, figure: Fig7) -> None:
        models = [
            model for name in figure.experiments for model in self.experiments[name].models.values()
        ]
        if len({model.layers for model in models}) < len(models):
            raise ValueError(f"{where}: two models have the same number of layers, one row each")
        for name in figure.experiments:
            experiment = self.experiments[name]
            if figure.seed not in experiment.seeds:
                raise ValueError(f"{where}: experiment '{name}' has no seed {figure.seed}")
            if max(len(experiment.corpora), len(experiment.learning_rates)) > 1:
                raise ValueError(f"{where}: experiment '{name}' must have one corpus and one rate")
            training = experiment.training
            recorded = {*training.recorded, training.updates}
            absent = sorted(set(figure.iterations) - recorded)
            if absent:
                raise ValueError(f"{where}: experiment '{name}' does not record update {absent[0]}")

    def _check_panels(self, where: str, figure: Fig10) -> None:
        shown = [self.experiments[name] for name in figure.experiments]
        if len({name for experiment in shown for name in experiment.models}) > 1:
            raise ValueError(f"{where}: its experiments must have one model, but have several")
        for corpus in (name for experiment in shown for name in experiment.corpora):
            if corpus not in figure.panels:
                raise ValueError(f"{where} > panels: corpus '{corpus}' has none; add its title")

    @property
    def anywhere(self) -> "WikitextSettings":
        """The settings without the folders of this machine, which change no number."""
        corpora = {
            name: files.model_copy(update={"folder": None}) for name, files in self.corpora.items()
        }
        return self.model_copy(update={"corpora": corpora})

    def runs(self, experiment: str, device: Literal["cpu", "cuda"]) -> TextRuns:
        """What all runs of an experiment depend on.

        Raises:
            InputError: if there is no such experiment.
        """
        if experiment not in self.experiments:
            raise InputError(f"experiment: {unknown_key(experiment, list(self.experiments))}")
        found = self.experiments[experiment]
        corpora = {name: self.corpora[name].token_job for name in found.corpora}
        return TextRuns(corpora=corpora, experiment=found, device=device)

    def measure_job(
        self, experiment: str, metric: TextMetric, device: Literal["cpu", "cuda"]
    ) -> TextMeasureJob:
        """The job that makes one metric's table of an experiment; errors as in `runs`."""
        return TextMeasureJob(**dict(self.runs(experiment, device)), metric=metric)
