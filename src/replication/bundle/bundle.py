"""The form of a bundle: small text files, in which git keeps the reference of each study, too.

results/reference/<study>/
    manifest.json       settings, code, machine, and digests of all files below
    verdicts.json       verdicts on all claims
    evidence.csv        the values that they were made of
    fingerprints.csv    digests of all runs
    figures/            numbers of the figures
    paper_scale/        optional: the same files of a run at the paper's scale, or of a part of
                        it, a second reference
"""

import hashlib
import json
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pandas as pd

from replication.base.errors import InputError
from replication.base.provenance import digest
from replication.base.storage import unreadable_error, write_text
from replication.base.strict import Strict
from replication.base.tables import MISSING
from replication.judge.verdicts import Verdict

Parsed = TypeVar("Parsed", bound=Strict)

MANIFEST, VERDICTS = "manifest.json", "verdicts.json"
EVIDENCE, FINGERPRINTS = "evidence.csv", "fingerprints.csv"
EVIDENCE_COLUMNS = ("claim", "cell", "sample", "seed", "value", "published")
RARE_COLUMNS = ("diverged",)
"""Further columns of evidence, left out if empty: see `without_diverged`."""
EVIDENCE_NUMBERS: dict[Hashable, Any] = {
    "seed": "Int64",
    "value": "float64",
    "published": "float64",
}
PAPER_SCALE = "paper_scale"
"""Folder, in that of a study's reference, of its second reference."""


@dataclass(frozen=True)
class Bundle:
    """Numbers of a study: those that git keeps, or those of a run."""

    tables: dict[str, pd.DataFrame]
    """Figures' numbers, evidence and fingerprints, by path relative to the folder."""
    verdicts: dict[str, Verdict]
    """Verdicts by number of the claim."""
    depends: dict[str, dict[str, str]]
    """`settings`, `code` and `machine`, see `Manifest`."""


class Expected(NamedTuple):
    """Contents of a whole bundle."""

    tables: set[str]
    """Paths of tables."""
    claims: set[str]
    """Numbers of claims."""
    runs: pd.DataFrame
    """Experiment and seed of every run, and the columns that distinguish the runs of a seed."""

    def within(self, kept: Bundle) -> "Expected":
        """Return the parts that a bundle has, which may lack some; all runs of an experiment."""
        known = self.runs["experiment"].isin(kept.tables[FINGERPRINTS]["experiment"])
        claims = self.claims & kept.verdicts.keys()
        return Expected(self.tables & kept.tables.keys(), claims, self.runs[known])


class Manifest(Strict):
    """Settings, code and machine of a bundle, and digests of its files."""

    settings: dict[str, str]
    """Digest by figure, claim, test and experiment."""
    code: dict[str, str]
    """Digest by module."""
    machine: dict[str, str]
    """Processor and versions, see `replication.bundle.machine`."""
    files: dict[str, str]
    """SHA-256 of every other file of the bundle, by path."""


class _Verdicts(Strict):
    verdicts: list[Verdict]


def reference_folder(root: Path, study: str) -> Path:
    """Return the folder of the reference of a study, in a project's folder."""
    return root / "results/reference" / study


def find_references(root: Path) -> list[str]:
    """Return the names of the studies of which a project keeps a reference."""
    return sorted(path.parent.name for path in reference_folder(root, "").glob(f"*/{MANIFEST}"))


def figure_path(figure: str) -> str:
    """Return the path of a figure's numbers within a bundle."""
    return f"figures/{figure}.csv"


def write_bundle(folder: Path, bundle: Bundle) -> None:
    """Write a bundle; then remove files of an earlier one in the folder that it does not have."""
    files = {
        path: table.to_csv(index=False, lineterminator="\n")
        for path, table in bundle.tables.items()
    }
    verdicts = _Verdicts(verdicts=list(bundle.verdicts.values())).model_dump(
        mode="json", exclude_defaults=True
    )
    files[VERDICTS] = json.dumps(verdicts, indent=1) + "\n"
    digests = {path: _digest(text) for path, text in sorted(files.items())}
    manifest = Manifest.model_validate({**bundle.depends, "files": digests})
    for path, text in files.items():
        write_text(folder / path, text)
    write_text(folder / MANIFEST, manifest.model_dump_json(indent=1) + "\n")
    for name in _unlisted_files(folder, manifest):
        (folder / name).unlink()


