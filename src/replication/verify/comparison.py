"""Comparison of results with the reference, quantity by quantity."""

from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np
import pandas as pd

from replication.bundle.bundle import EVIDENCE, FINGERPRINTS, Bundle, Expected, run_keys
from replication.judge.judgement import QUESTIONS
from replication.judge.verdicts import Comparison, Verdict
from replication.verify.differences import (
    ACROSS_PROCESSORS,
    COUNTS,
    DECIDED_VERDICTS,
    LOGARITHM_OF_P,
    OTHER_SEEDS,
    SAME_EVIDENCE,
    SAME_PROCESSOR,
    Difference,
    Tolerances,
    table_differences,
)

A_NUMBER = "a number"
"""Words for the expected content of a cell that holds a text."""


def compare_with_reference(
    found: Bundle,
    reference: Bundle,
    changed: list[str],
    judged_again: dict[str, Verdict],
    counts: Collection[str] = (),
    others: Tolerances = ACROSS_PROCESSORS,
) -> Iterator[Difference]:
    """Yield every difference between results and the reference.

    Args:
        found: the computed results, possibly of a part of the study.
        reference: the expected results.
        changed: files of the reference that were changed after it was made.
        judged_again: the verdicts that follow from the reference's evidence.
        counts: tables and claims whose numbers are compared like counts.
        others: tolerances of all other numbers, if another processor computed them.
    """
    same = found.depends["machine"] == reference.depends["machine"]
    for name in changed:
        yield Difference(name, "content", "as it was made", "changed by hand")
    yield from _verdict_differences(
        "reference, judged again", judged_again, reference, SAME_EVIDENCE
    )
    if not same and others is OTHER_SEEDS:
        yield from _opposite_verdicts(found.verdicts, reference)
    else:
        own = SAME_PROCESSOR if same else LOGARITHM_OF_P
        yield from _verdict_differences("results", found.verdicts, reference, own)

    def allowed(name: str) -> Tolerances:
        return SAME_PROCESSOR if same else COUNTS if name in counts else others

    yield from _table_differences(found, reference, allowed)
    for kind in ("settings", "code"):
        now, before = found.depends[kind], reference.depends[kind]
        for name in sorted(now | before):
            if now.get(name) != before.get(name):
                yield Difference(kind, name, before.get(name, "none"), now.get(name, "none"))


def missing_parts(place: str, there: Bundle, expected: Expected) -> Iterator[Difference]:
    """Yield a difference for every missing part.

    A claim that could not be measured needs no evidence.

    Args:
        place: name of the whole in the differences.
        there: a reference, or computed results.
        expected: the parts that should be there.
    """
    evidence = there.tables.get(EVIDENCE, pd.DataFrame(columns=["claim"]))
    keys = list(expected.runs)
    without = {claim for claim, said in there.verdicts.items() if not said.comparisons}
    none = expected.runs.head(0)
    known = there.tables.get(FINGERPRINTS, none)
    # Runs that an earlier measure told apart otherwise are not there.
    known = known[keys].drop_duplicates() if {*keys} <= {*known} else none
    runs = expected.runs.merge(known, on=keys, how="left", indicator=True)
    absent = runs[runs["_merge"] == "left_only"].groupby("experiment").size()
    for name in (
        *sorted(expected.tables - there.tables.keys()),
        *(f"verdict on {claim}" for claim in sorted(expected.claims - there.verdicts.keys())),
        *(
            f"evidence of {claim}"
            for claim in sorted(expected.claims - without - set(evidence["claim"]))
        ),
        *(f"{number} runs of {experiment}" for experiment, number in absent.items()),
    ):
        yield Difference(place, name, "there", "missing")


def _verdict_differences(
    place: str,
    verdicts: dict[str, Verdict],
    reference: Bundle,
    tolerances: Tolerances,
) -> Iterator[Difference]:
    """Yield differences of the word, the numbers and the sentence of each verdict.

    On another processor the sentence may have other digits.
    """
    same = tolerances is not LOGARITHM_OF_P
    for claim, verdict in verdicts.items():
        known = reference.verdicts.get(claim)
        if known is None:
            yield Difference(place, f"verdict on {claim}", "none", _verdict_text(verdict))
        elif (known.verdict, known.seeds) != (verdict.verdict, verdict.seeds) or (
            same and known.summary != verdict.summary
        ):
            yield Difference(
                place, f"verdict on {claim}", _verdict_text(known), _verdict_text(verdict)
            )
        else:
            now, before = (_comparison_table(each, same) for each in (verdict, known))
            yield from table_differences(
                f"{place}, comparisons of {claim}", now, before, tolerances
            )
            now, before = (
                pd.DataFrame({"resolution": [each.resolution]}, dtype="float64")
                for each in (verdict, known)
            )
            yield from table_differences(f"{place}, verdict on {claim}", now, before, SAME_EVIDENCE)


