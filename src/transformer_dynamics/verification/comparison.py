"""Results against the lock, quantity by quantity."""

from collections.abc import Collection, Iterator

import pandas as pd

from transformer_dynamics.verification.differences import (
    ACROSS_PROCESSORS,
    COLUMNS,
    COUNTS,
    SAME_PROCESSOR,
    Tolerances,
    differences,
)
from transformer_dynamics.verification.judgement import Verdict
from transformer_dynamics.verification.lock import Lock


def compare(
    found: Lock,
    lock: Lock,
    changed: list[str],
    judged_again: dict[str, Verdict],
    counts: Collection[str] = (),
) -> pd.DataFrame:
    """Every difference, with the columns of `differences`.

    Args:
        found: what is computed, as far as it is.
        lock: what was locked.
        changed: files of the lock that were changed after it was made.
        judged_again: the verdicts that follow from the lock's evidence.
        counts: tables and claims whose numbers are counts.
    """
    same = found.depends["machine"] == lock.depends["machine"]
    edited = [(name, "content", "as locked", "changed by hand") for name in changed]
    tables = [
        _exact(edited),
        _exact(_verdicts("lock, judged again", lock, judged_again)),
        _exact(_depends(found, lock)),
        _exact(_verdicts("results", lock, found.verdicts)),
        *_tables(found, lock, same, counts),
    ]
    return pd.concat([table for table in tables if len(table)] or tables[:1], ignore_index=True)


def _verdicts(
    place: str, lock: Lock, verdicts: dict[str, Verdict]
) -> Iterator[tuple[str, str, str, str]]:
    for claim, verdict in verdicts.items():
        locked = lock.verdicts.get(claim)
        if locked is None:
            yield place, f"verdict on {claim}", "none", _told(verdict)
        elif (locked.verdict, locked.seeds) != (verdict.verdict, verdict.seeds):
            yield place, f"verdict on {claim}", _told(locked), _told(verdict)


def _told(verdict: Verdict) -> str:
    seeds = f" by {verdict.seeds} seeds" if verdict.seeds else ""
    return f"{verdict.verdict}{seeds} ({verdict.summary})"


def _depends(found: Lock, lock: Lock) -> Iterator[tuple[str, str, str, str]]:
    for kind in ("settings", "code"):
        for name in sorted(found.depends[kind].keys() | lock.depends[kind].keys()):
            a, b = lock.depends[kind].get(name, "none"), found.depends[kind].get(name, "none")
            if a != b:
                yield kind, name, a, b


def _tables(found: Lock, lock: Lock, same: bool, counts: Collection[str]) -> Iterator[pd.DataFrame]:
    for name, table in found.tables.items():
        locked = lock.tables.get(name)
        if locked is None:
            yield _exact([(name, "table", "none", "computed")])
        elif name == "fingerprints.csv":
            keys = ["experiment", "seed", "mixture"]
            known = table[keys].merge(locked, on=keys, how="left")
            known = known if same else known.drop(columns="digest")
            yield from _parts(name, "experiment", table[known.columns], known, same, ())
        elif name == "evidence.csv":
            yield from _parts(name, "claim", table, locked, same, counts)
        else:
            yield differences(name, table, locked, _tolerances(name, same, counts))


def _parts(
    name: str,
    key: str,
    found: pd.DataFrame,
    locked: pd.DataFrame,
    same: bool,
    counts: Collection[str],
) -> Iterator[pd.DataFrame]:
    """Each claim's or experiment's rows apart, for those that are computed."""
    for part, rows in found.groupby(key, sort=False):
        known = locked[locked[key] == part]
        yield differences(
            f"{name}, {key} {part}",
            rows.reset_index(drop=True),
            known.reset_index(drop=True),
            _tolerances(str(part), same, counts),
        )


def _tolerances(name: str, same: bool, counts: Collection[str]) -> Tolerances:
    if same:
        return SAME_PROCESSOR
    return COUNTS if name in counts else ACROSS_PROCESSORS


def _exact(
    rows: Iterator[tuple[str, str, str, str]] | list[tuple[str, str, str, str]],
) -> pd.DataFrame:
    listed = [(*row, None, "exact") for row in rows]
    return pd.DataFrame(listed, columns=list(COLUMNS))
