"""The data sets that experiments are run on: where they come from and how to know them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import Field

from replication.documents import read_yaml
from replication.errors import InputError
from replication.strict import Strict

Text = Annotated[str, Field(min_length=1)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
ArchiveUrl = Annotated[str, Field(pattern=r"^https://[^\s/?#]+/([^\s?#]+/)?\w[\w.-]*\.zip$")]
Name = Annotated[str, Field(pattern=r"^[a-z0-9_]+$")]
FileName = Annotated[str, Field(pattern=r"^\w[\w.-]*$")]


class Member(Strict):
    """A file inside an archive."""

    path: Text
    """Its name there, with folders."""
    sha256: Sha256 | None = None
    """Digest of its content; without one, the digest of the archive covers it."""
    bytes: Annotated[int, Field(ge=1)] | None = None
    """Its size, if it is known."""


class Archive(Strict):
    """All that fetching depends on."""

    url: ArchiveUrl
    """Address of a zip file; only https."""
    sha256: Sha256
    """Digest of the zip file."""
    bytes: Annotated[int, Field(ge=1)]
    """Size of the zip file."""
    files: Annotated[dict[FileName, Member], Field(min_length=1)]
    """What is taken from it, by the name that it gets."""

    @property
    def name(self) -> str:
        """Name of the zip file."""
        return self.url.rpartition("/")[2]


class Dataset(Strict):
    """A data set and what a user of it must know."""

    title: Text
    """What to call it."""
    licence: Text
    """Under which terms it may be used."""
    citation: Text
    """What to cite."""
    archive: Archive
    """Where it comes from."""
    offline: str = ""
    """What a user can do who cannot fetch it, to end a sentence."""


class Datasets(Strict):
    """The registry of data sets."""

    datasets: dict[Name, Dataset]
    """The data sets by name."""


class Fetched(NamedTuple):
    """A data set and where its files are put."""

    name: str
    """What its folder is called."""
    dataset: Dataset
    """What its registry entry says."""

    @property
    def folder(self) -> str:
        """Below the working folder."""
        return f"results/datasets/{self.name}"

    @property
    def outputs(self) -> list[str]:
        """Its files."""
        return [f"{self.folder}/{file}" for file in self.dataset.archive.files]


def find_datasets(folders: Iterable[Path]) -> list[Fetched]:
    """The data sets of the `datasets.yaml` of some folders, as far as they have one.

    Raises:
        InputError: if one cannot be read, names what is wrong in it, or two data sets of a name
            differ.
    """
    found: dict[str, Dataset] = {}
    for path in (folder / "datasets.yaml" for folder in folders):
        if path.is_file():
            for name, dataset in Datasets.parse(read_yaml(path), str(path)).datasets.items():
                if found.setdefault(name, dataset) != dataset:
                    raise InputError(f"{path}: there is another data set {name}; rename it")
    return [Fetched(name, dataset) for name, dataset in found.items()]
