"""From evidence to verdicts: the declared tests of the registry, applied.

Each comparison of a claim is asked four questions: does it hold, is it the opposite, is there no
effect that matters, is the effect less than claimed? The verdict sums up the answers: a claim
*holds* if all its comparisons do, holds *in part* if some do, *does not hold* if none does and one
or more say otherwise, and is *open* if the seeds do not suffice in any of them. A statement of the
theory is one about all cases, so that it does not hold if one case is outside its range.

Questions over seeds are corrected for many tests, see `corrections.correct_p_values`: over the claims of a
family, which are those of the paper that one figure shows, and within a claim where not all of its
comparisons pass.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field

from replication.base.errors import InputError, UnmeasurableError
from replication.base.strict import Strict
from replication.judge.corrections import correct_p_values
from replication.judge.statistics import (
    Limits,
    pooled_std,
    resolution,
    sign_interval,
    sign_test_above,
    sign_test_below,
    t_interval,
    t_test_above,
    t_test_below,
    welch_beyond,
    welch_equivalence,
    welch_interval,
)
from replication.study.registry import Bounds, Equivalence, Interval, Published, Statistical, Test

Floats = NDArray[np.float64]
Numbers = dict[str, Any]
"""What is known of a `Comparison`, by its field."""
FEWEST_SEEDS = 5
"""With fewer a standard deviation is known so badly that a test says little about other seeds."""
PROBABILITY = 0.9
"""With which a claim passes at its resolution."""
UNMEASURED = "unmeasured"
"""The one column of evidence that could not be measured; its one value says why."""
Holding = Literal["verified", "reproduced", "replicated"]
HOLDING: tuple[Holding, ...] = get_args(Holding)
"""Verdicts on claims of which every comparison holds."""
Outcome = Literal[Holding, "in part", "does not hold", "open", "not tested"]
OUTCOMES: dict[Outcome, str] = {
    "verified": "holds: a statement of the theory, computed; every value is in its declared range",
    "reproduced": "holds: the paper's seeds give the paper's numbers, to the precision of print",
    "replicated": "holds: independent seeds pass the declared test in every comparison",
    "in part": "some comparisons hold, others do not or are open; they are named",
    "does not hold": "no comparison holds, and one or more say otherwise: the opposite, no effect"
    " that matters, or less than claimed; of the theory, one value or more is outside its range",
    "open": "the seeds do not suffice to tell, in any comparison",
    "not tested": "not judged; the reason is given",
}
"""What each verdict means."""
NOT_HOLDING: tuple[Outcome, ...] = ("in part", "does not hold", "open")
"""Verdicts on claims that were judged and of which not every comparison holds."""
EARLIER_VERDICTS: dict[str, str] = dict.fromkeys(
    ("contradicted", "no effect", "inconclusive"),
    "a verdict by the rules of an earlier reference, that of its worst comparison",
)
"""Verdicts that receipts and histories from before still name."""
Decision = Literal["holds", "fails", "none", "less", "open"]
DECISIONS: dict[Decision, str] = {
    "holds": "as claimed",
    "fails": "the opposite of the claim, or outside its range",
    "none": "no effect that matters",
    "less": "less than claimed: the effect that matters is excluded, no effect and the opposite are"
    " not told apart",
    "open": "the seeds do not suffice to tell",
}
"""What each comparison can say, the first that the data allow."""
QUESTIONS: dict[str, Decision] = {
    "p": "holds", "p_against": "fails", "p_none": "none", "p_less": "less",
}  # fmt: skip
"""By p value, in the order in which a comparison is asked."""
MOST_NAMED_CELLS = 4
"""Comparisons that a sentence names of those that say the same."""


class Comparison(Strict):
    """One cell of a claim's evidence, judged."""

    cell: str
    """Name of the cell."""
    estimate: float
    """The value, or the mean or median over seeds; of an equivalence or a published value ours
    minus the paper's."""
    low: float | None = None
    """Lower end of the interval by which it was decided."""
    high: float | None = None
    """Upper end of that interval."""
    confidence: float | None = None
    """With which this interval covers the mean. Its ends are one-sided limits at the corrected
    level, so that it lies in the claim's range just if the comparison holds."""
    lower: float | None = None
    """Where the claim's range begins, moved by the smallest effect that matters."""
    upper: float | None = None
    """Where the claim's range ends, moved likewise."""
    bound: float | None = None
    """The only bound of the claim's range, if it has one alone, which the smallest effect does not
    move."""
    effect: float | None = None
    """In standard deviations of one seed: the estimate, or its distance from the claim's bound
    (the lower one if there are two), which the smallest effect does not move."""
    p: float | None = None
    """p value for the claim, corrected over the family."""
    p_against: float | None = None
    """p value against the claim, corrected over the family."""
    p_none: float | None = None
    """p value for an effect too small to matter, corrected over the family."""
    p_less: float | None = None
    """p value for an effect below the smallest that matters, corrected over the family."""
    decision: Decision
    """What it says, see `DECISIONS`."""
    is_robustness: bool = False
    """Whether it is only shown: by the study's rule it does not count for the verdict."""


