"""Comparison of two bundles, quantity by quantity, and its differences as sentences."""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from replication.bundle.bundle import (
    FINGERPRINTS,
    TABLES_BY_KIND,
    Bundle,
    figure_path,
    run_keys,
)
from replication.judge.judgement import QUESTIONS
from replication.judge.verdicts import Comparison, Verdict
from replication.plan.study_jobs import StudyJobs
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

READABLE = "readable"
"""Expected state of a file; the found value of such a difference says why it cannot be used."""


def compare_with_reference(
    found: Bundle,
    reference: Bundle,
    judged_again: Mapping[str, Verdict],
    counts: Collection[str] = (),
    others: Tolerances = ACROSS_PROCESSORS,
) -> Iterator[Difference]:
    """Yield every difference between results, possibly of a part of a study, and the reference.

    `judged_again` has the verdicts that follow from the reference's evidence. If another processor
    computed the results, numbers of the tables and claims `counts` are compared like counts, and
    all others within the tolerances `others`.
    """
    again = "reference, judged again"
    yield from _verdict_differences(again, judged_again, reference, SAME_EVIDENCE)
    same = found.depends["machine"] == reference.depends["machine"]

    def allowed(part: str) -> Tolerances:
        return SAME_PROCESSOR if same else COUNTS if part in counts else others

    of_verdicts = allowed("")
    if of_verdicts is ACROSS_PROCESSORS:
        of_verdicts = LOGARITHM_OF_P
    yield from _verdict_differences("results", found.verdicts, reference, of_verdicts)
    for path, table in found.tables.items():
        known = reference.tables.get(path)
        if known is None:
            yield Difference(path, "table", "none", "computed")
        else:
            yield from _table_differences(path, table, known, allowed)
    for kind in ("settings", "code"):
        now, before = found.depends[kind], reference.depends[kind]
        for name in sorted(now | before):
            if now.get(name) != before.get(name):
                yield Difference(kind, name, before.get(name, "none"), now.get(name, "none"))


def tolerances_of_study(study: StudyJobs) -> tuple[set[str], Tolerances]:
    """Return the tables and claims that are compared like counts, and tolerances of the others."""
    registry = study.registry
    names = {*registry.compared_as_counts}
    figures = [
        figure_path(name)
        for name, figure in study.figures.items()
        if registry.text_key(name, figure.kind) in names
    ]
    others = OTHER_SEEDS if registry.amplifies_rounding else ACROSS_PROCESSORS
    return {*(names & study.claims.keys()), *figures}, others


def missing_parts(
    place: str, there: Bundle, parts: Sequence[str], runs: pd.DataFrame
) -> Iterator[Difference]:
    """Yield a difference for every figure, claim, verdict and run that should be there and is not.

    `runs` has a row per run, with the columns that tell runs apart. Without any `parts`, only runs
    of experiments that are there in part should be there.
    """
    here = {*there.parts, *(f"verdict on {claim}" for claim in there.verdicts)}
    due = [part for part in parts if part.startswith(("figure ", "claim "))]
    due += [part.replace("claim", "verdict on") for part in due if part.startswith("claim ")]
    missing = [part for part in due if part not in here]
    known = there.tables.get(FINGERPRINTS, runs.head(0))
    if not parts:
        runs = runs[runs["experiment"].isin(known["experiment"])]
    # Runs that an earlier measure told apart otherwise are not there.
    known = known[[*runs]].drop_duplicates() if {*runs} <= {*known} else runs.head(0)
    both = runs.merge(known, how="left", indicator=True)
    absent = both[both["_merge"] == "left_only"].groupby("experiment").size()
    missing += [f"{number} runs of {experiment}" for experiment, number in absent.items()]
    for name in missing:
        yield Difference(place, name, "there", "missing")


