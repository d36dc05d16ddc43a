"""The data sets that experiments are run on: where they come from and how to know them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, NamedTuple, Self
from unicodedata import normalize

from pydantic import Field, model_validator

from replication.base.code_digest import SOURCE
from replication.base.errors import InputError
from replication.base.strict import Strict
from replication.base.yaml_files import read_yaml

Text = Annotated[str, Field(min_length=1)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
_FILE = r"https://[^\s/?#]+/([^\s?#]+/)?\w[\w.-]*"
_WHEEL = r"pkg:pypi/[a-z0-9][a-z0-9.-]*@\w[\w.]*"
Url = Annotated[str, Field(pattern=f"^({_FILE}|{_WHEEL})$")]
ZipUrl = Annotated[str, Field(pattern=rf"^({_FILE}\.(zip|whl)|{_WHEEL})$")]
Name = Annotated[str, Field(pattern=r"^[a-z0-9_]+$")]
FileName = Annotated[str, Field(pattern=r"^\w[\w.-]*$")]


class Member(Strict):
    """A file inside an archive."""

    path: Text
    """Its name there, with folders."""
    sha256: Sha256 | None = None
    """Digest of its content; without one, the digest of the archive covers it."""
    bytes: Annotated[int, Field(ge=0)] | None = None
    """Its size, if it is known."""


class Download(Strict):
    """A file to fetch."""

    url: Url
    """Its address: https, or `pkg:pypi/name@version` of a wheel, which pip fetches from the index
    that it is set up to use."""
    sha256: Sha256
    """Its digest."""
    bytes: Annotated[int, Field(ge=1)]
    """Its size."""

    @property
    def requirement(self) -> str | None:
        """What pip is asked for; nothing of what it does not fetch."""
        kind, _, package = self.url.partition(":pypi/")
        return package.replace("@", "==") if kind == "pkg" else None


class Archive(Download):
    """A zip file of which some members are wanted."""

    url: ZipUrl
    """Its address; a wheel is a zip file, too."""
    files: Annotated[dict[FileName, Member], Field(min_length=1)]
    """What is taken from it, by the name that it gets."""

    @property
    def name(self) -> str:
        """Name of the zip file."""
        name = self.url.rpartition("/")[2]
        return f"{name}.whl" if self.requirement else name


class Content(Strict):
    """All that fetching depends on: either an archive or the files themselves."""

    archive: Archive | None = None
    """Where the files are packed."""
    files: dict[FileName, Download] = {}
    """The files by the name that each gets."""

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        if (self.archive is None) == (not self.files):
            raise ValueError("must have either archive or files")
        return self

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        """Refuse names of one file; some disks tell neither capitals nor ways to write é apart."""
        taken: dict[str, str] = {}
        for name in self.written:
            plain = normalize("NFC", name).casefold()
            if plain in taken:
                raise ValueError(
                    f"{taken[plain]} and {name} would be one file; give one of the data set's files"
                    " another name"
                )
            taken[plain] = name
        return self

    @property
    def downloads(self) -> dict[str, Download]:
        """What is fetched, by name."""
        return {self.archive.name: self.archive} if self.archive else dict(self.files)

    @property
    def names(self) -> list[str]:
        """Names of the files that there are in the end."""
        return list(self.archive.files if self.archive else self.files)

    @property
    def written(self) -> list[str]:
        """Names of all that fetching writes: downloads, what is not whole of them, and members."""
        downloads = list(self.downloads)
        members = self.names if self.archive else []
        return [*downloads, *(f"{name}.part" for name in downloads), *members]


class Dataset(Content):
    """A data set and what a user of it must know."""

    title: Text
    """What to call it."""
    licence: Text
    """Under which terms it may be used."""
    citation: Text
    """What to cite."""
    offline: str = ""
    """What a user can do who cannot fetch it, to end a sentence."""

    @property
    def content(self) -> Content:
        """What of it fetching depends on."""
        return Content(archive=self.archive, files=self.files)


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
        return [f"{self.folder}/{file}" for file in self.dataset.names]


def registries(source: Path = SOURCE) -> list[Path]:
    """Folders of the packages beside the engine that have a `datasets.yaml`.

    They are those of studies, and of what several studies share.
    """
    return sorted(path.parent for path in source.glob("*/*/datasets.yaml"))


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