class Verdict(Strict):
    """What one claim's evidence says."""

    claim: str
    """Number of the claim in the registry."""
    verdict: Outcome
    """The verdict."""
    summary: str
    """One sentence."""
    seeds: int
    """Number of seeds behind each comparison, the smaller one of two samples; 0 for the theory and
    for what could not be measured."""
    resolution: float | None = None
    """How far inside the range, its bound moved by the smallest effect, means must lie for all
    comparisons that count to pass together with the probability `RESOLUTION_PROBABILITY`, in standard
    deviations of one seed; none for the theory and for medians."""
    comparisons: list[Comparison]
    """One per cell; none if the claim could not be measured."""

    @property
    def counted(self) -> list[Comparison]:
        """Those that count."""
        return [item for item in self.comparisons if not item.is_robustness]

    @property
    def holding(self) -> int:
        """How many of them hold."""
        return sum(item.decision == "holds" for item in self.counted)

    @classmethod
    def without_evidence(cls, claim: str, reason: str) -> "Verdict":
        """Of a claim that is not tested, for a reason."""
        return cls(claim=claim, verdict="not tested", summary=reason, seeds=0, comparisons=[])


class Judged(NamedTuple):
    """A claim's test and its evidence."""

    claim: str
    """Number of the claim."""
    test: Test
    """How it is judged."""
    evidence: pd.DataFrame
    """What was measured, columns as the test states; or what `missing_evidence` returned."""
    robustness: Sequence[str] = ()
    """Texts in the names of cells that do not count."""


class Family(Strict):
    """A claim and all that share the correction for many tests with it."""

    claim: str
    """Number of the one that is judged."""
    tests: Annotated[dict[str, Test], Field(min_length=1)]
    """How each is judged, by its number, in the order of their evidence."""
    robustness: list[str] = []
    """Texts in the names of cells that do not count."""


def missing_evidence(reason: str) -> pd.DataFrame:
    """In place of evidence, why there is none."""
    return pd.DataFrame({UNMEASURED: [reason]})


def verdict(family: Family, evidence: Sequence[pd.DataFrame]) -> Verdict:
    """Judge one claim, see `judge`.

    Args:
        family: the claim, and those that are corrected with it.
        evidence: of every one of them.
    """
    pairs = zip(family.tests.items(), evidence, strict=True)
    members = [Judged(*item, table, family.robustness) for item, table in pairs]
    return judge(members)[family.claim]


