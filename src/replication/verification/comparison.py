"""Results against the reference, quantity by quantity."""

from collections.abc import Collection, Iterator, Mapping

import pandas as pd

from replication.verification.differences import (
    ACROSS_PROCESSORS,
    COLUMNS,
    COUNTS,
    SAME_PROCESSOR,
    Tolerances,
    differences,
)
from replication.verification.judgement import Verdict
from replication.verification.reference import (
    EVIDENCE,
    FINGERPRINTS,
    Expected,
    Reference,
    run_keys,
)


def compare(
    found: Reference,
    reference: Reference,
    changed: list[str],
    judged_again: dict[str, Verdict],
    counts: Collection[str] = (),
) -> pd.DataFrame:
    """Every difference between what is there and the reference; columns as of `differences`.

    Args:
        found: what is computed, as far as it is.
        reference: what it should be.
        changed: files of the reference that were changed after it was made.
        judged_again: the verdicts that follow from the reference's evidence.
        counts: tables and claims whose numbers are compared like counts.
    """
    same = found.depends["machine"] == reference.depends["machine"]
    edited = [(name, "content", "as it was made", "changed by hand") for name in changed]
    return together(
        [
            _exact(edited),
            *_verdicts("reference, judged again", judged_again, reference, same, counts),
            *_verdicts("results", found.verdicts, reference, same, counts),
            *_tables(found, reference, same, counts),
            _exact(_depends(found, reference)),
        ]
    )


def refused(files: Mapping[str, str]) -> pd.DataFrame:
    """What is there and cannot be used, with the columns of `differences`.

    Args:
        files: the reason by path.
    """
    return _exact([("results", path, "readable", reason) for path, reason in files.items()])


def missing(place: str, there: Reference, expected: Expected) -> pd.DataFrame:
    """What is not there, with the columns of `differences`.

    Args:
        place: what to call it.
        there: a reference, or what is computed.
        expected: what should be there.
    """
    evidence = there.tables.get(EVIDENCE, pd.DataFrame(columns=["claim"]))
    keys = list(expected.runs)
    runs = there.tables.get(FINGERPRINTS, expected.runs.head(0))
    known = runs[keys].drop_duplicates()
    unknown = expected.runs.merge(known, on=keys, how="left", indicator=True)
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
    reference: Reference,
    same: bool,
    counts: Collection[str],
) -> Iterator[pd.DataFrame]:
    """The word, the sentence and every number of each verdict."""
    for claim, verdict in verdicts.items():
        known = reference.verdicts.get(claim)
        if known is None:
            yield _exact([(place, f"verdict on {claim}", "none", _told(verdict))])
        elif (known.verdict, known.seeds) != (verdict.verdict, verdict.seeds) or (
            same and known.summary != verdict.summary
        ):
            yield _exact([(place, f"verdict on {claim}", _told(known), _told(verdict))])
        else:
            mine, theirs = (_comparisons(each, same) for each in (verdict, known))
            tolerances = _tolerances(claim, same, counts)
            yield differences(f"{place}, comparisons of {claim}", mine, theirs, tolerances)


def _comparisons(verdict: Verdict, same: bool) -> pd.DataFrame:
    """One row per cell; `effect` only on the same processor: it divides by what may vanish."""
    table = pd.DataFrame([item.model_dump() for item in verdict.comparisons])
    table = table if same else table.drop(columns="effect")
    numbers = table.columns.difference(["cell", "decision"])
    return table.astype(dict.fromkeys(numbers, "float64"))


def _told(verdict: Verdict) -> str:
    seeds = f" by {verdict.seeds} seeds" if verdict.seeds else ""
    return f"{verdict.verdict}{seeds} ({verdict.summary})"


def _depends(found: Reference, reference: Reference) -> Iterator[tuple[str, str, str, str]]:
    for kind in ("settings", "code"):
        mine, theirs = found.depends[kind], reference.depends[kind]
        for name in sorted(mine.keys() | theirs.keys()):
            a, b = theirs.get(name, "none"), mine.get(name, "none")
            if a != b:
                yield kind, name, a, b


def _tables(
    found: Reference, reference: Reference, same: bool, counts: Collection[str]
) -> Iterator[pd.DataFrame]:
    for name, table in found.tables.items():
        known = reference.tables.get(name)
        if known is None:
            yield _exact([(name, "table", "none", "computed")])
        elif name == FINGERPRINTS and {*table} <= {*known}:
            keys = run_keys(table)
            columns = known.columns if same else known.columns.drop("digest")
            runs = table[keys].merge(known, on=keys, how="left").reindex(columns=columns)
            found_runs = table.reindex(columns=columns)
            yield from _parts(name, "experiment", found_runs, runs, same, ())
        elif name == EVIDENCE:
            yield from _parts(name, "claim", table, known, same, counts)
        else:
            yield differences(name, table, known, _tolerances(name, same, counts))


def _parts(
    name: str,
    key: str,
    found: pd.DataFrame,
    reference: pd.DataFrame,
    same: bool,
    counts: Collection[str],
) -> Iterator[pd.DataFrame]:
    """Each claim's or experiment's rows apart, for those that are computed."""
    for part, rows in found.groupby(key, sort=False):
        known = reference[reference[key] == part]
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
