"""Judgement of claims: the declared tests of the registry, applied to evidence.

Each comparison of a claim is asked four questions: does it hold, is it the opposite, is there no
effect that matters, is the effect less than claimed? The verdict sums up the answers: a claim
*holds* if all its comparisons do, holds *in part* if some do, *does not hold* if none does and one
or more say otherwise, and is *open* if the seeds do not suffice in any of them. A statement of the
theory is one about all cases, so that it does not hold if one case is outside its range.

Questions over seeds are corrected for many tests, see `corrections`: over the claims of a family,
which are those of the paper that one figure shows, and within a claim where not all of its
comparisons pass.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from replication.base.errors import InputError, UnmeasurableError, WrongTableError
from replication.base.strict import Strict
from replication.judge.comparisons import (
    UNMEASURED,
    Judged,
    Numbers,
    compare_cells,
    sample_sizes,
)
from replication.judge.corrections import correct_p_values
from replication.judge.statistics import Limits, resolution
from replication.judge.verdicts import (
    FEWEST_SEEDS,
    PROBABILITY,
    Comparison,
    Decision,
    Outcome,
    Verdict,
    comparisons_that_count,
)
from replication.judge.wording import summary_sentence
from replication.study.claims import Bounds, Interval, Published, Statistical, Test

QUESTIONS: dict[str, Decision] = {
    "p": "holds", "p_against": "fails", "p_none": "none", "p_less": "less",
}  # fmt: skip
"""Decision that a small p value makes, by its field, in the order of the questions."""


class Family(Strict):
    """A claim and all that share the correction for many tests with it."""

    claim: str
    """Number of the claim that is judged."""
    tests: Annotated[dict[str, Test], Field(min_length=1)]
    """Test of each claim by its number, in the order of their evidence."""
    robustness: list[str] = []
    """Texts in the names of comparisons that do not count."""


def verdict(family: Family, evidence: Sequence[pd.DataFrame]) -> Verdict:
    """Return the verdict on one claim, given a table for each claim of its family; see `judge`."""
    pairs = zip(family.tests.items(), evidence, strict=True)
    members = [Judged(*item, table, family.robustness) for item, table in pairs]
    return _judge(members, list(map(_compare_if_usable, members)))[family.claim]


def _compare_if_usable(judged: Judged) -> list[Numbers] | str:
    """Return a claim's comparisons, or the reason why its test cannot use the evidence.

    One claim with a wrong table then leaves the others of its family their verdicts.
    """
    try:
        return _compare(judged)
    except InputError as error:
        return WrongTableError(error.message).message


def _compare(judged: Judged) -> list[Numbers] | str:
    """Return a claim's comparisons, or the reason why it is not tested."""
    try:
        return list(compare_cells(judged))
    except UnmeasurableError as error:
        return error.message


def judge(family: Sequence[Judged]) -> dict[str, Verdict]:
    """Return verdicts, by claim, on claims whose p values are corrected together.

    Comparisons that could not be measured are named, and count as open: with them a claim holds in
    part at most, and the others of its family are corrected as if they had been measured. A claim
    that could not be measured, or whose evidence is too little for its test, is not tested and
    counts for nothing in the correction of the others; so do comparisons for robustness, which are
    corrected within their claim.

    Raises:
        InputError: if evidence lacks a column, or is not what the test is about.
    """
    return _judge(family, list(map(_compare, family)))


def _judge(
    family: Sequence[Judged], comparisons: Sequence[list[Numbers] | str]
) -> dict[str, Verdict]:
    """Return the verdicts on claims, given the comparisons of each or why it is not tested."""
    compared: dict[str, list[Numbers]] = {}
    untested: dict[str, str] = {}
    for judged, made in zip(family, comparisons, strict=True):
        cells = [] if isinstance(made, str) else made
        known = [cell for cell in cells if UNMEASURED not in cell]
        if all(cell["is_robustness"] for cell in known):
            untested[judged.claim] = made if isinstance(made, str) else _reasons(cells)
            cells = []
        # What was lost answers no question, and the others are corrected as if it had been asked.
        asked = {name: 1.0 for name in QUESTIONS if any(name in cell for cell in known)}
        compared[judged.claim] = [asked | cell for cell in cells]
    counted = [[each for each in cells if not each["is_robustness"]] for cells in compared.values()]
    _correct(counted, [judged.test for judged in family])
    for judged in family:
        beside = [cell for cell in compared[judged.claim] if cell["is_robustness"]]
        _correct([beside], [judged.test])
    size = sum(any("p" in cell for cell in cells) for cells in counted)
    return {
        judged.claim: Verdict.without_evidence(judged.claim, untested[judged.claim])
        if judged.claim in untested
        else _verdict(judged, compared[judged.claim], size)
        for judged in family
    }


