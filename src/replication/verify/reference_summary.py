"""Summary of a reference: receipts are checked against it, even after the reference is replaced."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import pandas as pd
from pydantic import Field, model_validator

from replication.base.errors import InputError
from replication.base.provenance import digest
from replication.base.strict import Strict
from replication.bundle.bundle import (
    FINGERPRINTS,
    MANIFEST,
    VERDICTS,
    Bundle,
    Manifest,
    read_bundle,
)
from replication.judge.verdicts import Outcome, Verdict
from replication.study.claims import Number

MOST_COUNTED = 10_000_000
"""Largest count; a reference that git keeps has far less of everything."""
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
Amount = Annotated[int, Field(ge=0, le=MOST_COUNTED)]
Claim = Annotated[Number, Field(max_length=20)]
"""Number of a claim."""
Experiment = Annotated[str, Field(max_length=200, pattern=r"^[A-Za-z0-9_.-]+$")]
"""Name of an experiment."""
Bits = Mapping[int, Sequence[str]]
"""Digests of an experiment's runs, by seed: a seed can have several."""


class VerdictInShort(Strict):
    """Parts of a verdict that must be the same on every processor."""

    verdict: Outcome | Literal["contradicted", "no effect", "inconclusive"]
    """The verdict, or one by the rules of earlier references, see `EARLIER_VERDICTS`."""
    seeds: Amount
    """Number of seeds behind each comparison."""
    comparisons: Amount
    """Number of comparisons that count."""
    holding: Amount
    """Number of those comparisons that hold."""
    decisions: Digest
    """Digest of the decisions of all comparisons, by name."""

    @model_validator(mode="after")
    def _check_holding(self) -> Self:
        if self.holding > self.comparisons:
            raise ValueError(f"{self.holding} of {self.comparisons} comparisons cannot hold")
        return self

    @classmethod
    def of(cls, verdict: Verdict) -> "VerdictInShort":
        """Return a verdict in short."""
        decisions = sorted((item.cell, item.decision) for item in verdict.comparisons)
        return VerdictInShort(
            verdict=verdict.verdict,
            seeds=verdict.seeds,
            comparisons=len(verdict.counted),
            holding=verdict.holding,
            decisions=digest(decisions),
        )


class ReferenceInShort(Strict):
    """Verdicts and runs of a reference, against which receipts are checked."""

    verdicts: dict[Claim, VerdictInShort]
    """Verdicts in short, by number of the claim."""
    runs: dict[Experiment, dict[int, list[Digest]]]
    """Digests of runs, by experiment and seed."""

    @classmethod
    def of(cls, reference: Bundle) -> "ReferenceInShort":
        """Return a reference in short."""
        return cls(
            verdicts={
                claim: VerdictInShort.of(verdict) for claim, verdict in reference.verdicts.items()
            },
            runs=bits_of_runs(reference.tables[FINGERPRINTS]),
        )


def bits_of_runs(fingerprints: pd.DataFrame) -> dict[str, dict[int, list[str]]]:
    """Return the digests of runs by experiment and seed."""
    found: dict[str, dict[int, list[str]]] = {}
    columns = (fingerprints[name] for name in ("experiment", "seed", "digest"))
    for experiment, seed, bits in zip(*columns, strict=True):
        found.setdefault(str(experiment), {}).setdefault(int(seed), []).append(str(bits))
    return found


def reference_digest(folder: Path) -> str:
    """Return the digest of all files of a reference except its manifest.

    New code alone does not change it.

    Raises:
        InputError: if it has no manifest, or a damaged one.
    """
    path = folder / MANIFEST
    try:
        text = path.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
    return digest(Manifest.parse_json(text, str(path)).files)


def read_in_short(folder: Path) -> tuple[str, ReferenceInShort]:
    """Read the digest of a reference, and the reference in short.

    Raises:
        InputError: if it is missing or damaged, or was changed after it was made.
    """
    found = reference_digest(folder)
    reference, changed = read_bundle(folder)
    for name in (VERDICTS, FINGERPRINTS):
        if name in changed:
            raise InputError(f"{folder / name}: was changed after it was made; restore it with git")
    return found, ReferenceInShort.of(reference)


def to_json(data: Any, depth: int = 0) -> str:
    """Return data as JSON, with a line per claim, experiment and difference.

    Args:
        data: plain data.
        depth: number of levels around the data.
    """
    if depth == 2 or not data or not isinstance(data, dict | list):
        return json.dumps(data, ensure_ascii=False)
    below = " " * (depth + 1)
    if isinstance(data, dict):
        begin, end = "{}"
        items = [f"{json.dumps(key)}: {to_json(value, depth + 1)}" for key, value in data.items()]
    else:
        begin, end = "[]"
        items = [to_json(value, depth + 1) for value in data]
    inner = ",\n".join(below + item for item in items)
    return f"{begin}\n{inner}\n{' ' * depth}{end}"
