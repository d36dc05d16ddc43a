"""Settings of gradient heterogeneity."""

from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from replication.base.strict import REMOVABLE, Name, refuse_repeated, unknown_key
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
)
from transformer_dynamics.gradient_heterogeneity.grid_settings import (
    Drawn,
    Grid,
    Known,
    Network,
    OfWords,
)
from transformer_dynamics.gradient_heterogeneity.head_settings import (
    ChosenOptimisers,
    HeadTask,
    HeadTraining,
)
from transformer_dynamics.gradient_heterogeneity.measured_grid_settings import Heterogeneity, Pairs
from transformer_dynamics.gradient_heterogeneity.net_settings import (
    Networks,
    SourceName,
    sources,
)
from transformer_dynamics.gradient_heterogeneity.run_settings import Blocks, SharedTraining

HEADS = "heads"
"""Name of the experiment with heads on features that stay."""
HETEROGENEITY = "heterogeneity"
"""Name of the experiment with pretrained networks that are measured."""
PAIRS = "pairs"
"""Name of the experiment with transformers that differ in the place of normalisation."""


def _distinct(tasks: dict[str, HeadTask]) -> dict[str, HeadTask]:
    refuse_repeated([*tasks.values()])
    return tasks


class Heads(HeadTraining):
    """Heads on features that stay as they are."""

    optimisers: ChosenOptimisers
    """All of them at the same rate."""
    tasks: Annotated[
        dict[Name, HeadTask], Field(min_length=1), AfterValidator(_distinct), REMOVABLE
    ]
    """By name; `null` in an overlay removes one."""
    seeds: Seeds
    """Of starts and orders."""


class Settings(StudySettings):
    """Gradient heterogeneity, and what it means for optimisers of transformers."""

    encoder: EncoderChoice
    """The pretrained encoder of texts."""
    sets: Annotated[dict[TextName, TextNumbers], REMOVABLE]
    """What is drawn of each set of labelled texts; `null` in an overlay removes one."""
    folders: Annotated[dict[SourceName, Folder], REMOVABLE] = {}
    """Folders that have files under the names of `datasets.yaml`; what is not named is fetched."""
    seeds: Seeds
    """Of all experiments that do not have their own."""
    networks: Networks
    """What all networks share."""
    training: SharedTraining
    """What all trainings share."""
    blocks: Blocks
    """What coordinates and rates of blocks follow, before training."""
    experiments: Annotated[dict[Name, Grid], REMOVABLE]
    """Trained networks by name; `null` in an overlay removes an experiment."""
    heads: Heads
    """Heads on features that stay."""
    heterogeneity: Heterogeneity
    """Pretrained networks that are measured."""
    pairs: Pairs
    """Transformers that differ in the place of normalisation."""
    figures: Annotated[dict[str, Figure], FiguresOf(__package__)] = {}
    """The figures by name: `figures/gradient_heterogeneity/<name>.pdf`."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        for name in (HEADS, HETEROGENEITY, PAIRS):
            if name in self.experiments:
                raise ValueError(f"experiments > {name}: the name has a meaning; choose another")
        for name, numbers in self.sets.items():
            if (numbers.train is None) != (numbers.validation is None):
                raise ValueError(f"sets > {name}: give both train and validation, or none of them")
        for experiment, grid in self.experiments.items():
            for name, case in grid.cases.items():
                where = f"experiments > {experiment} > cases > {name} > network"
                self._check_network(where, case.network)
        for name, task in self.heads.tasks.items():
            self._check_set(f"heads > tasks > {name}", task.texts)
        for name, measured in self.heterogeneity.cases.items():
            where = f"heterogeneity > cases > {name} > network"
            self._check_network(where, measured.network)
        self._check_drawn("pairs > drawn", self.pairs.drawn)
        self._check_single("pairs > drawn", self.pairs.drawn)
        return self

    def _check_network(self, where: str, network: Network) -> None:
        if isinstance(network, Drawn):
            self._check_drawn(where, network)
        if isinstance(network, OfWords):
            self._check_single(where, network)

    def _check_drawn(self, where: str, drawn: Drawn) -> None:
        self._check_set(where, drawn.texts)
        numbers = self.sets[drawn.texts]
        train, validation = drawn.train or numbers.train, drawn.validation or numbers.validation
        if (train is None) != (validation is None):
            raise ValueError(f"{where}: give both train and validation, or none of them")

    def _check_single(self, where: str, drawn: Drawn) -> None:
        if drawn.texts in PAIRED:
            raise ValueError(
                f"{where} > texts: {drawn.texts} has pairs; small transformers read single texts"
            )

    def _check_set(self, where: str, name: TextName) -> None:
        if name not in self.sets:
            raise ValueError(f"{where} > texts: {unknown_key(name, [*self.sets])}")

    def seeds_of(self, own: Seeds | None) -> list[int]:
        """An experiment's own seeds, or those of all."""
        return seed_list(self.seeds if own is None else own)

    def choice(self, name: TextName) -> TextChoice:
        """A set with its files."""
        return TextChoice(name=name, **self.sets[name].model_dump())

    def known(self, computation: Computation) -> Known:
        """What all experiments share; where files are does not matter to them."""
        return Known(
            encoder=self.encoder.name,
            sets={
                name: self.choice(name).model_copy(update={"folder": None}) for name in self.sets
            },
            networks=self.networks,
            training=self.training,
            blocks=self.blocks,
            device=computation.device,
        )

    def files(self, name: SourceName) -> tuple[str, ...]:
        """Paths of the files of a source."""
        return sources(name, self.folders.get(name))
