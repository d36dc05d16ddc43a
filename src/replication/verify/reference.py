"""The reference: numbers of a study that were once computed, as small text files to keep in git.

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
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pandas as pd

from replication.base.errors import InputError
from replication.base.storage import unreadable_error, write_text
from replication.base.strict import Strict
from replication.base.tables import MISSING
from replication.judge.comparisons import UNMEASURED, Judged
from replication.judge.judgement import judge
from replication.judge.verdicts import Verdict
from replication.study.claims import Test
from replication.study.evidence import words_of

Parsed = TypeVar("Parsed", bound=Strict)

MANIFEST, VERDICTS = "manifest.json", "verdicts.json"
EVIDENCE, FINGERPRINTS = "evidence.csv", "fingerprints.csv"
EVIDENCE_COLUMNS = ("claim", "cell", "sample", "seed", "value", "published")
RARE_COLUMNS = ("censored", "diverged")
"""Further columns of evidence, left out if empty: see `known_ends` and `without_diverged`."""
_NUMBERS: dict[Hashable, Any] = {"seed": "Int64", "value": "float64", "published": "float64"}
PAPER_SCALE = "paper_scale"
"""Folder, in that of a study's reference, of its second reference."""
_REMEDY = (
    "restore the reference with git, or make it again with `snakemake reference --config study={}`"
)
"""Advice on a damaged reference; `{}` stands for the study, which has the name of its folder."""


@dataclass(frozen=True)
class Reference:
    """Numbers of a study: those that are kept, or those that are compared with them."""

    tables: dict[str, pd.DataFrame]
    """Figures' numbers, evidence and fingerprints, by path relative to the folder."""
    verdicts: dict[str, Verdict]
    """Verdicts by number of the claim."""
    depends: dict[str, dict[str, str]]
    """`settings`, `code` and `machine`, see `Manifest`."""


class Expected(NamedTuple):
    """Contents of a whole reference."""

    tables: set[str]
    """Paths of tables."""
    claims: set[str]
    """Numbers of claims."""
    runs: pd.DataFrame
    """Experiment and seed of every run, and the columns that distinguish the runs of a seed."""

    def within(self, kept: Reference) -> "Expected":
        """Return the parts that a reference has, which may lack some; all runs of an experiment."""
        known = self.runs["experiment"].isin(kept.tables[FINGERPRINTS]["experiment"])
        claims = self.claims & kept.verdicts.keys()
        return Expected(self.tables & kept.tables.keys(), claims, self.runs[known])


class Manifest(Strict):
    """Settings, code and machine of a reference, and digests of its files."""

    settings: dict[str, str]
    """Digest by figure, claim, test and experiment."""
    code: dict[str, str]
    """Digest by module."""
    machine: dict[str, str]
    """Processor and versions, see `replication.verify.machine`."""
    files: dict[str, str]
    """SHA-256 of every other file of the reference, by path."""


class _Verdicts(Strict):
    verdicts: list[Verdict]


def reference_folder(root: Path, study: str) -> Path:
    """Return the folder of the reference of a study.

    Args:
        root: the project's folder.
        study: name of the study.
    """
    return root / "results/reference" / study


def find_references(root: Path) -> list[str]:
    """Return the names of the studies of which a project keeps a reference."""
    return sorted(path.parent.name for path in reference_folder(root, "").glob(f"*/{MANIFEST}"))


def figure_path(figure: str) -> str:
    """Return the path of a figure's numbers within a reference."""
    return f"figures/{figure}.csv"


def write_reference(folder: Path, reference: Reference) -> None:
    """Write a reference, and remove files of an earlier one that it does not have."""
    files = {
        path: table.to_csv(index=False, lineterminator="\n")
        for path, table in reference.tables.items()
    }
    verdicts = _Verdicts(verdicts=list(reference.verdicts.values())).model_dump(
        mode="json", exclude_defaults=True
    )
    files[VERDICTS] = json.dumps(verdicts, indent=1) + "\n"
    digests = {path: _digest(text.encode()) for path, text in sorted(files.items())}
    manifest = Manifest.model_validate({**reference.depends, "files": digests})
    for path, text in files.items():
        write_text(folder / path, text)
    write_text(folder / MANIFEST, manifest.model_dump_json(indent=1) + "\n")
    for name in _unlisted_files(folder, manifest):
        (folder / name).unlink()


def read_reference(folder: Path) -> tuple[Reference, list[str]]:
    """Read a reference.

    Returns:
        The reference, and the files that were changed or added after it was made.

    Raises:
        InputError: if it is missing or damaged.
    """
    manifest = _parse(Manifest, folder, MANIFEST, _read_text(folder, MANIFEST))
    texts = {name: _read_text(folder, name) for name in manifest.files}
    for name in (VERDICTS, EVIDENCE, FINGERPRINTS):
        if name not in texts:
            raise _damaged_error(folder, MANIFEST, f"does not list {name}")
    changed = [
        name for name, text in texts.items() if _digest(text.encode()) != manifest.files[name]
    ]
    verdicts = _parse_verdicts(folder, texts[VERDICTS])
    reference = Reference(
        tables={name: _read_table(folder, name) for name in texts if name.endswith(".csv")},
        verdicts=verdicts,
        depends=manifest.model_dump(include={"settings", "code", "machine"}),
    )
    return reference, [*changed, *_unlisted_files(folder, manifest)]


