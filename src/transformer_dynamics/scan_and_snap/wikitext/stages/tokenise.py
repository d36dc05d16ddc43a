"""Cut the texts of a corpus into words and number them."""

import hashlib
from pathlib import Path

import click
import numpy as np

from transformer_dynamics.errors import InputError
from transformer_dynamics.scan_and_snap.wikitext.settings import TokenJob
from transformer_dynamics.scan_and_snap.wikitext.tokens import corpus
from transformer_dynamics.storage import unreadable, write_arrays

TEXT = click.Path(path_type=Path)


@click.command(help=__doc__)
@click.option("--settings", required=True, help="TokenJob as JSON.")
@click.option("--train", required=True, type=TEXT)
@click.option("--valid", required=True, type=TEXT)
@click.option("--output", required=True, type=TEXT)
def main(settings: str, train: Path, valid: Path, output: Path) -> None:
    """Write the arrays of a `Corpus`."""
    job = TokenJob.parse_json(settings, "--settings")
    made = corpus(_lines(train, job.train), _lines(valid, job.valid))
    arrays = {name: np.asarray(values) for name, values in made._asdict().items()}
    write_arrays(output, arrays, job.provenance())


def _lines(path: Path, sha256: str) -> list[str]:
    """The lines of a text whose digest must be the given one."""
    try:
        content = path.read_bytes()
        lines = content.decode().split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error) from error
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise InputError(
            f"{path}: its sha256 is {found}, expected {sha256}: it is not the text that the"
            " configuration names; delete it and run again"
        )
    return lines


if __name__ == "__main__":
    main()
