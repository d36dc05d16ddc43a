"""Numbers of a claim's comparisons: the declared test of each, with uncorrected p values."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from replication.base.errors import InputError, UnmeasurableError
from replication.judge.statistics import (
    pooled_std,
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
from replication.judge.verdicts import FEWEST_SEEDS
from replication.study.claims import Bounds, Equivalence, Interval, Published, Statistical, Test
from replication.study.seeds import format_seeds

Floats = NDArray[np.float64]
Numbers = dict[str, Any]
"""Values of a `Comparison` by its field, and what a correction needs besides."""
UNMEASURED = "unmeasured"
"""Name of the only column of evidence that could not be measured; its one value says why."""


class Judged(NamedTuple):
    """A claim's test and its evidence."""

    claim: str
    """Number of the claim."""
    test: Test
    """Test by which the claim is judged."""
    evidence: pd.DataFrame
    """Measured values, with the columns that the test states; or a table of `missing_evidence`."""
    robustness: Sequence[str] = ()
    """Texts in the names of comparisons that do not count."""


def missing_evidence(reason: str) -> pd.DataFrame:
    """Return a table that says, in place of evidence, why there is none."""
    return pd.DataFrame({UNMEASURED: [reason]})


def sample_sizes(evidence: pd.DataFrame) -> list[int]:
    """Return the number of seeds of each sample; none for the theory."""
    return [part["seed"].nunique() for part in _parts(evidence)]


def _parts(evidence: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the evidence of each sample; none for the theory."""
    if "seed" not in evidence:
        return []
    return [part for _, part in evidence.groupby("sample")] if "sample" in evidence else [evidence]


def compare_cells(judged: Judged) -> Iterator[Numbers]:
    """Yield the numbers of each `Comparison`, with uncorrected p values or the decision.

    A cell in which a seed's value is not finite, as after a training that diverged, has the reason
    in place of numbers, under the name `UNMEASURED`.

    Raises:
        UnmeasurableError: if the claim could not be measured, or its evidence is too little.
        InputError: if evidence lacks a column, or is not what the test is about.
    """
    if UNMEASURED in judged.evidence:
        raise UnmeasurableError(str(judged.evidence[UNMEASURED].item()))
    compare, columns = _KINDS[type(judged.test)]
    missing = sorted(set(columns) - set(judged.evidence.columns))
    if missing:
        raise InputError(
            f"claim {judged.claim}: its evidence lacks {', '.join(missing)}; a test of"
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
        is_lost = ~np.isfinite(rows["value"].to_numpy(np.float64))
        lost = sorted({int(seed) for seed in rows["seed"][is_lost]}) if "seed" in rows else []
        if lost and isinstance(judged.test, Statistical):
            reason = f"'{cell}' is not measured, as seed {format_seeds(lost)} has no finite value"
            yield {"cell": str(cell), "is_robustness": cell in beside, UNMEASURED: reason}
            continue
        try:
            found = compare(judged.test, rows)
            yield {"cell": str(cell), "is_robustness": cell in beside, **found}
        except UnmeasurableError as error:
            raise UnmeasurableError(f"in '{cell}' {error.message}") from error
        except InputError as error:
            raise InputError(f"claim {judged.claim}, {cell}: {error.message}") from error


def _check_seeds(judged: Judged) -> None:
    """Refuse several values of a seed in a comparison, and unequal numbers of seeds."""
    for name in ("cell", "seed", "sample"):
        if name in judged.evidence and judged.evidence[name].isna().any():
            raise InputError(f"claim {judged.claim}: a row of its evidence has no {name}")
    if "seed" in judged.evidence and not pd.api.types.is_numeric_dtype(judged.evidence["seed"]):
        raise InputError(f"claim {judged.claim}: a seed of its evidence is no number")
    if "sample" in judged.evidence and not isinstance(judged.test, Equivalence):
        raise InputError(f"claim {judged.claim}: only an equivalence compares samples")
    for part in _parts(judged.evidence):
        if part.duplicated(["cell", "seed"]).any():
            raise InputError(f"claim {judged.claim}: a seed has several values in one comparison")
        seeds = part.groupby("cell")["seed"].nunique()
        if len(set(seeds)) > 1:
            raise UnmeasurableError("its comparisons have different numbers of seeds")
        if isinstance(judged.test, Statistical) and seeds.iloc[0] < 2:
            raise UnmeasurableError(
                f"claim {judged.claim} has 1 seed, but a test over seeds needs 2, and a verdict"
                f" {FEWEST_SEEDS}; add seeds to its experiments"
            )


def _compare_with_bounds(test: Bounds, rows: pd.DataFrame) -> Numbers:
    return _check_range(_only_value(rows, "value"), test.lower, test.upper)


def _compare_with_published(test: Published, rows: pd.DataFrame) -> Numbers:
    difference = _only_value(rows, "value") - _only_value(rows, "published")
    return _check_range(difference, -test.tolerance, test.tolerance)


def _check_range(value: float, lower: float | None, upper: float | None) -> Numbers:
    inside = (lower is None or value >= lower) and (upper is None or value <= upper)
    decision = "holds" if inside else "fails"
    return {"estimate": value, "lower": lower, "upper": upper, "decision": decision}


def _test_interval(test: Interval, rows: pd.DataFrame) -> Numbers:
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
        "effect": _standardised_mean(values - bound),
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
"""Tests and interval of an `Interval`, by its center: above, below, interval."""


def _test_equivalence(test: Equivalence, rows: pd.DataFrame) -> Numbers:
    ours, paper = (_values(rows[rows["sample"] == name]) for name in ("ours", "paper"))
    margin = test.margin * pooled_std(ours, paper)
    difference = float(ours.mean() - paper.mean())
    return {
        "estimate": difference,
        "interval": lambda confidence: welch_interval(ours, paper, confidence),
        "ends": 2,
        "lower": -margin,
        "upper": margin,
        "effect": difference * test.margin / margin if _seeds_differ(ours, paper) else None,
        "p": welch_equivalence(ours, paper, margin),
        "p_against": min(1, 2 * welch_beyond(ours, paper, margin)),
    }


_KINDS: dict[type, tuple[Callable[[Any, pd.DataFrame], Numbers], tuple[str, ...]]] = {
    Bounds: (_compare_with_bounds, ("cell", "value")),
    Published: (_compare_with_published, ("cell", "value", "published")),
    Interval: (_test_interval, ("cell", "seed", "value")),
    Equivalence: (_test_equivalence, ("cell", "sample", "seed", "value")),
}


def _values(rows: pd.DataFrame) -> Floats:
    return rows.sort_values("seed")["value"].to_numpy(np.float64)


def _only_value(rows: pd.DataFrame, column: str) -> float:
    if len(rows) != 1:
        raise InputError(f"has {len(rows)} values, expected one")
    value = float(rows[column].iloc[0])
    if not np.isfinite(value):
        raise InputError("is not a finite number")
    return value


def _standardised_mean(values: Floats) -> float | None:
    """Return the mean in standard deviations of one seed; none if all seeds agree."""
    if not _seeds_differ(values):
        return None
    with np.errstate(all="ignore"):
        found = float(values.mean() / values.std(ddof=1))
    if not np.isfinite(found):
        raise UnmeasurableError("numbers are too small or too large to be compared")
    return found


def _seeds_differ(*samples: Floats) -> bool:
    """Say whether seeds differ by more than rounding."""
    return any(np.ptp(values) > 1e-12 * np.abs(values).max() for values in samples)