def _opposite_verdicts(verdicts: dict[str, Verdict], reference: Bundle) -> Iterator[Difference]:
    """Yield verdicts of other seeds, and those that differ although both or none are decided."""
    for claim, verdict in verdicts.items():
        known = reference.verdicts.get(claim)
        if (
            known is None
            or verdict.seeds != known.seeds
            or (
                verdict.verdict != known.verdict
                and (verdict.verdict in DECIDED_VERDICTS) == (known.verdict in DECIDED_VERDICTS)
            )
        ):
            told = "none" if known is None else _verdict_text(known)
            yield Difference("results", f"verdict on {claim}", told, _verdict_text(verdict))


def _comparison_table(verdict: Verdict, same: bool) -> pd.DataFrame:
    """Return one row per comparison; across processors only decisions, and logarithms of p.

    The other numbers follow from the evidence, which is compared value by value.
    """
    cells = [
        item.model_dump() | {"cell": f"{item.cell}{' (robustness)' * item.is_robustness}"}
        for item in verdict.comparisons
    ]
    table = pd.DataFrame(cells, columns=[*Comparison.model_fields]).drop(columns="is_robustness")
    numbers = table.columns.difference(["cell", "decision"])
    table = table.astype(dict.fromkeys(numbers, "float64"))
    if same:
        return table
    logarithms = {name: np.log10(table[name].clip(lower=1e-300)) for name in QUESTIONS}
    return table[["cell", "decision"]].assign(**logarithms)


def _verdict_text(verdict: Verdict) -> str:
    seeds = f" by {verdict.seeds} seeds" if verdict.seeds else ""
    return f"{verdict.verdict}{seeds} ({verdict.summary})"


def _table_differences(
    found: Bundle, reference: Bundle, allowed: Callable[[str], Tolerances]
) -> Iterator[Difference]:
    """Yield differences of tables: evidence by claim, fingerprints by experiment."""
    for name, table in found.tables.items():
        known = reference.tables.get(name)
        if known is None:
            yield Difference(name, "table", "none", "computed")
        elif name == FINGERPRINTS and {*table} <= {*known}:
            keys = run_keys(table)
            same = allowed(name) is SAME_PROCESSOR
            columns = known.columns if same else known.columns.drop("digest")
            runs = table[keys].merge(known, on=keys, how="left").reindex(columns=columns)
            found_runs, known = (each.reindex(columns=columns) for each in (table, known))
            yield from _part_differences(name, "experiment", found_runs, runs, known, allowed)
        elif name == EVIDENCE:
            yield from _part_differences(name, "claim", table, known, known, allowed)
        else:
            yield from table_differences(name, table, known, allowed(name))


def _part_differences(
    name: str,
    key: str,
    found: pd.DataFrame,
    reference: pd.DataFrame,
    whole: pd.DataFrame,
    allowed: Callable[[str], Tolerances],
) -> Iterator[Difference]:
    """Yield differences claim by claim, or experiment by experiment."""
    for part, rows in found.groupby(key, sort=False):
        now, known, of_all = (
            each.reset_index(drop=True)
            for each in (rows, reference[reference[key] == part], whole[whole[key] == part])
        )
        yield from table_differences(
            f"{name}, {key} {part}", now, known, allowed(str(part)), of_all
        )


def texts_among_numbers(found: Bundle, reference: Bundle) -> Iterator[Difference]:
    """Yield the cells, of either side, whose text makes a column of numbers one of texts.

    No cell of such a column equals its like, so that its table cannot be compared.
    """
    for name in [name for name in found.tables if name in reference.tables]:
        here, there = found.tables[name], reference.tables[name]
        for column in there.columns.intersection(here.columns):
            for row in _unlike_cells(here[column], there[column]):
                yield Difference(name, f"{column} in row {row + 1}", A_NUMBER, here[column][row])
            for row in _unlike_cells(there[column], here[column]):
                yield Difference(name, f"{column} in row {row + 1}", there[column][row], A_NUMBER)


def _unlike_cells(column: "pd.Series[Any]", like: "pd.Series[Any]") -> "pd.Index[Any]":
    """Return the rows of a column of texts that do not fit a like column, if other rows do."""
    is_text, is_like_text = map(pd.api.types.is_string_dtype, (column, like))
    if not is_text or is_like_text:
        return column.index[:0]
    if pd.api.types.is_bool_dtype(like):
        is_like = column.isin(["True", "False"])
    else:
        is_like = pd.to_numeric(column, errors="coerce").notna()
    return column.index[column.notna() & ~is_like & bool(is_like.any())]
