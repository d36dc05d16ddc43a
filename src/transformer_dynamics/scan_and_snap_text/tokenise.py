"""Cut the texts of a corpus into words and number them."""

import hashlib
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from replication.base.errors import InputError
from transformer_dynamics.scan_and_snap_text.settings import TokenJob
from transformer_dynamics.scan_and_snap_text.tokens import corpus


def sample(job: TokenJob, seeds: list[int], sources: list[Path]) -> dict[str, NDArray[Any]]:
    """Number the words of a corpus.

    Args:
        job: digests of its texts.
        seeds: not used, as nothing is drawn.
        sources: files of the training and of the validation text.

    Returns:
        The arrays of a `Corpus`.

    Raises:
        InputError: if a file cannot be read or is not the text that the job names.
    """
    train, valid = sources
    return corpus(_lines(train, job.train), _lines(valid, job.valid)).arrays()


def _lines(path: Path, sha256: str) -> list[str]:
    """The lines of a text whose digest must be the given one."""
    try:
        content = path.read_bytes()
        lines = content.decode().split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as text ({error})") from error
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise InputError(
            f"{path}: its sha256 is {found}, expected {sha256}: it is not the text that the"
            " configuration names; delete it and run again"
        )
    return lines
