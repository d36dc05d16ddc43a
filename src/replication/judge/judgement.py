"""Judgement of claims: the declared tests of the registry, applied to evidence.

Each comparison of a claim is asked four questions: does it hold, is it the opposite, is there no
effect that matters, is the effect less than claimed? The verdict sums up the answers: a claim
*holds* if all its comparisons do, holds *in part* if some do, *does not hold* if none does and one
or more say otherwise, and is *open* if the seeds do not suffice in any of them. A statement of the
theory is one about all cases, so that it does not hold if one case is outside its range.

Questions over seeds are corrected for many tests, see `correct_p_values`: over the claims of a
family, which are those of the paper that one figure shows, and within a claim where not all of its
comparisons pass.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from replication.base.errors import UnmeasurableError
from replication.base.strict import Strict
from replication.judge.comparisons import (
    UNMEASURED,
    Judged,
    Numbers,
    compare_cells,
    reasons_of,
)
from replication.judge.statistics import correct_p_values, resolution
from replication.judge.verdicts import (
    FEWEST_SEEDS,
    PROBABILITY,
    Comparison,
    Decision,
    Outcome,
    Verdict,
    comparisons_that_count,
    summary_sentence,
)
from replication.study.claims import Bounds, Interval, Published, Statistical, Test

QUESTIONS: dict[str, Decision] = {
    "p": "holds", "p_against": "fails", "p_none": "none", "p_less": "less",
}  # fmt: skip
"""Decision that a small p value makes, by its field, in the order of the questions."""


class Family(Strict):
    """A claim, and the tests of all claims that are corrected with it, in the order of evidence.

    `robustness` has texts in the names of comparisons that do not count.
    """

    claim: str
    tests: Annotated[dict[str, Test], Field(min_length=1)]
    robustness: list[str] = []


def verdict(family: Family, evidence: Sequence[pd.DataFrame]) -> Verdict:
    """Return the verdict on one claim, given a table for each claim of its family; see `judge`."""
    pairs = zip(family.tests.items(), evidence, strict=True)
    return judge([Judged(*item, table, family.robustness) for item, table in pairs])[family.claim]


def judge(family: Sequence[Judged]) -> dict[str, Verdict]:
    """Return verdicts, by claim, on claims whose p values are corrected together.

    Comparisons that could not be measured are named, and count as open: with them a claim holds in
    part at most, and the others of its family are corrected as if they had been measured. A claim
    that could not be measured, or whose evidence is too little for its test, or is a table that its
    test cannot use, is not tested and counts for nothing in the correction of the others; so do
    comparisons for robustness, which are corrected within their claim.
    """
    verdicts: dict[str, Verdict] = {}
    compared: list[tuple[Judged, list[Numbers]]] = []
    for judged in family:
        try:
            cells = compare_cells(judged)
        except UnmeasurableError as error:
            verdicts[judged.claim] = Verdict.without_evidence(judged.claim, error.message)
        else:
            # What was lost answers no question; the others are corrected as if it had been asked.
            asked = {name: 1.0 for name in QUESTIONS if any(name in cell for cell in cells)}
            compared.append((judged, [asked | cell for cell in cells]))

    def cells_of(*, are_robustness: bool) -> list[tuple[Test, list[Numbers]]]:
        return [
            (each.test, [cell for cell in cells if cell["is_robustness"] == are_robustness])
            for each, cells in compared
        ]

    counted = cells_of(are_robustness=False)
    for together in (counted, *([each] for each in cells_of(are_robustness=True))):
        _correct(together)
    size = sum(any("p" in cell for cell in cells) for _, cells in counted)
    verdicts |= {each.claim: _verdict(each, cells, size) for each, cells in compared}
    return {judged.claim: verdicts[judged.claim] for judged in family}


def _correct(family: Sequence[tuple[Test, list[Numbers]]]) -> None:
    """Correct the p values of each question over the claims of a family.

    Each comparison keeps the factor by which a question's p grew, under the p's name and "grew".
    """
    for name in QUESTIONS:
        asked = [
            (test.level, found)
            for test, cells in family
            if isinstance(test, Statistical) and (found := [cell for cell in cells if name in cell])
        ]
        p_values = [[cell[name] for cell in cells] for _, cells in asked]
        grown = correct_p_values(p_values, [level for level, _ in asked])
        for cell, p in zip(chain(*(cells for _, cells in asked)), chain(*grown), strict=True):
            cell[f"{name} grew"] = p / cell[name] if cell[name] else 1.0
            cell[name] = float(p)


def _verdict(judged: Judged, cells: list[Numbers], tested_together: int) -> Verdict:
    test = judged.test
    samples = [part["seed"].nunique() for part in judged.samples]
    comparisons = [_comparison(test, cell) for cell in cells if UNMEASURED not in cell]
    counted = comparisons_that_count(comparisons)
    seeds, reached = min(samples, default=0), None
    found, summary = _outcome(test, counted), summary_sentence(comparisons)
    if isinstance(test, Statistical):
        if why := _too_few_seeds(seeds, counted):
            found, summary = "not tested", f"{why}; {summary}"
        elif not (isinstance(test, Interval) and test.center == "median"):
            error = sum(1 / size for size in samples) ** 0.5
            dof, level = sum(samples) - len(samples), test.level / tested_together
            reached = resolution(error, dof, level, len(counted), PROBABILITY)
    if lost := reasons_of(cells):
        # A comparison without a number does not hold.
        is_less = any(UNMEASURED in cell and not cell["is_robustness"] for cell in cells)
        found = "in part" if found == "replicated" and is_less else found
        summary = f"{summary}; {lost}"
    return Verdict(
        claim=judged.claim, verdict=found, summary=summary, seeds=seeds, resolution=reached,
        comparisons=comparisons,
    )  # fmt: skip


def _too_few_seeds(seeds: int, comparisons: Sequence[Comparison]) -> str:
    """Return why seeds make no verdict, if they are too few or do not differ."""
    if seeds < FEWEST_SEEDS:
        return f"{seeds} seeds do not make a verdict, which needs {FEWEST_SEEDS}"
    same = [item.cell for item in comparisons if item.effect is None]
    return f"the seeds of '{same[0]}' do not differ" if same else ""


def _comparison(test: Test, cell: Numbers) -> Comparison:
    """Return a comparison: its decision, and the interval by which that was decided."""
    known = {name: cell[name] for name in Comparison.model_fields if name in cell}
    if not isinstance(test, Statistical):
        return Comparison(**known)
    # The first question that is answered with yes.
    answered = (answer for name, answer in QUESTIONS.items() if cell.get(name, 1) <= test.level)
    decision = next(answered, "open")
    asked = [name for name, answer in QUESTIONS.items() if answer == decision] or [*QUESTIONS]
    # The p of the opposite counts both ends of a range.
    grown = [
        cell[f"{name} grew"] * (cell["ends"] if name == "p_against" else 1)
        for name in asked
        if name in cell
    ]
    confidence = 1 - 2 * test.level / max(2 * test.level, *grown)
    limits = cell["interval"](confidence)._asdict()
    ends = {name: end for name, end in limits.items() if np.isfinite(end)}
    return Comparison(**known, **ends, confidence=confidence, decision=decision)


def _outcome(test: Test, counted: Sequence[Comparison]) -> Outcome:
    """Return the verdict of the comparisons of one claim that count, at least one."""
    decisions = [item.decision for item in counted]
    holding, undecided = decisions.count("holds"), decisions.count("open")
    if not isinstance(test, Statistical) and "fails" in decisions:
        return "does not hold"
    summed = sum_up(holding, len(decisions) - holding - undecided, undecided)
    if summed != "holds":
        return summed
    if isinstance(test, Bounds):
        return "verified"
    return "reproduced" if isinstance(test, Published) else "replicated"


def sum_up(
    holding: int, otherwise: int, undecided: int
) -> Literal["holds", "in part", "does not hold", "open"]:
    """Return how much holds, given how many parts hold, say otherwise and are not decided."""
    if holding:
        return "in part" if otherwise or undecided else "holds"
    return "does not hold" if otherwise else "open"
