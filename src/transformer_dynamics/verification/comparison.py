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
from transformer_dynamics.verification.lock import EVIDENCE, FINGERPRINTS, Expected, Lock


def compare(
    found: Lock,
    lock: Lock,
    changed: list[str],
    judged_again: dict[str, Verdict],
    counts: Collection[str] = (),
) -> pd.DataFrame:
    """Every difference between what is there and the lock, with the columns of `differences`.

    Args:
        found: what is computed, as far as it is.
        lock: what was locked.
        changed: files of the lock that were changed after it was made.
        judged_again: the verdicts that follow from the lock's evidence.
        counts: tables and claims whose numbers are counts.
    """
    same = found.depends["machine"] == lock.depends["machine"]
    edited = [(name, "content", "as locked", "changed by hand") for name in changed]
    return together(
        [
            _exact(edited),
            *_verdicts("lock, judged again", judged_again, lock, same, counts),
            _exact(_depends(found, lock)),
            *_verdicts("results", found.verdicts, lock, same, counts),
            *_tables(found, lock, same, counts),
        ]
    )


def missing(place: str, there: Lock, expected: Expected) -> pd.DataFrame:
    """What is not there, with the columns of `differences`.

    Args:
        place: what to call it.
        there: a lock, or what is computed.
        expected: what should be there.
    """
    evidence = there.tables.get(EVIDENCE, pd.DataFrame(columns=["claim"]))
    keys = list(expected.runs)
    runs = there.tables.get(FINGERPRINTS, expected.runs.head(0))
    unknown = expected.runs.merge(runs[keys], on=keys, how="left", indicator=True)
    absent = unknown[unknown["_merge"] == "left_only"].groupby("experiment").size()
    names = [
        *sorted(expected.tables - there.tables.keys()),
        *(f"verdict on {claim}" for claim in sorted(expected.claims - there.verdicts.keys())),
        *(f"evidence of {claim}" for claim in sorted(expected.claims - set(evidence["claim"]))),
        *(f"{number} runs of {experiment}" for experiment, number in absent.items()),
    ]
    return _exact([(place, name, "there", "missing") for name in names])


def together(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """Differences of several kinds as one table."""
    return pd.concat([table for table in tables if len(table)] or tables[:1], ignore_index=True)


def _verdicts(
    place: str,
    verdicts: dict[str, Verdict],
    lock: Lock,
    same: bool,
    counts: Collection[str],
) -> Iterator[pd.DataFrame]:
    """The word, the sentence and every number of each verdict."""
    for claim, verdict in verdicts.items():
        locked = lock.verdicts.get(claim)
        if locked is None:
            yield _exact([(place, f"verdict on {claim}", "none", _told(verdict))])
        elif (locked.verdict, locked.seeds) != (verdict.verdict, verdict.seeds) or (
            same and locked.summary != verdict.summary
        ):
            yield _exact([(place, f"verdict on {claim}", _told(locked), _told(verdict))])
        else:
            mine, theirs = (_comparisons(each) for each in (verdict, locked))
            tolerances = _tolerances(claim, same, counts)
            yield differences(f"{place}, comparisons of {claim}", mine, theirs, tolerances)


def _comparisons(verdict: Verdict) -> pd.DataFrame:
    table = pd.DataFrame([item.model_dump() for item in verdict.comparisons])
    numbers = table.columns.difference(["cell", "decision"])
    return table.astype(dict.fromkeys(numbers, "float64"))


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
        elif name == FINGERPRINTS:
            keys = ["experiment", "seed", "mixture"]
            known = table[keys].merge(locked, on=keys, how="left")
            known = known if same else known.drop(columns="digest")
            yield from _parts(name, "experiment", table[known.columns], known, same, ())
        elif name == EVIDENCE:
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
