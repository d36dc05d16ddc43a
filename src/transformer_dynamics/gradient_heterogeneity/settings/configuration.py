"""The section of the configuration of this study."""

from typing import Annotated, Self

from pydantic import model_validator

from replication.base.strict import REMOVABLE, Name, unknown_key
from replication.plan.configuration import Computation
from replication.study.contract import Figure, FiguresOf, StudySettings
from replication.study.seeds import Seeds, seed_list
from transformer_dynamics.encoders.settings import (
    PAIRED,
    EncoderChoice,
    Folder,
    TextChoice,
    TextName,
    TextNumbers,
    refuse_without_folder,
)
from transformer_dynamics.gradient_heterogeneity.settings.data import SourceName, source_paths
from transformer_dynamics.gradient_heterogeneity.settings.experiments import (
    DrawnTexts,
    Grid,
    Heads,
    Heterogeneity,
    NetworkSetting,
    Pairs,
    SharedSettings,
    SmallTransformerSetting,
)
from transformer_dynamics.gradient_heterogeneity.settings.networks import Networks
from transformer_dynamics.gradient_heterogeneity.settings.training import Blocks, SharedTraining

HEADS = ("heads", "long_heads")
"""Names of the experiments with heads on features that stay."""
HETEROGENEITY = "heterogeneity"
"""Name of the experiment with pretrained networks that are measured."""
PAIRS = "pairs"
"""Name of the experiment with transformers that differ in the place of normalisation."""
SCALED_PAIRS = "scaled_pairs"
"""Name of the experiment with such transformers from random weights of other scales."""


class Settings(StudySettings):
    """Gradient heterogeneity, and what it means for optimisers of transformers."""

    encoder: EncoderChoice
    """Pretrained encoder of texts."""
    sets: Annotated[dict[TextName, TextNumbers], REMOVABLE]
    """Samples that are drawn of each set of labelled texts; `null` in an overlay removes one."""
    folders: Annotated[dict[SourceName, Folder], REMOVABLE] = {}
    """Folders that have files under the names of `datasets.yaml`; all others are fetched."""
    seeds: Seeds
    """Seeds of all experiments that do not have their own."""
    networks: Networks
    """Constants that all networks share."""
    training: SharedTraining
    """Constants that all trainings share."""
    blocks: Blocks
    """Measurement before training that coordinates and rates of blocks follow."""
    experiments: Annotated[dict[Name, Grid], REMOVABLE]
    """Trained networks by name; `null` in an overlay removes an experiment."""
    heads: Heads
    """Heads on features that stay."""
    long_heads: Heads
    """Heads on features that stay, for as many updates as the released settings have."""
    heterogeneity: Heterogeneity
    """Pretrained networks that are measured."""
    pairs: Pairs
    """Transformers that differ in the place of normalisation."""
    scaled_pairs: Pairs
    """Transformers that differ in the place of normalisation, from random weights of other scales,
    each at a learning rate that suits it."""
    figures: Annotated[
        dict[str, Figure], FiguresOf(f"{__package__}".removesuffix(".settings"))
    ] = {}
    """The figures by name: `figures/gradient_heterogeneity/<name>.pdf`."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        for name in (*HEADS, HETEROGENEITY, PAIRS, SCALED_PAIRS):
            if name in self.experiments:
                raise ValueError(f"experiments > {name}: the name has a meaning; choose another")
        refuse_without_folder(self.sets)
        for name, numbers in self.sets.items():
            _check_numbers(f"sets > {name}", numbers.train, numbers.validation)
        for experiment, grid in self.experiments.items():
            for name, case in grid.cases.items():
                where = f"experiments > {experiment} > cases > {name} > network"
                self._check_network(where, case.network)
        for experiment, heads in self.heads_by_experiment.items():
            for name, task in heads.tasks.items():
                self._check_set(f"{experiment} > tasks > {name}", task.texts)
        for name, measured in self.heterogeneity.cases.items():
            where = f"heterogeneity > cases > {name} > network"
            self._check_network(where, measured.network)
        for name, pairs in ((PAIRS, self.pairs), (SCALED_PAIRS, self.scaled_pairs)):
            self._check_drawn(f"{name} > drawn", pairs.drawn)
            _check_single(f"{name} > drawn", pairs.drawn)
        return self

    @property
    def heads_by_experiment(self) -> dict[str, Heads]:
        """Heads on features that stay, by name of the experiment."""
        return {name: getattr(self, name) for name in HEADS}

    def _check_network(self, where: str, network: NetworkSetting) -> None:
        if isinstance(network, DrawnTexts):
            self._check_drawn(where, network)
        if isinstance(network, SmallTransformerSetting):
            _check_single(where, network)

    def _check_drawn(self, where: str, drawn: DrawnTexts) -> None:
        self._check_set(where, drawn.texts)
        numbers = self.sets[drawn.texts]
        _check_numbers(where, drawn.train or numbers.train, drawn.validation or numbers.validation)

    def _check_set(self, where: str, name: TextName) -> None:
        if name not in self.sets:
            raise ValueError(f"{where} > texts: {unknown_key(name, [*self.sets])}")

    def seeds_of(self, own: Seeds | None) -> list[int]:
        """Return an experiment's own seeds, or those of all."""
        return seed_list(self.seeds if own is None else own)

    def text_choice(self, name: TextName) -> TextChoice:
        """Return a set of texts with its files."""
        return TextChoice(name=name, **self.sets[name].model_dump())

    def shared(self, computation: Computation) -> SharedSettings:
        """Return the settings that all experiments share, without the folders of files."""
        return SharedSettings(
            encoder=self.encoder.name,
            sets={
                name: self.text_choice(name).model_copy(update={"folder": None})
                for name in self.sets
            },
            networks=self.networks,
            training=self.training,
            blocks=self.blocks,
            device=computation.device,
        )

    def files(self, name: SourceName) -> tuple[str, ...]:
        """Return the paths of the files of a source."""
        return source_paths(name, self.folders.get(name))


def _check_numbers(where: str, train: int | None, validation: int | None) -> None:
    if (train is None) != (validation is None):
        raise ValueError(f"{where}: give both train and validation, or none of them")


def _check_single(where: str, drawn: DrawnTexts) -> None:
    if drawn.texts in PAIRED:
        raise ValueError(
            f"{where} > texts: {drawn.texts} has pairs; small transformers read single texts"
        )