def judge(family: Sequence[Judged]) -> dict[str, Verdict]:
    """Judge the claims whose p values are corrected together, each question apart.

    A claim that could not be measured, or whose evidence is too little for its test, is not tested
    and counts for nothing in the correction of the others; so do comparisons for robustness, which
    are corrected within their claim.

    Args:
        family: the claims.

    Returns:
        The verdicts by number of the claim.

    Raises:
        InputError: if evidence lacks a column, or is not what the test is about.
    """
    compared: list[list[Numbers]] = []
    untested: dict[str, str] = {}
    for judged in family:
        try:
            compared.append(list(_compare(judged)))
        except UnmeasurableError as error:
            compared.append([])
            untested[judged.claim] = error.message
    counted = [[cell for cell in cells if not cell["is_robustness"]] for cells in compared]
    _correct(counted, [judged.test for judged in family])
    for judged, cells in zip(family, compared, strict=True):
        _correct([[cell for cell in cells if cell["is_robustness"]]], [judged.test])
    size = sum(any("p" in cell for cell in cells) for cells in counted)
    return {
        judged.claim: Verdict.without_evidence(judged.claim, untested[judged.claim])
        if judged.claim in untested
        else _verdict(judged, cells, size)
        for judged, cells in zip(family, compared, strict=True)
    }


