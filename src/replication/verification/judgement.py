"""From evidence to verdicts: the declared tests of the registry, applied.

A claim *holds* if every one of its comparisons passes; it is *contradicted* if one of them
significantly fails. Statistical tests are corrected over all comparisons of a family (Holm): the
claims that one figure shows.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field

from replication.errors import InputError
from replication.registry import Bounds, Equivalence, Interval, Prediction, Published, Test, Trend
from replication.statistics import (
    holm,
    pooled_std,
    prediction_interval,
    prediction_test,
    t_interval,
    t_test_above,
    t_test_below,
    trend_test,
    welch_beyond,
    welch_equivalence,
    welch_interval,
)
from replication.strict import Strict

Floats = NDArray[np.float64]
Numbers = dict[str, Any]
"""What is known of a `Comparison`, by its field."""
Outcome = Literal[
    "verified", "reproduced", "replicated", "contradicted", "inconclusive", "not tested"
]
OUTCOMES: dict[Outcome, str] = {
    "verified": "a statement of the theory, computed and within its declared bounds",
    "reproduced": "the paper's seeds give the paper's numbers, to the precision of print",
    "replicated": "independent seeds pass the declared test",
    "contradicted": "the computation, or the declared test over seeds, says otherwise",
    "inconclusive": "the seeds do not suffice to tell",
    "not tested": "not judged; the reason is given",
}
"""What each verdict means."""


class Comparison(Strict):
    """One cell of a claim's evidence, judged."""

    cell: str
    """Name of the cell."""
    estimate: float
    """The value or its mean; of a trend the mean change from the first to the last level; of an
    equivalence, a prediction or a published value ours minus the paper's."""
    low: float | None = None
    """Lower end of the estimate's interval."""
    high: float | None = None
    """Upper end of the estimate's interval."""
    lower: float | None = None
    """Where the claim's range begins."""
    upper: float | None = None
    """Where the claim's range ends."""
    effect: float | None = None
    """In standard deviations of one seed: the estimate, or its distance from the bound of an
    interval (the lower one if there are two)."""
    p: float | None = None
    """p value for the claim, corrected over the family; of a prediction that it is missed."""
    p_against: float | None = None
    """p value against the claim, corrected over the family."""
    decision: Literal["holds", "fails", "open"]
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
    """Number of seeds behind each comparison; 0 for the theory."""
    comparisons: list[Comparison]
    """One per cell."""


class Judged(NamedTuple):
    """A claim's test and its evidence."""

    claim: str
    """Number of the claim."""
    test: Test
    """How it is judged."""
    evidence: pd.DataFrame
    """What was measured; columns as the test states."""