def read_bundle(folder: Path) -> tuple[Bundle, list[str]]:
    """Return a bundle, and the files that were changed or added after it was made.

    Raises:
        InputError: if it is missing or damaged.
    """
    manifest = _parse(Manifest, folder, MANIFEST)
    texts = {name: _read_text(folder, name) for name in manifest.files}
    for name in (VERDICTS, EVIDENCE, FINGERPRINTS):
        if name not in texts:
            raise _damaged_error(folder, MANIFEST, f"does not list {name}")
    changed = [name for name, text in texts.items() if _digest(text) != manifest.files[name]]
    bundle = Bundle(
        tables={name: _read_table(folder, name) for name in texts if name.endswith(".csv")},
        verdicts=read_verdicts(folder),
        depends=manifest.model_dump(include={"settings", "code", "machine"}),
    )
    return bundle, [*changed, *_unlisted_files(folder, manifest)]


def reference_digest(folder: Path) -> str:
    """Return the digest of all files of a reference except its manifest, and so of its numbers.

    Raises:
        InputError: if it has no manifest, or a damaged one.
    """
    return digest(_parse(Manifest, folder, MANIFEST).files)


def read_unchanged(folder: Path) -> Bundle:
    """Return a bundle that is as it was made.

    Raises:
        InputError: if it is missing, damaged, or was changed after it was made.
    """
    bundle, changed = read_bundle(folder)
    if changed:
        raise InputError(
            f"{folder}: {', '.join(changed)} changed after it was made; restore it with git"
        )
    return bundle


def read_verdicts(folder: Path) -> dict[str, Verdict]:
    """Return the verdicts of a bundle alone, by number of the claim.

    Raises:
        InputError: if they are missing or damaged.
    """
    return {each.claim: each for each in _parse(_Verdicts, folder, VERDICTS).verdicts}


def read_numbers(path: Path) -> pd.DataFrame:
    """Return a table of numbers, to the last bit.

    Raises:
        InputError: if it cannot be read, or evidence lacks a column or has text among numbers.
    """
    kinds: dict[Hashable, Any] = {"digest": "str"}
    if path.name == EVIDENCE:
        texts = ("claim", "cell", "sample", *RARE_COLUMNS)
        kinds = {**dict.fromkeys(texts, "str"), **EVIDENCE_NUMBERS}
    try:
        table = pd.read_csv(path, dtype=kinds, keep_default_na=False, na_values=MISSING)
    except (OSError, ValueError) as error:
        raise unreadable_error(path, error) from error
    usual = [name for name in table if name not in RARE_COLUMNS]
    if path.name == EVIDENCE and usual != list(EVIDENCE_COLUMNS):
        raise _damaged_error(path.parent, path.name, f"its columns are {', '.join(table.columns)}")
    return table


def run_keys(runs: pd.DataFrame) -> list[str]:
    """Return the columns that distinguish runs: all except their digest and numbers."""
    numbers = {"digest", *runs.select_dtypes("float")}
    return [str(name) for name in runs if name not in numbers]


def _read_text(folder: Path, name: str) -> str:
    try:
        return (folder / name).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise _damaged_error(folder, name, f"cannot be read ({error})") from error


def _read_table(folder: Path, name: str) -> pd.DataFrame:
    try:
        return read_numbers(folder / name)
    except InputError as error:
        raise _damaged_error(folder, name, "is damaged, or is another table") from error


def _parse(model: type[Parsed], folder: Path, name: str) -> Parsed:
    try:
        return model.parse_json(_read_text(folder, name), name)
    except InputError as error:
        if not error.message.startswith(f"{name}: "):
            raise
        wrong = error.message.partition("\n")[0].removeprefix(f"{name}: ")
        raise _damaged_error(folder, name, f"is damaged ({wrong})") from error


def _damaged_error(folder: Path, name: str, wrong: str) -> InputError:
    remedy = (
        f"restore the reference with git, or make it again with `snakemake reference --config"
        f" study={folder.name}`"
    )
    if folder.name == PAPER_SCALE:
        remedy = f"restore it with git, or delete {folder}"
    return InputError(f"{folder / name}: {wrong}; {remedy}")


def _unlisted_files(folder: Path, manifest: Manifest) -> list[str]:
    """Return the files that do not belong to the bundle, nor to the second one in it."""
    names = (str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    return [
        name
        for name in names
        if name not in {MANIFEST, *manifest.files} and not name.startswith(f"{PAPER_SCALE}/")
    ]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