def _correct(compared: Sequence[list[Numbers]], tests: Sequence[Test]) -> None:
    """Correct the p values of each question over the claims of a family.

    Of a cell, the factor by which each question's p grew stays beside it.
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
    samples = _samples(judged.evidence)
    seeds = min(samples, default=0)
    comparisons = [_comparison(judged.test, cell) for cell in cells]
    verdict = Verdict(
        claim=judged.claim,
        verdict=outcome(judged.test, comparisons),
        summary=_summary(comparisons),
        seeds=seeds,
        comparisons=comparisons,
    )
    if not isinstance(judged.test, Statistical):
        return verdict
    if seeds < FEWEST_SEEDS:
        few = f"{seeds} seeds do not make a verdict, which needs {FEWEST_SEEDS}; {verdict.summary}"
        return verdict.model_copy(update={"verdict": "not tested", "summary": few})
    same = [item.cell for item in verdict.counted if item.effect is None]
    if same:
        constant = f"the seeds of '{same[0]}' do not differ; {verdict.summary}"
        return verdict.model_copy(update={"verdict": "not tested", "summary": constant})
    if isinstance(judged.test, Interval) and judged.test.center == "median":
        return verdict
    error = sum(1 / size for size in samples) ** 0.5
    dof, level = sum(samples) - len(samples), judged.test.level / tested_together
    found = resolution(error, dof, level, len(verdict.counted), PROBABILITY)
    return verdict.model_copy(update={"resolution": found})


def _samples(evidence: pd.DataFrame) -> list[int]:
    """Number of seeds of each sample; none for the theory."""
    return [part["seed"].nunique() for part in _parts(evidence)]


def _parts(evidence: pd.DataFrame) -> list[pd.DataFrame]:
    """The evidence of each sample; none for the theory."""
    if "seed" not in evidence:
        return []
    return [part for _, part in evidence.groupby("sample")] if "sample" in evidence else [evidence]


def _compare(judged: Judged) -> Iterator[Numbers]:
    """Of every cell the numbers of its `Comparison`, with raw p values, or the decision."""
    if UNMEASURED in judged.evidence:
        raise UnmeasurableError(str(judged.evidence[UNMEASURED].item()))
    compare, columns = _KINDS[type(judged.test)]
    missing = sorted(set(columns) - set(judged.evidence.columns))
    if missing:
        raise InputError(
            f"claim {judged.claim}: what its measure returns lacks {', '.join(missing)}; a test of"
            f" the kind {judged.test.kind} needs the columns {', '.join(columns)}"
        )
    if judged.evidence.empty:
        raise UnmeasurableError("nothing was found to measure")
    if not pd.api.types.is_numeric_dtype(judged.evidence["value"]):
        raise InputError(f"claim {judged.claim}: a value of its evidence is no number")
    _check_seeds(judged)
    names = judged.evidence["cell"].unique()
    # A statement of the theory is one about all cases, whatever their names.
    texts = judged.robustness if isinstance(judged.test, Statistical) else ()
    beside = {name for name in names if any(text in str(name) for text in texts)}
    if len(beside) == len(names):
        raise UnmeasurableError("all that was measured is for robustness, by the study's rule")
    for cell, rows in judged.evidence.groupby("cell", sort=False):
        try:
            found = compare(judged.test, rows)
            yield {"cell": str(cell), "is_robustness": cell in beside, **found}
        except UnmeasurableError as error:
            raise UnmeasurableError(f"in '{cell}' {error.message}") from error
        except InputError as error:
            raise InputError(f"claim {judged.claim}, {cell}: {error.message}") from error


def _check_seeds(judged: Judged) -> None:
    """One value per seed, and the same number of seeds in every cell of a sample."""
    for name in ("cell", "seed", "sample"):
        if name in judged.evidence and judged.evidence[name].isna().any():
            raise InputError(f"claim {judged.claim}: a row of its evidence has no {name}")
    if "sample" in judged.evidence and not isinstance(judged.test, Equivalence):
        raise InputError(f"claim {judged.claim}: only an equivalence compares samples")
    for part in _parts(judged.evidence):
        if part.duplicated(["cell", "seed"]).any():
            raise InputError(f"claim {judged.claim}: a seed has several values in one cell")
        seeds = part.groupby("cell")["seed"].nunique()
        if len(set(seeds)) > 1:
            raise UnmeasurableError("its cells have different numbers of seeds")
        if isinstance(judged.test, Statistical) and seeds.iloc[0] < 2:
            raise UnmeasurableError(
                f"claim {judged.claim} has 1 seed, but a test over seeds needs 2, and a verdict"
                f" {FEWEST_SEEDS}; add seeds to its experiments"
            )


def _bounds(test: Bounds, rows: pd.DataFrame) -> Numbers:
    return _within(_only(rows, "value"), test.lower, test.upper)


def _published(test: Published, rows: pd.DataFrame) -> Numbers:
    difference = _only(rows, "value") - _only(rows, "published")
    return _within(difference, -test.tolerance, test.tolerance)


def _within(value: float, lower: float | None, upper: float | None) -> Numbers:
    inside = (lower is None or value >= lower) and (upper is None or value <= upper)
    decision = "holds" if inside else "fails"
    return {"estimate": value, "lower": lower, "upper": upper, "decision": decision}


def _interval(test: Interval, rows: pd.DataFrame) -> Numbers:
    values, matters = _values(rows), test.smallest_effect or 0
    above, below, interval = _BY_CENTER[test.center]
    lower = None if test.lower is None else test.lower + matters
    upper = None if test.upper is None else test.upper - matters
    inside, outside, less = [], [], []
    if lower is not None:
        inside.append(above(values, lower))
        outside.append(below(values, lower - 2 * matters))
        less.append(below(values, lower))
    if upper is not None:
        inside.append(below(values, upper))
        outside.append(above(values, upper + 2 * matters))
        less.append(above(values, upper))
    bound = float((test.lower if test.lower is not None else test.upper) or 0)
    numbers = {
        "estimate": float(values.mean() if test.center == "mean" else np.median(values)),
        "interval": lambda confidence: interval(values, confidence),
        "ends": len(inside),
        "lower": lower,
        "upper": upper,
        "bound": bound if len(inside) == 1 else None,
        "effect": _standardised(values - bound),
        "p": max(inside),
        "p_against": min(1, len(outside) * min(outside)),
    }
    if matters:
        numbers["p_none"] = max(above(values, bound - matters), below(values, bound + matters))
        numbers["p_less"] = less[0]
    return numbers


_BY_CENTER = {
    "mean": (t_test_above, t_test_below, t_interval),
    "median": (sign_test_above, sign_test_below, sign_interval),
}
"""Tests and interval of an `Interval`."""


def _equivalence(test: Equivalence, rows: pd.DataFrame) -> Numbers:
    ours, paper = (_values(rows[rows["sample"] == name]) for name in ("ours", "paper"))
    margin = test.margin * pooled_std(ours, paper)
    difference = float(ours.mean() - paper.mean())
    return {
        "estimate": difference,
        "interval": lambda confidence: welch_interval(ours, paper, confidence),
        "ends": 2,
        "lower": -margin,
        "upper": margin,
        "effect": difference * test.margin / margin if _spreads(ours, paper) else None,
        "p": welch_equivalence(ours, paper, margin),
        "p_against": min(1, 2 * welch_beyond(ours, paper, margin)),
    }


_KINDS: dict[type, tuple[Callable[[Any, pd.DataFrame], Numbers], tuple[str, ...]]] = {
    Bounds: (_bounds, ("cell", "value")),
    Published: (_published, ("cell", "value", "published")),
    Interval: (_interval, ("cell", "seed", "value")),
    Equivalence: (_equivalence, ("cell", "sample", "seed", "value")),
}


def _comparison(test: Test, cell: Numbers) -> Comparison:
    """What a cell says, with the interval by which that was decided."""
    known = {name: cell[name] for name in Comparison.model_fields if name in cell}
    if not isinstance(test, Statistical):
        return Comparison(**known)
    decision = _decision(test, cell)
    asked = [name for name, said in QUESTIONS.items() if said == decision] or [*QUESTIONS]
    grown = {name: cell[f"{name} grew"] for name in asked if name in cell}
    if "p_against" in grown:
        # Its p counts both ends of a range.
        grown["p_against"] *= cell["ends"]
    confidence = 1 - 2 * test.level / max(2 * test.level, *grown.values())
    limits: Limits = cell["interval"](confidence)
    ends = {name: end for name, end in limits._asdict().items() if np.isfinite(end)}
    return Comparison(**known, **ends, confidence=confidence, decision=decision)


def _decision(test: Statistical, cell: Numbers) -> Decision:
    """The first question that is answered with yes."""
    answered = (said for name, said in QUESTIONS.items() if cell.get(name, 1) <= test.level)
    return next(answered, "open")


def outcome(test: Test, comparisons: Sequence[Comparison]) -> Outcome:
    """Return the verdict that comparisons make.

    Args:
        test: by which they were decided.
        comparisons: of one claim, at least one that counts.
    """
    decisions = [item.decision for item in comparisons if not item.is_robustness]
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
    """Return how much of something holds, given what its parts say.

    Args:
        holding: number of parts that hold.
        otherwise: of those that were decided otherwise.
        undecided: of those that were not decided.
    """
    if holding:
        return "in part" if otherwise or undecided else "holds"
    return "does not hold" if otherwise else "open"


def how_much(comparisons: Sequence[Comparison]) -> str:
    """Return how many comparisons hold, and what the others say: "4 of 6 hold; open in 'CB'".

    Those for robustness come last, and are not counted.

    Args:
        comparisons: of one claim.
    """
    counted = [item for item in comparisons if not item.is_robustness]
    beside = [item for item in comparisons if item.is_robustness]
    said = _how_much(counted)
    return f"{said}; for robustness: {_how_much(beside)}" if beside else said


def _how_much(comparisons: Sequence[Comparison]) -> str:
    holding = sum(item.decision == "holds" for item in comparisons)
    parts = [f"{holding} of {len(comparisons)} {'holds' if len(comparisons) == 1 else 'hold'}"]
    groups: dict[str, list[str]] = {}
    for item in sorted(comparisons, key=lambda each: [*DECISIONS].index(each.decision)):
        if item.decision != "holds":
            groups.setdefault(_in_words(item), []).append(item.cell)
    for words, cells in groups.items():
        if len(cells) == len(comparisons):
            parts.append(words if len(cells) == 1 else f"{words} in all")
        else:
            more = len(cells) - MOST_NAMED_CELLS
            named = [f"'{cell}'" for cell in cells[:MOST_NAMED_CELLS]]
            parts.append(f"{words} in {', '.join(named)}" + (f" and {more} more" * (more > 0)))
    return "; ".join(parts)


def _in_words(item: Comparison) -> str:
    """What a comparison says that does not hold."""
    # Without a smallest effect only a bound of zero parts a direction from the opposite one.
    is_direction = item.bound is not None and (item.p_none is not None or item.bound == 0)
    return {
        "fails": "the opposite" if is_direction else "outside the range",
        "none": "too small to matter",
        "less": f"less than claimed{', of the opposite sign' * _is_of_opposite_sign(item)}",
    }.get(item.decision, item.decision)


def _is_of_opposite_sign(item: Comparison) -> bool:
    """Whether zero is the claim's only bound, and the interval lies on its other side."""
    if item.bound != 0 or item.low is None or item.high is None:
        return False
    return item.high < 0 if item.upper is None else item.low > 0


