"""The data sets that experiments are run on: where they come from and how to know them."""

from pathlib import Path
from typing import Annotated

import yaml
from pydantic import Field

from transformer_dynamics.errors import InputError
from transformer_dynamics.strict import Strict

Text = Annotated[str, Field(min_length=1)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
ArchiveUrl = Annotated[str, Field(pattern=r"^https://[^\s/?#]+/([^\s?#]+/)?\w[\w.-]*\.zip$")]
Name = Annotated[str, Field(pattern=r"^[a-z0-9_]+$")]


class Member(Strict):
    """A file inside an archive."""

    path: Text
    """Its name there, with folders."""
    sha256: Sha256 | None = None
    """Digest of its content; without one, the digest of the archive covers it."""
    bytes: Annotated[int, Field(ge=1)] | None = None
    """Its size, if it is known."""


class Splits(Strict):
    """The members of an archive that are taken."""

    train: Member
    """The text to train on."""
    valid: Member
    """The text to choose settings by."""
    test: Member
    """The text to report on."""


class Archive(Strict):
    """All that fetching depends on."""

    url: ArchiveUrl
    """Address of a zip file; only https."""
    sha256: Sha256
    """Digest of the zip file."""
    bytes: Annotated[int, Field(ge=1)]
    """Size of the zip file."""
    files: Splits
    """What is taken from it."""

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


class Datasets(Strict):
    """The registry of data sets."""

    datasets: dict[Name, Dataset]
    """The data sets by name."""


def read_datasets(path: Path) -> dict[str, Dataset]:
    """Read the registry from YAML.

    Raises:
        InputError: if it cannot be read, or names what is wrong in it.
    """
    try:
        data = yaml.safe_load(path.read_text())
    except (OSError, yaml.YAMLError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
    return Datasets.parse(data, str(path)).datasets
