"""From evidence to verdicts: the declared tests of the registry, applied.

A claim has the verdict of its worst comparison: it *holds* if every one of them passes, is
*contradicted* if one of them significantly fails, and has *no effect* if none does and one of them
is significantly smaller than matters. One that the data at hand do not decide is *not tested*.
Statistical tests are corrected over all comparisons of a family (Holm): the claims that one figure
shows.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field

from replication.errors import InputError, UnmeasurableError
from replication.registry import Bounds, Equivalence, Interval, Published, Statistical, Test
from replication.statistics import (
    holm,
    pooled_std,
    resolution,
    t_interval,
    t_test_above,
    t_test_below,
    t_test_within,
    welch_beyond,
    welch_equivalence,
    welch_interval,
)
from replication.strict import Strict

Floats = NDArray[np.float64]
Numbers = dict[str, Any]
"""What is known of a `Comparison`, by its field."""
FEWEST_SEEDS = 5
"""With fewer a standard deviation is known so badly that a test says little about other seeds."""
PROBABILITY = 0.9
"""With which a claim passes at its resolution."""
UNMEASURED = "unmeasured"
"""The one column of evidence that could not be measured; its one value says why."""
Outcome = Literal[
    "verified",
    "reproduced",
    "replicated",
    "contradicted",
    "no effect",
    "inconclusive",
    "not tested",
]
OUTCOMES: dict[Outcome, str] = {
    "verified": "a statement of the theory, computed and within its declared bounds",
    "reproduced": "the paper's seeds give the paper's numbers, to the precision of print",
    "replicated": "independent seeds pass the declared test",
    "contradicted": "the computation, or the declared test over seeds, says otherwise",
    "no effect": "in one comparison or more the effect is too small to matter, in none opposite",
    "inconclusive": "the seeds do not suffice to tell",
    "not tested": "not judged; the reason is given",
}
"""What each verdict means."""


class Comparison(Strict):
    """One cell of a claim's evidence, judged."""

    cell: str
    """Name of the cell."""
    estimate: float
    """The value or its mean; of an equivalence or a published value ours minus the paper's."""
    low: float | None = None
    """Lower end of the estimate's interval."""
    high: float | None = None
    """Upper end of the estimate's interval."""
    lower: float | None = None
    """Where the claim's range begins, moved by the smallest effect that matters."""
    upper: float | None = None
    """Where the claim's range ends, moved likewise."""
    effect: float | None = None
    """In standard deviations of one seed: the estimate, or its distance from the claim's bound
    (the lower one if there are two), which the smallest effect does not move."""
    p: float | None = None
    """p value for the claim, corrected over the family."""
    p_against: float | None = None
    """p value against the claim, corrected over the family."""
    p_none: float | None = None
    """p value for an effect too small to matter, corrected over the family."""
    decision: Literal["holds", "fails", "none", "open"]
    """What it says."""


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
    comparisons of the claim to pass together with the probability `PROBABILITY`, in standard
    deviations of one seed; none for the theory."""
    comparisons: list[Comparison]
    """One per cell; none if the claim could not be measured."""

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
    """What was measured, columns as the test states; or what `unmeasured` returned."""


class Family(Strict):
    """A claim and all that share the correction for many tests with it."""

    claim: str
    """Number of the one that is judged."""
    tests: Annotated[dict[str, Test], Field(min_length=1)]
    """How each is judged, by its number, in the order of their evidence."""


def unmeasured(reason: str) -> pd.DataFrame:
    """In place of evidence, why there is none."""
    return pd.DataFrame({UNMEASURED: [reason]})


def verdict(family: Family, evidence: Sequence[pd.DataFrame]) -> Verdict:
    """Judge one claim, see `judge`.

    Args:
        family: the claim, and those that are corrected with it.
        evidence: of every one of them.
    """
    pairs = zip(family.tests.items(), evidence, strict=True)
    return judge([Judged(*item, table) for item, table in pairs])[family.claim]


def judge(family: Sequence[Judged]) -> dict[str, Verdict]:
    """Judge the claims whose p values are corrected together, those for and against apart.

    A claim that could not be measured, or whose evidence is too little for its test, is not tested
    and counts for nothing in the correction of the others.

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
    for name in ("p", "p_against", "p_none"):
        tested = [cell for cells in compared for cell in cells if name in cell]
        for cell, p in zip(tested, holm([cell[name] for cell in tested]), strict=True):
            cell[name] = float(p)
    size = sum("p" in cell for cells in compared for cell in cells)
    return {
        judged.claim: Verdict.without_evidence(judged.claim, untested[judged.claim])
        if judged.claim in untested
        else _verdict(judged, cells, size)
        for judged, cells in zip(family, compared, strict=True)
    }


