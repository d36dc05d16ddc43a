"""Changes of references since a commit, to the last bit: a tolerance would hide them."""

import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import pandas as pd

from replication.base.commit import run_git
from replication.base.errors import InputError
from replication.base.strict import unknown_key
from replication.base.tables import write_csv
from replication.bundle.bundle import (
    FINGERPRINTS,
    MANIFEST,
    Bundle,
    Expected,
    find_references,
    read_bundle,
    reference_folder,
    run_keys,
)
from replication.verify.comparison import compare_with_reference, missing_parts
from replication.verify.differences import Difference


def print_changes(root: Path, commit: str, names: Sequence[str], output: Path) -> None:
    """Print changed verdicts and the largest change of each table; write all changes to a file.

    Without a name of a study, all count that have or had a reference. An `InputError` says that git
    does not know the commit, or that a reference is damaged.
    """
    with TemporaryDirectory() as folder:
        before = Path(folder)
        _extract_references(root, commit, before)
        known = sorted({*find_references(before), *find_references(root)})
        for name in names:
            if name not in known:
                raise InputError(f"--study: {unknown_key(name, known, 'study', 'studies')}")
        rows = [
            (study, *change)
            for study in names or known
            for change in _changes(_read(before, study), _read(root, study))
        ]
    changes = pd.DataFrame(rows, columns=["study", *Difference._fields])
    write_csv(output, changes)
    for line in _lines(changes):
        click.echo(line)
    click.echo(f"All changes since {commit} are in {output}")


def _lines(changes: pd.DataFrame) -> Iterator[str]:
    """Yield the numbers of changes, then verdicts, first those with another word, then tables."""
    is_verdict = changes["quantity"].str.startswith("verdict on ")
    verdicts, others = changes[is_verdict], changes[~is_verdict]
    is_other = _words(verdicts["reference"]) != _words(verdicts["found"])
    tables = others.groupby(["study", "place"], sort=False)
    yield (
        f"{is_other.sum()} verdicts changed, {(~is_other).sum()} more have other numbers;"
        f" {len(others)} values in {tables.ngroups} tables changed"
    )
    for _, row in pd.concat([verdicts[is_other], verdicts[~is_other]]).iterrows():
        yield f"{row.study}, {row.quantity}: was {row.reference}, is {row.found}"
    for (study, place), table in tables:
        # A changed form of the table has no size, and comes first.
        row = table.sort_values("difference", ascending=False, na_position="first").iloc[0]
        largest = f"{row.quantity}: was {row.reference}, is {row.found}"
        yield f"{study}, {place}: {len(table)} changed, the most {largest}"


def _words(verdicts: pd.Series) -> pd.Series:
    """Return the words of verdicts, without seeds and sentence."""
    return verdicts.str.replace(r" (by \d|\().*", "", regex=True)


def _extract_references(root: Path, commit: str, folder: Path) -> None:
    archive = folder / "references.tar"
    if run_git(root, "archive", f"--output={archive}", commit, "results/reference") is None:
        raise InputError(
            f"--since: git has no references of the commit {commit}; name one that"
            f" `git log results/reference` lists, in the folder {root.resolve()}"
        )
    with tarfile.open(archive) as stream:
        stream.extractall(folder, filter="data")


def _read(root: Path, study: str) -> Bundle | None:
    folder = reference_folder(root, study)
    return read_bundle(folder)[0] if (folder / MANIFEST).is_file() else None


def _changes(before: Bundle | None, after: Bundle | None) -> Iterator[Difference]:
    if before is None or after is None:
        was, found = ("none" if each is None else "there" for each in (before, after))
        yield Difference("reference", "all of it", was, found)
        return
    # As if one machine had made both: then every bit counts.
    yield from compare_with_reference(replace(after, depends=before.depends), before, [], {})
    runs = before.tables[FINGERPRINTS]
    expected = Expected({*before.tables}, set(), runs[run_keys(runs)])
    yield from missing_parts("reference", after, expected)
    for claim in before.verdicts.keys() - after.verdicts.keys():
        yield Difference("reference", f"verdict on {claim}", "there", "none")