def _table_differences(
    path: str, found: pd.DataFrame, reference: pd.DataFrame, allowed: Callable[[str], Tolerances]
) -> Iterator[Difference]:
    """Yield differences of a table, of evidence by claim, of fingerprints by experiment."""
    kind = next((kind for kind, each in TABLES_BY_KIND.items() if each == path), None)
    for part, rows in found.groupby(kind, sort=False) if kind else [(path, found)]:
        place = f"{path}, {kind} {part}" if kind else path
        known = reference[reference[kind] == part] if kind else reference
        now, known = rows.reset_index(drop=True), known.reset_index(drop=True)
        if path == FINGERPRINTS and {*now} <= {*known}:
            # Some runs may be here alone, and experiments have numbers of their own.
            keys = run_keys(found)
            place_of = now[keys].merge(known[keys].reset_index(), on=keys, how="left")["index"]
            for row in now.index[place_of.isna()]:
                yield Difference(place, f"run in row {row + 1}", "none", "computed")
            here = place_of.notna()
            now = now[here].set_axis(place_of[here].astype(int)).reindex(columns=known.columns)
        elif len(now) != len(known):
            yield Difference(place, "number of rows", str(len(known)), str(len(now)))
            continue
        yield from table_differences(place, now, known, allowed(str(part)))


def _verdict_differences(
    place: str, verdicts: Mapping[str, Verdict], reference: Bundle, tolerances: Tolerances
) -> Iterator[Difference]:
    """Yield differences of the word, the numbers and the sentence of each verdict."""
    for claim, verdict in verdicts.items():
        known = reference.verdicts.get(claim)
        if known is None or not _is_same_verdict(verdict, known, tolerances):
            was = "none" if known is None else _verdict_text(known)
            yield Difference(place, f"verdict on {claim}", was, _verdict_text(verdict))
        elif tolerances is not OTHER_SEEDS:
            now, before = (_comparison_table(each, tolerances) for each in (verdict, known))
            yield from table_differences(
                f"{place}, comparisons of {claim}", now, before, tolerances
            )


def _is_same_verdict(verdict: Verdict, known: Verdict, tolerances: Tolerances) -> bool:
    """Say whether two verdicts say the same; on another processor sentences have other digits."""
    is_same = verdict.verdict == known.verdict
    if tolerances is OTHER_SEEDS:  # they may leave open what others decided, and the reverse
        decided = [each.verdict in DECIDED_VERDICTS for each in (verdict, known)]
        is_same |= decided[0] != decided[1]
    elif tolerances is not LOGARITHM_OF_P:
        is_same &= verdict.summary == known.summary
    return is_same and verdict.seeds == known.seeds


def _comparison_table(verdict: Verdict, tolerances: Tolerances) -> pd.DataFrame:
    """Return one row per comparison; across processors only decisions, and logarithms of p.

    The other numbers follow from the evidence, which is compared value by value.
    """
    rows = [
        each.model_dump() | {"cell": f"{each.cell}{' (robustness)' * each.is_robustness}"}
        for each in verdict.comparisons
    ]
    table = pd.DataFrame(rows, columns=[*Comparison.model_fields]).drop(columns="is_robustness")
    table["resolution"] = verdict.resolution
    texts = ["cell", "decision"]
    table = table.astype(dict.fromkeys(table.columns.difference(texts), "float64"))
    if tolerances is LOGARITHM_OF_P:
        table = table[[*texts, *QUESTIONS, "resolution"]].copy()
        table[[*QUESTIONS]] = np.log10(table[[*QUESTIONS]].clip(lower=1e-300))
    return table


def _verdict_text(verdict: Verdict) -> str:
    seeds = f" by {verdict.seeds} seeds" if verdict.seeds else ""
    return f"{verdict.verdict}{seeds} ({verdict.summary})"


def difference_sentence(difference: Difference) -> str:
    """Return a difference as a sentence."""
    place, quantity, was, now, gap, tolerance, allowed = difference
    if was == READABLE:
        return now
    if place in {"settings", "code"}:
        named = quantity if place == "settings" else f"the code of {quantity}"
        if "none" in (was, now):
            return f"{named} is {'new' if was == 'none' else 'gone'} since the reference was made"
        return f"{named} is not as it was when the reference was made"
    if now == "missing":
        return f"{place}: {quantity} is missing"
    # A verdict is a sentence of its own.
    verb = ":" if quantity.startswith("verdict on ") else " is"
    size = f", {gap:.3g} apart (tolerance: {tolerance}, at most {allowed:.3g})"
    return f"{place}: {quantity}{verb} {now}, expected {was}{size * math.isfinite(gap)}"