def _summary(comparisons: list[Comparison]) -> str:
    """How much holds, and the comparison that is worst off."""
    counted = [item for item in comparisons if not item.is_robustness]
    found, needed = estimate_and_range(counted, "{:.3g}".format)
    which = f"least favourable value, in '{least_favourable(counted).cell}'," * (len(counted) > 1)
    return f"{how_much(comparisons)}; the {which or 'value'} is {found}, expected {needed}"


def least_favourable(comparisons: Sequence[Comparison]) -> Comparison:
    """The comparison that speaks most against the claim."""
    return max(comparisons, key=_distance)


def estimate_and_range(
    comparisons: Sequence[Comparison], number: Callable[[float], str]
) -> tuple[str, str]:
    """The least favourable estimate with its interval, and the range in which it has to lie.

    Args:
        comparisons: of one claim; if there are none, both are empty.
        number: how numbers are written.
    """
    if not comparisons:
        return "", ""
    worst = least_favourable([item for item in comparisons if not item.is_robustness])
    ends = (("at least", worst.lower), ("at most", worst.upper))
    needed = " and ".join(f"{name} {number(end)}" for name, end in ends if end is not None)
    if worst.low is None or worst.high is None:
        return number(worst.estimate), needed
    return f"{number(worst.estimate)} ({number(worst.low)} to {number(worst.high)})", needed


