"""The lock of results: numbers that were once computed, as small text files to keep in git."""

import hashlib
import json
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from transformer_dynamics.errors import InputError
from transformer_dynamics.storage import unreadable, write_text
from transformer_dynamics.strict import Strict
from transformer_dynamics.verification.family import Family
from transformer_dynamics.verification.judgement import Judged, Verdict, judge

MANIFEST, VERDICTS = "manifest.json", "verdicts.json"
EVIDENCE, FINGERPRINTS = "evidence.csv", "fingerprints.csv"
EVIDENCE_COLUMNS = (
    "claim", "cell", "level", "sample", "seed", "value", "published", "published_seeds",
)  # fmt: skip
_REMEDY = "restore the lock with git, or lock the results anew"


@dataclass(frozen=True)
class Lock:
    """Everything that is locked."""

    tables: dict[str, pd.DataFrame]
    """By path relative to the lock's folder: figures' numbers, evidence, fingerprints."""
    verdicts: dict[str, Verdict]
    """By number of the claim."""
    depends: dict[str, dict[str, str]]
    """`settings`, `code` and `machine`, see `Manifest`."""


class Expected(NamedTuple):
    """What a whole lock holds."""

    tables: set[str]
    """Paths of tables."""
    claims: set[str]
    """Numbers of claims."""
    runs: pd.DataFrame
    """experiment, seed and mixture of every run."""


class Manifest(Strict):
    """What a lock was made of."""

    settings: dict[str, str]
    """Digest by figure, claim and experiment."""
    code: dict[str, str]
    """Digest by module."""
    machine: dict[str, str]
    """See `machine`."""
    files: dict[str, str]
    """SHA-256 of every other file of the lock, by path."""


class _Verdicts(Strict):
    verdicts: list[Verdict]


def write_lock(folder: Path, lock: Lock) -> None:
    """Write a lock, and remove files of an earlier one that it does not have."""
    files = {
        path: table.to_csv(index=False, lineterminator="\n") for path, table in lock.tables.items()
    }
    verdicts = _Verdicts(verdicts=list(lock.verdicts.values())).model_dump(mode="json")
    files[VERDICTS] = json.dumps(verdicts, indent=1) + "\n"
    digests = {path: _digest(text.encode()) for path, text in sorted(files.items())}
    manifest = Manifest.model_validate({**lock.depends, "files": digests})
    for path, text in files.items():
        write_text(folder / path, text)
    write_text(folder / MANIFEST, manifest.model_dump_json(indent=1) + "\n")
    for name in _unlisted(folder, manifest):
        (folder / name).unlink()


def read_lock(folder: Path) -> tuple[Lock, list[str]]:
    """Read a lock.

    Returns:
        The lock, and the files that were changed or added after it was made.

    Raises:
        InputError: if it is missing or damaged.
    """
    manifest = Manifest.parse_json(_read(folder / MANIFEST), str(folder / MANIFEST))
    texts = {name: _read(folder / name) for name in manifest.files}
    for name in (VERDICTS, EVIDENCE, FINGERPRINTS):
        if name not in texts:
            raise InputError(f"{folder / MANIFEST}: does not list {name}; {_REMEDY}")
    changed = [
        name for name, text in texts.items() if _digest(text.encode()) != manifest.files[name]
    ]
    verdicts = _Verdicts.parse_json(texts[VERDICTS], str(folder / VERDICTS)).verdicts
    lock = Lock(
        tables={name: read_numbers(folder / name) for name in texts if name.endswith(".csv")},
        verdicts={verdict.claim: verdict for verdict in verdicts},
        depends=manifest.model_dump(include={"settings", "code", "machine"}),
    )
    return lock, [*changed, *_unlisted(folder, manifest)]


def read_numbers(path: Path) -> pd.DataFrame:
    """Read a table of numbers to the last bit.

    Raises:
        InputError: if it cannot be read, or evidence lacks a column or has text among numbers.
    """
    texts, counts, numbers = ["digest"], [], []
    if path.name == EVIDENCE:
        texts, counts = ["claim", "cell", "sample"], ["seed", "published_seeds"]
        numbers = ["level", "value", "published"]
    kinds: dict[Hashable, Any] = {
        **dict.fromkeys(texts, "str"),
        **dict.fromkeys(counts, "Int64"),
        **dict.fromkeys(numbers, "float64"),
    }
    try:
        table = pd.read_csv(path, dtype=kinds)
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error
    if path.name == EVIDENCE and list(table) != list(EVIDENCE_COLUMNS):
        raise InputError(f"{path}: its columns are {', '.join(table.columns)}; {_REMEDY}")
    return table


def collect_evidence(evidence: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """The evidence of all claims as one table with the columns `EVIDENCE_COLUMNS`."""
    tables = [
        table.assign(claim=claim).reindex(columns=list(EVIDENCE_COLUMNS))
        for claim, table in evidence.items()
    ]
    kinds = {"seed": "Int64", "published_seeds": "Int64"}
    return pd.concat([table.astype(kinds) for table in tables], ignore_index=True)


def judge_again(evidence: pd.DataFrame, families: Iterable[Family]) -> dict[str, Verdict]:
    """The verdicts that follow from locked evidence.

    Args:
        evidence: what `collect_evidence` returned.
        families: of all claims.

    Raises:
        InputError: if the evidence of a claim is missing.
    """
    by_claim = {
        str(claim): table.dropna(axis="columns", how="all")
        for claim, table in evidence.groupby("claim")
    }
    verdicts: dict[str, Verdict] = {}
    for family in families:
        absent = [member.claim for member in family.members if member.claim not in by_claim]
        if absent:
            raise InputError(
                f"the lock has no evidence of claim {absent[0]}; lock the results anew"
            )
        verdicts |= judge(
            [Judged(member.claim, member.test, by_claim[member.claim]) for member in family.members]
        )
    return verdicts


def settings_digest(settings: Any) -> str:
    """Digest of plain JSON data."""
    return _digest(json.dumps(settings, sort_keys=True).encode())[:16]


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error}); {_REMEDY}") from error


def _unlisted(folder: Path, manifest: Manifest) -> list[str]:
    """Files that do not belong to the lock."""
    names = (str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    return [name for name in names if name not in manifest.files and name != MANIFEST]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