def _reasons(cells: Sequence[Numbers]) -> str:
    """Return why comparisons without a number have none."""
    return "; ".join(cell[UNMEASURED] for cell in cells if UNMEASURED in cell)


def _correct(compared: Sequence[list[Numbers]], tests: Sequence[Test]) -> None:
    """Correct the p values of each question over the claims of a family.

    Each comparison keeps the factor by which a question's p grew, under the p's name and "grew".
    """
    for name in QUESTIONS:
        asked = [
            (test, cells)
            for test, found in zip(tests, compared, strict=True)
            if isinstance(test, Statistical) and (cells := [c for c in found if name in c])
        ]
        levels = [test.level for test, _ in asked]
        grown = correct_p_values([[cell[name] for cell in cells] for _, cells in asked], levels)
        for (_, cells), p_values in zip(asked, grown, strict=True):
            for cell, p in zip(cells, p_values, strict=True):
                cell[f"{name} grew"] = p / cell[name] if cell[name] else 1.0
                cell[name] = float(p)


def _verdict(judged: Judged, cells: list[Numbers], tested_together: int) -> Verdict:
    claim, test, evidence, _ = judged
    samples = sample_sizes(evidence)
    comparisons = [_comparison(test, cell) for cell in cells if UNMEASURED not in cell]
    found = Verdict(
        claim=claim,
        verdict=outcome(test, comparisons),
        summary=summary_sentence(comparisons),
        seeds=min(samples, default=0),
        comparisons=comparisons,
    )
    if isinstance(test, Statistical):
        found = _of_enough_seeds(found)
        is_median = isinstance(test, Interval) and test.center == "median"
        if found.verdict != "not tested" and not is_median:
            error = sum(1 / size for size in samples) ** 0.5
            dof, level = sum(samples) - len(samples), test.level / tested_together
            reached = resolution(error, dof, level, len(found.counted), PROBABILITY)
            found = found.model_copy(update={"resolution": reached})
    lost = [cell for cell in cells if UNMEASURED in cell]
    if not lost:
        return found
    # A comparison without a number does not hold.
    is_less = found.verdict == "replicated" and not all(cell["is_robustness"] for cell in lost)
    said: Outcome = "in part" if is_less else found.verdict
    summary = f"{found.summary}; {_reasons(lost)}"
    return found.model_copy(update={"verdict": said, "summary": summary})


def _of_enough_seeds(found: Verdict) -> Verdict:
    """Return a verdict over seeds, or that there is none if these are too few or do not differ."""
    same = [item.cell for item in found.counted if item.effect is None]
    if found.seeds < FEWEST_SEEDS:
        why = f"{found.seeds} seeds do not make a verdict, which needs {FEWEST_SEEDS}"
    elif same:
        why = f"the seeds of '{same[0]}' do not differ"
    else:
        return found
    summary = f"{why}; {found.summary}"
    return found.model_copy(update={"verdict": "not tested", "summary": summary})


def _comparison(test: Test, cell: Numbers) -> Comparison:
    """Return a comparison: its decision, and the interval by which that was decided."""
    known = {name: cell[name] for name in Comparison.model_fields if name in cell}
    if not isinstance(test, Statistical):
        return Comparison(**known)
    decision = _decision(test, cell)
    asked = [name for name, answer in QUESTIONS.items() if answer == decision] or [*QUESTIONS]
    grown = {name: cell[f"{name} grew"] for name in asked if name in cell}
    if "p_against" in grown:
        # Its p counts both ends of a range.
        grown["p_against"] *= cell["ends"]
    confidence = 1 - 2 * test.level / max(2 * test.level, *grown.values())
    limits: Limits = cell["interval"](confidence)
    ends = {name: end for name, end in limits._asdict().items() if np.isfinite(end)}
    return Comparison(**known, **ends, confidence=confidence, decision=decision)


def _decision(test: Statistical, cell: Numbers) -> Decision:
    """Return the decision of the first question that is answered with yes."""
    answered = (answer for name, answer in QUESTIONS.items() if cell.get(name, 1) <= test.level)
    return next(answered, "open")


def outcome(test: Test, comparisons: Sequence[Comparison]) -> Outcome:
    """Return the verdict of comparisons of one claim, at least one of which counts."""
    decisions = [item.decision for item in comparisons_that_count(comparisons)]
    if not isinstance(test, Statistical) and "fails" in decisions:
        return "does not hold"
    summed = sum_up(
        decisions.count("holds"),
        len(decisions) - decisions.count("holds") - decisions.count("open"),
        decisions.count("open"),
    )
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