def _verdict(judged: Judged, cells: list[Numbers], tested_together: int) -> Verdict:
    samples = _samples(judged.evidence)
    seeds = min(samples, default=0)
    comparisons = [
        Comparison(**cell | {"decision": _decision(judged.test, cell)}) for cell in cells
    ]
    verdict = Verdict(
        claim=judged.claim,
        verdict=_outcome(judged.test, comparisons),
        summary=_summary(comparisons),
        seeds=seeds,
        comparisons=comparisons,
    )
    if not isinstance(judged.test, Statistical):
        return verdict
    if seeds < FEWEST_SEEDS:
        few = f"{seeds} seeds do not make a verdict, which needs {FEWEST_SEEDS}; {verdict.summary}"
        return verdict.model_copy(update={"verdict": "not tested", "summary": few})
    same = [item.cell for item in comparisons if item.effect is None]
    if same:
        constant = f"the seeds of '{same[0]}' do not differ; {verdict.summary}"
        return verdict.model_copy(update={"verdict": "not tested", "summary": constant})
    error = sum(1 / size for size in samples) ** 0.5
    dof, level = sum(samples) - len(samples), judged.test.level / tested_together
    found = resolution(error, dof, level, len(cells), PROBABILITY)
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
    for cell, rows in judged.evidence.groupby("cell", sort=False):
        try:
            yield {"cell": str(cell), **compare(judged.test, rows)}
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
    lower = None if test.lower is None else test.lower + matters
    upper = None if test.upper is None else test.upper - matters
    inside, outside = [], []
    if test.lower is not None:
        inside.append(t_test_above(values, test.lower + matters))
        outside.append(t_test_below(values, test.lower - matters))
    if test.upper is not None:
        inside.append(t_test_below(values, test.upper - matters))
        outside.append(t_test_above(values, test.upper + matters))
    bound = float((test.lower if test.lower is not None else test.upper) or 0)
    numbers = {
        "estimate": float(values.mean()),
        **t_interval(values, 1 - test.level)._asdict(),
        "lower": lower,
        "upper": upper,
        "effect": _standardised(values - bound),
        "p": max(inside),
        "p_against": min(1, len(outside) * min(outside)),
    }
    if matters:
        numbers["p_none"] = t_test_within(values, bound - matters, bound + matters)
    return numbers


def _equivalence(test: Equivalence, rows: pd.DataFrame) -> Numbers:
    ours, paper = (_values(rows[rows["sample"] == name]) for name in ("ours", "paper"))
    margin = test.margin * pooled_std(ours, paper)
    difference = float(ours.mean() - paper.mean())
    return {
        "estimate": difference,
        **welch_interval(ours, paper, 1 - test.level)._asdict(),
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


def _decision(test: Any, cell: Numbers) -> str:
    if "p" not in cell:
        return str(cell["decision"])
    for name, decision in (("p", "holds"), ("p_against", "fails"), ("p_none", "none")):
        if cell.get(name, 1) <= test.level:
            return decision
    return "open"


def _outcome(test: Test, comparisons: list[Comparison]) -> Outcome:
    decisions = {item.decision for item in comparisons}
    if "fails" in decisions:
        return "contradicted"
    if "none" in decisions:
        return "no effect"
    if "open" in decisions:
        return "inconclusive"
    if isinstance(test, Bounds):
        return "verified"
    return "reproduced" if isinstance(test, Published) else "replicated"


def _summary(comparisons: list[Comparison]) -> str:
    """How many comparisons hold, and the one that is worst off."""
    holding = sum(item.decision == "holds" for item in comparisons)
    without = sum(item.decision == "none" for item in comparisons)
    none = f", {without} without an effect worth the name" if without else ""
    worst = least_favourable(comparisons)
    interval = "" if worst.low is None else f" ({worst.low:.3g} to {worst.high:.3g})"
    least = "" if worst.lower is None else f" at least {worst.lower:.3g}"
    most = "" if worst.upper is None else f" at most {worst.upper:.3g}"
    place = f"in '{worst.cell}'" if len(comparisons) > 1 else "in its one comparison"
    return (
        f"{holding} of {len(comparisons)} hold{none}; the least favourable value, {place}, is"
        f" {worst.estimate:.3g}{interval}, expected{least}{' and' * bool(least and most)}{most}"
    )


def least_favourable(comparisons: Sequence[Comparison]) -> Comparison:
    """The comparison that speaks most against the claim."""
    return max(comparisons, key=_distance)


def found_and_needed(
    comparisons: Sequence[Comparison], number: Callable[[float], str]
) -> tuple[str, str]:
    """The least favourable estimate with its interval, and the range in which it has to lie.

    Args:
        comparisons: of one claim; if there are none, both are empty.
        number: how numbers are written.
    """
    if not comparisons:
        return "", ""
    worst = least_favourable(comparisons)
    ends = (("at least", worst.lower), ("at most", worst.upper))
    needed = " and ".join(f"{name} {number(end)}" for name, end in ends if end is not None)
    if worst.low is None or worst.high is None:
        return number(worst.estimate), needed
    return f"{number(worst.estimate)} ({number(worst.low)} to {number(worst.high)})", needed


def _distance(item: Comparison) -> tuple[int, float]:
    """Order of comparisons from favourable to unfavourable: by decision, then by the estimate.

    Where the claim has a range, its width is the unit, as cells can have ranges of their own.
    """
    rank = {"holds": 0, "open": 1, "none": 2, "fails": 3}[item.decision]
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