def read_unchanged(folder: Path) -> Reference:
    """Read a reference that is as it was made.

    Raises:
        InputError: if it is missing, damaged, or was changed after it was made.
    """
    reference, changed = read_reference(folder)
    if changed:
        raise InputError(
            f"{folder}: {', '.join(changed)} changed after it was made; restore it with git"
        )
    return reference


def read_verdicts(folder: Path) -> dict[str, Verdict]:
    """Read the verdicts of a reference alone, by number of the claim.

    Raises:
        InputError: if they are missing or damaged.
    """
    return _parse_verdicts(folder, _read_text(folder, VERDICTS))


def read_numbers(path: Path) -> pd.DataFrame:
    """Read a table of numbers to the last bit.

    Raises:
        InputError: if it cannot be read, or evidence lacks a column or has text among numbers.
    """
    kinds: dict[Hashable, Any] = {"digest": "str"}
    if path.name == EVIDENCE:
        kinds = {**dict.fromkeys(("claim", "cell", "sample", *RARE_COLUMNS), "str"), **_NUMBERS}
    try:
        table = pd.read_csv(path, dtype=kinds, keep_default_na=False, na_values=MISSING)
    except (OSError, ValueError) as error:
        raise unreadable_error(path, error) from error
    usual = [name for name in table if name not in RARE_COLUMNS]
    if path.name == EVIDENCE and usual != list(EVIDENCE_COLUMNS):
        raise _damaged_error(path.parent, path.name, f"its columns are {', '.join(table.columns)}")
    return table


def collect_evidence(evidence: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the evidence of all measured claims as one table, see `EVIDENCE_COLUMNS`."""
    tables = [
        table.assign(claim=claim).reindex(columns=[*EVIDENCE_COLUMNS, *RARE_COLUMNS])
        for claim, table in evidence.items()
        if UNMEASURED not in table
    ]
    empty = pd.DataFrame(columns=list(EVIDENCE_COLUMNS))
    together = pd.concat([table.astype(_NUMBERS) for table in tables or [empty]], ignore_index=True)
    rare = [name for name in RARE_COLUMNS if name in together]
    return together.drop(columns=[name for name in rare if not words_of(together, name).any()])


def collect_fingerprints(fingerprints: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the fingerprints of all experiments as one table, with a column `experiment`.

    Numbers have 64 bits: then numbers of 32 bits are read back unchanged. A column that an
    experiment lacks is empty there, and whole numbers in it are read back with a fraction.
    """
    tables = [table.assign(experiment=name) for name, table in fingerprints.items()]
    empty = pd.DataFrame({"experiment": []})
    together = pd.concat(tables or [empty], ignore_index=True)
    return together.astype(dict.fromkeys(together.select_dtypes("float32"), "float64"))


def empty_reference() -> Reference:
    """Return a reference that has no part yet."""
    tables = {EVIDENCE: collect_evidence({}), FINGERPRINTS: collect_fingerprints({})}
    return Reference(tables, {}, {"settings": {}, "code": {}, "machine": {}})


def run_keys(runs: pd.DataFrame) -> list[str]:
    """Return the columns that distinguish runs: all except their digest and numbers."""
    numbers = {"digest", *runs.select_dtypes("float")}
    return [str(name) for name in runs if name not in numbers]


def judge_again(
    evidence: pd.DataFrame, families: Iterable[Mapping[str, Test]], robustness: Sequence[str] = ()
) -> dict[str, Verdict]:
    """Return the verdicts that follow from the reference's evidence, by number of the claim.

    Claims without evidence are left out.

    Args:
        evidence: what `collect_evidence` returned.
        families: tests by claim; those of one family are corrected together for many tests.
        robustness: texts in the names of comparisons that do not count.
    """
    own = {
        # All values of a claim are missing if all its trainings diverged.
        claim: table.drop(
            columns=[name for name in table if name != "value" and table[name].isna().all()]
        )
        for claim, table in evidence.groupby("claim")
    }
    verdicts: dict[str, Verdict] = {}
    for family in families:
        known = [
            Judged(claim, test, own[claim], robustness)
            for claim, test in family.items()
            if claim in own
        ]
        verdicts |= judge(known)
    return verdicts


def _parse_verdicts(folder: Path, text: str) -> dict[str, Verdict]:
    found = _parse(_Verdicts, folder, VERDICTS, text).verdicts
    return {verdict.claim: verdict for verdict in found}


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


def _parse(model: type[Parsed], folder: Path, name: str, text: str) -> Parsed:
    try:
        return model.parse_json(text, name)
    except InputError as error:
        wrong = error.message.partition("\n")[0].removeprefix(f"{name}: ")
        raise _damaged_error(folder, name, f"is damaged ({wrong})") from error


def _damaged_error(folder: Path, name: str, wrong: str) -> InputError:
    remedy = f"restore it with git, or delete {folder}"
    if folder.name != PAPER_SCALE:
        remedy = _REMEDY.format(folder.name)
    return InputError(f"{folder / name}: {wrong}; {remedy}")


def _unlisted_files(folder: Path, manifest: Manifest) -> list[str]:
    """Return the files that do not belong to the reference, nor to the second one in it."""
    names = (str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    return [
        name
        for name in names
        if name not in {MANIFEST, *manifest.files} and not name.startswith(f"{PAPER_SCALE}/")
    ]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
