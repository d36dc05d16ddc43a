"""The lock of results: numbers that were once computed, as small text files to keep in git."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from transformer_dynamics.errors import InputError
from transformer_dynamics.storage import unreadable, write_text
from transformer_dynamics.verification.family import Family
from transformer_dynamics.verification.judgement import Judged, Verdict, judge

MANIFEST = "manifest.json"
EVIDENCE_COLUMNS = (
    "claim", "cell", "level", "sample", "seed", "value", "published", "published_seeds",
)  # fmt: skip


@dataclass(frozen=True)
class Lock:
    """Everything that is locked."""

    tables: dict[str, pd.DataFrame]
    """By path relative to the lock's folder: figures' numbers, evidence, fingerprints."""
    verdicts: dict[str, Verdict]
    """By number of the claim."""
    depends: dict[str, dict[str, str]]
    """`settings`: digest by figure, claim and experiment; `code`: digest by module;
    `machine`: see `machine`."""


def write_lock(folder: Path, lock: Lock) -> None:
    """Write a lock, and remove files of an earlier one that it does not have."""
    files = {
        path: table.to_csv(index=False, lineterminator="\n") for path, table in lock.tables.items()
    }
    dumped = [verdict.model_dump(mode="json") for verdict in lock.verdicts.values()]
    files["verdicts.json"] = json.dumps(dumped, indent=1) + "\n"
    manifest = {
        **lock.depends,
        "files": {path: _digest(text.encode()) for path, text in sorted(files.items())},
    }
    for path, text in files.items():
        write_text(folder / path, text)
    write_text(folder / MANIFEST, json.dumps(manifest, indent=1) + "\n")
    for old in folder.rglob("*"):
        name = str(old.relative_to(folder))
        if old.is_file() and name != MANIFEST and name not in files:
            old.unlink()


def read_lock(folder: Path) -> tuple[Lock, list[str]]:
    """Read a lock.

    Returns:
        The lock, and the files that were changed after they were locked.

    Raises:
        InputError: if it is missing or damaged.
    """
    manifest = _read_json(folder / MANIFEST)
    tables, changed = {}, []
    try:
        files = dict(manifest.pop("files"))
    except (KeyError, AttributeError, TypeError) as error:
        raise unreadable(folder / MANIFEST, error) from error
    for name, digest in files.items():
        try:
            content = (folder / name).read_bytes()
        except OSError as error:
            raise unreadable(folder / name, error) from error
        if _digest(content) != digest:
            changed.append(name)
        if name.endswith(".csv"):
            tables[name] = read_numbers(folder / name)
    verdicts = [
        Verdict.parse(item, str(folder / "verdicts.json"))
        for item in _read_json(folder / "verdicts.json")
    ]
    return Lock(tables, {verdict.claim: verdict for verdict in verdicts}, manifest), changed


def read_numbers(path: Path) -> pd.DataFrame:
    """Read a table of numbers to the last bit.

    Raises:
        InputError: if it cannot be read.
    """
    try:
        return pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error


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


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