def _distance(item: Comparison) -> tuple[int, float]:
    """Order of comparisons from favourable to unfavourable: by decision, then by the estimate.

    Where the claim has a range, its width is the unit, as cells can have ranges of their own.
    """
    rank = ["holds", "open", "less", "none", "fails"].index(item.decision)
    excess = max(
        -np.inf if item.lower is None else item.lower - item.estimate,
        -np.inf if item.upper is None else item.estimate - item.upper,
    )
    if item.lower is not None and item.upper is not None:
        excess /= item.upper - item.lower or 1
    return rank, float(excess)


def _values(rows: pd.DataFrame) -> Floats:
    return rows.sort_values("seed")["value"].to_numpy(np.float64)


def _only(rows: pd.DataFrame, column: str) -> float:
    if len(rows) != 1:
        raise InputError(f"has {len(rows)} values, expected one")
    value = float(rows[column].iloc[0])
    if not np.isfinite(value):
        raise InputError("is not a finite number")
    return value


def _standardised(values: Floats) -> float | None:
    """Mean in standard deviations of one seed; none if all seeds agree."""
    return float(values.mean() / values.std(ddof=1)) if _spreads(values) else None


def _spreads(*samples: Floats) -> bool:
    """Whether seeds differ by more than rounding."""
    return any(np.ptp(values) > 1e-12 * np.abs(values).max() for values in samples)
