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
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from replication.base.errors import InputError
from replication.base.keys import digest
from replication.base.storage import MISSING, unreadable_error, write_text
from replication.base.strict import Strict
from replication.judge.verdicts import Verdict

Parsed = TypeVar("Parsed", bound=Strict)
MANIFEST, VERDICTS = "manifest.json", "verdicts.json"
EVIDENCE, FINGERPRINTS = "evidence.csv", "fingerprints.csv"
TABLES_BY_KIND = {"claim": EVIDENCE, "experiment": FINGERPRINTS}
"""Tables that hold parts as rows; a column with the name of the kind has that of the part."""
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


def _empty_tables() -> dict[str, pd.DataFrame]:
    evidence = pd.DataFrame(columns=[*EVIDENCE_COLUMNS])
    return {EVIDENCE: evidence, FINGERPRINTS: pd.DataFrame({"experiment": []})}


@dataclass(frozen=True)
class Bundle:
    """Numbers of a study: those that git keeps, or those of a run; at first it has no part."""

    tables: dict[str, pd.DataFrame] = field(default_factory=_empty_tables)
    """Figures' numbers, evidence and fingerprints, by path relative to the folder."""
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    """Verdicts by number of the claim."""
    depends: dict[str, dict[str, str]] = field(
        default_factory=lambda: {"settings": {}, "code": {}, "machine": {}}
    )
    """`settings`, `code` and `machine`, see `Manifest`."""

    @property
    def parts(self) -> list[str]:
        """Parts that are there, by their names in the settings, such as `claim T1`.

        A claim is there with its evidence, or if it could not be measured.
        """
        found = [f"figure {Path(path).stem}" for path in self.tables if "/" in path]
        for kind, path in TABLES_BY_KIND.items():
            if path in self.tables:
                found += [f"{kind} {name}" for name in self.tables[path][kind].unique()]
        return found + [f"claim {each.claim}" for each in self.unmeasured]

    @property
    def unmeasured(self) -> list[Verdict]:
        """Verdicts on claims that could not be measured."""
        return [each for each in self.verdicts.values() if not each.comparisons]


class Manifest(Strict):
    """Settings, code and machine of a bundle, and digests of its files."""

    settings: dict[str, str]
    """Digest by figure, claim, test and experiment."""
    code: dict[str, str]
    """Digest by module."""
    machine: dict[str, str]
    """Processor and versions, see `replication.bundle.computed.machine`."""
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


def run_keys(runs: pd.DataFrame) -> list[str]:
    """Return the columns that distinguish runs: all except their digest and numbers."""
    numbers = {"digest", *runs.select_dtypes("float")}
    return [str(name) for name in runs if name not in numbers]


def combine(sides: Mapping[str, Bundle], like: Bundle) -> dict[str, pd.DataFrame]:
    """Return tables of which each part comes from its own bundle; `like` says their columns."""
    tables = {}
    for kind, path in TABLES_BY_KIND.items():
        parts = {part.split()[1]: side for part, side in sides.items() if part.startswith(kind)}
        rows = [
            side.tables[path][side.tables[path][kind] == name]
            for name, side in parts.items()
            if path in side.tables
        ]
        known = like.tables.get(path, pd.DataFrame())
        # A table without rows does not say which columns it has.
        heads = [] if rows and known.empty else [known.head(0)]
        tables[path] = _with_64_bits(pd.concat([*heads, *rows], ignore_index=True))
    for part, side in sides.items():
        if part.startswith("figure "):
            path = figure_path(part.split()[1])
            tables[path] = side.tables[path]
    return tables


def collect_fingerprints(fingerprints: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the fingerprints of all experiments as one table, with a column `experiment`.

    A column that an experiment lacks is empty there, and its whole numbers get a fraction.
    """
    tables = [table.assign(experiment=name) for name, table in fingerprints.items()]
    empty = pd.DataFrame({"experiment": []})
    return _with_64_bits(pd.concat(tables or [empty], ignore_index=True))


def _with_64_bits(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose numbers of 32 bits have 64, by which they are read back unchanged."""
    return table.astype(dict.fromkeys(table.select_dtypes("float32"), "float64"))


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

    An `InputError` says that it is missing or damaged.
    """
    manifest = _parse(Manifest, folder / MANIFEST)
    if lacking := {VERDICTS, EVIDENCE, FINGERPRINTS} - manifest.files.keys():
        raise _damaged_error(folder, f"{MANIFEST} does not list {', '.join(sorted(lacking))}")
    try:
        texts = {name: (folder / name).read_text(encoding="utf-8") for name in manifest.files}
        tables = {name: read_numbers(folder / name) for name in texts if name.endswith(".csv")}
    except (OSError, ValueError, InputError) as error:
        raise _damaged_error(folder, error) from error
    changed = [name for name, text in texts.items() if _digest(text) != manifest.files[name]]
    depends = manifest.model_dump(include={"settings", "code", "machine"})
    bundle = Bundle(tables, read_verdicts(folder), depends)
    return bundle, [*changed, *_unlisted_files(folder, manifest)]


def read_unchanged(folder: Path) -> Bundle:
    """Return a bundle; an `InputError` if it is missing, damaged, or changed since it was made."""
    bundle, changed = read_bundle(folder)
    if changed:
        raise InputError(
            f"{folder}: {', '.join(changed)} changed after it was made; restore it with git"
        )
    return bundle


def read_verdicts(folder: Path) -> dict[str, Verdict]:
    """Return the verdicts of a bundle alone, by number of the claim; errors as `read_bundle`."""
    return {each.claim: each for each in _parse(_Verdicts, folder / VERDICTS).verdicts}


def reference_digest(folder: Path) -> str:
    """Return the digest of all files of a reference except its manifest, and so of its numbers."""
    return digest(_parse(Manifest, folder / MANIFEST).files)


def read_numbers(path: Path) -> pd.DataFrame:
    """Return a table of numbers, to the last bit.

    An `InputError` if it cannot be read, or evidence lacks a column or has text among numbers.
    """
    kinds: dict[Hashable, Any] = {"digest": "str"}
    if path.name == EVIDENCE:
        texts = ("claim", "cell", "sample", *RARE_COLUMNS)
        kinds = {**dict.fromkeys(texts, "str"), **EVIDENCE_NUMBERS}
    try:
        table = pd.read_csv(path, dtype=kinds, keep_default_na=False, na_values=MISSING)
        usual = [name for name in table if name not in RARE_COLUMNS]
        if path.name == EVIDENCE and usual != [*EVIDENCE_COLUMNS]:
            raise ValueError(f"its columns are {', '.join(table.columns)}")
    except (OSError, ValueError) as error:
        raise unreadable_error(path, error) from error
    return table


def _parse(model: type[Parsed], path: Path) -> Parsed:
    try:
        return model.parse_json(path.read_text(encoding="utf-8"), path.name)
    except (OSError, ValueError, InputError) as error:
        raise _damaged_error(path.parent, error) from error


def _damaged_error(folder: Path, wrong: object) -> InputError:
    remedy = f"make it again with `snakemake reference --config study={folder.name}`"
    if folder.name == PAPER_SCALE:
        remedy = (
            "delete it, and keep a run anew with `python -m replication verify --write --partly`"
        )
    said = str(wrong).partition("\n")[0]
    return InputError(
        f"{folder}: is damaged, or no whole reference ({said}); restore it with git, or {remedy}"
    )


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