class Family(Strict):
    """A claim and all that share the correction for many tests with it."""

    claim: str
    """Number of the one that is judged."""
    tests: Annotated[dict[str, Test], Field(min_length=1)]
    """How each is judged, by its number, in the order of their evidence."""


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

    Args:
        family: the claims.

    Returns:
        The verdicts by number of the claim.

    Raises:
        InputError: if evidence lacks a column, is empty or has too few seeds.
    """
    compared = [list(_compare(judged)) for judged in family]
    for name in ("p", "p_against"):
        tested = [cell for cells in compared for cell in cells if name in cell]
        for cell, p in zip(tested, holm([cell[name] for cell in tested]), strict=True):
            cell[name] = float(p)
    return {
        judged.claim: _verdict(judged, cells)
        for judged, cells in zip(family, compared, strict=True)
    }


def _verdict(judged: Judged, cells: list[Numbers]) -> Verdict:
    seeds = judged.evidence["seed"].nunique() if "seed" in judged.evidence else 0
    comparisons = [
        Comparison(**cell | {"decision": _decision(judged.test, cell, seeds)}) for cell in cells
    ]
    return Verdict(
        claim=judged.claim,
        verdict=_outcome(judged.test, comparisons),
        summary=_summary(comparisons),
        seeds=seeds,
        comparisons=comparisons,
    )


def _compare(judged: Judged) -> Iterator[Numbers]:
    """Of every cell the numbers of its `Comparison`, with raw p values, or the decision."""
    compare, columns = _KINDS[type(judged.test)]
    missing = sorted(set(columns) - set(judged.evidence.columns))
    if missing:
        raise InputError(f"claim {judged.claim}: its evidence lacks {', '.join(missing)}")
    if judged.evidence.empty:
        raise InputError(f"claim {judged.claim}: its evidence is empty")
    _check_seeds(judged)
    for cell, rows in judged.evidence.groupby("cell", sort=False):
        try:
            yield {"cell": str(cell), **compare(judged.test, rows)}
        except InputError as error:
            raise InputError(f"claim {judged.claim}, {cell}: {error.message}") from error


def _check_seeds(judged: Judged) -> None:
    """One value per seed, and the same seeds everywhere."""
    if "seed" not in judged.evidence:
        return
    keys = [name for name in ("cell", "level", "sample") if name in judged.evidence]
    if judged.evidence.duplicated([*keys, "seed"]).any():
        raise InputError(f"claim {judged.claim}: a seed has several values in one cell")
    if len(set(judged.evidence.groupby(keys)["seed"].nunique())) > 1:
        raise InputError(f"claim {judged.claim}: its cells have different numbers of seeds")


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
    values = _values(rows)
    inside, outside = [], []
    if test.lower is not None:
        inside.append(t_test_above(values, test.lower))
        outside.append(t_test_below(values, test.lower))
    if test.upper is not None:
        inside.append(t_test_below(values, test.upper))
        outside.append(t_test_above(values, test.upper))
    bound = test.lower if test.lower is not None else test.upper
    return {
        "estimate": float(values.mean()),
        **t_interval(values, 1 - test.level)._asdict(),
        "lower": test.lower,
        "upper": test.upper,
        "effect": _standardised(values - (bound or 0)),
        "p": max(inside),
        "p_against": min(1, len(outside) * min(outside)),
    }


def _trend(test: Trend, rows: pd.DataFrame) -> Numbers:
    values = rows.pivot(index="seed", columns="level", values="value").to_numpy(np.float64)
    change = values[:, -1] - values[:, 0]
    rises, falls = trend_test(values, "rises"), trend_test(values, "falls")
    numbers = {
        "estimate": float(change.mean()),
        **t_interval(change, 1 - test.level)._asdict(),
        "effect": _standardised(change),
    }
    if test.direction == "rises":
        return numbers | {"lower": 0, "p": rises, "p_against": falls}
    return numbers | {"upper": 0, "p": falls, "p_against": rises}


def _equivalence(test: Equivalence, rows: pd.DataFrame) -> Numbers:
    ours, paper = (_values(rows[rows["sample"] == name]) for name in ("ours", "paper"))
    margin = test.margin * pooled_std(ours, paper)
    difference = float(ours.mean() - paper.mean())
    return {
        "estimate": difference,
        **welch_interval(ours, paper, 1 - test.level)._asdict(),
        "lower": -margin,
        "upper": margin,
        "effect": difference * test.margin / margin if margin else None,
        "p": welch_equivalence(ours, paper, margin),
        "p_against": welch_beyond(ours, paper, margin),
    }


def _prediction(test: Prediction, rows: pd.DataFrame) -> Numbers:
    values, published = _values(rows), float(rows["published"].iloc[0])
    seeds = int(rows["published_seeds"].iloc[0])
    low, high = prediction_interval(values, seeds, 1 - test.level)
    mean = float(values.mean())
    return {
        "estimate": mean - published,
        "lower": mean - high,
        "upper": mean - low,
        "effect": _standardised(values - published),
        "p": prediction_test(values, published, seeds),
    }


_KINDS: dict[type, tuple[Callable[[Any, pd.DataFrame], Numbers], tuple[str, ...]]] = {
    Bounds: (_bounds, ("cell", "value")),
    Published: (_published, ("cell", "value", "published")),
    Interval: (_interval, ("cell", "seed", "value")),
    Trend: (_trend, ("cell", "level", "seed", "value")),
    Equivalence: (_equivalence, ("cell", "sample", "seed", "value")),
    Prediction: (_prediction, ("cell", "seed", "value", "published", "published_seeds")),
}


def _decision(test: Any, cell: Numbers, seeds: int) -> str:
    if "p" not in cell:
        return str(cell["decision"])
    if isinstance(test, Prediction):
        # Fewer seeds than declared predict so little that everything would agree.
        agrees = "holds" if seeds >= test.power.seeds else "open"
        return agrees if cell["p"] > test.level else "fails"
    if cell["p"] <= test.level:
        return "holds"
    return "fails" if cell["p_against"] <= test.level else "open"


def _outcome(test: Test, comparisons: list[Comparison]) -> Outcome:
    decisions = {item.decision for item in comparisons}
    if "fails" in decisions:
        return "contradicted"
    if "open" in decisions:
        return "inconclusive"
    if isinstance(test, Bounds):
        return "verified"
    return "reproduced" if isinstance(test, Published) else "replicated"


def _summary(comparisons: list[Comparison]) -> str:
    """How many comparisons hold, and the one that is worst off."""
    holding = sum(item.decision == "holds" for item in comparisons)
    worst = max(comparisons, key=_distance)
    interval = "" if worst.low is None else f" ({worst.low:.3g} to {worst.high:.3g})"
    least = "" if worst.lower is None else f" at least {worst.lower:.3g}"
    most = "" if worst.upper is None else f" at most {worst.upper:.3g}"
    place = f"in '{worst.cell}'" if len(comparisons) > 1 else "in its one comparison"
    return (
        f"{holding} of {len(comparisons)} hold; the least favourable value, {place}, is"
        f" {worst.estimate:.3g}{interval}, expected{least}{' and' * bool(least and most)}{most}"
    )


def _distance(item: Comparison) -> tuple[int, float]:
    """Order of comparisons from favourable to unfavourable: by decision, then by the estimate.

    Where the claim has a range, its width is the unit, as cells can have ranges of their own.
    """
    rank = {"holds": 0, "open": 1, "fails": 2}[item.decision]
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
    spread, mean = float(values.std(ddof=1)), float(values.mean())
    return mean / spread if spread > 1e-12 * abs(mean) else None
