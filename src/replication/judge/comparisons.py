"""Numbers of a claim's comparisons: the declared test of each, with uncorrected p values."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from replication.base.errors import InputError, UnmeasurableError
from replication.judge.statistics import (
    OUT_OF_RANGE,
    Limits,
    mean_and_spread,
    pooled_std,
    shifted,
    sign_interval,
    sign_test_above,
    sign_test_below,
    size_exponent,
    t_interval,
    t_test_above,
    t_test_below,
    welch_beyond,
    welch_equivalence,
    welch_interval,
)
from replication.judge.verdicts import FEWEST_SEEDS
from replication.study.claims import Bounds, Equivalence, Interval, Published, Statistical, Test
from replication.study.evidence import AT_LEAST, AT_MOST, CENSORED, known_ends, words_of
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


def diverged_in_words(lost: Mapping[str, Sequence[int]]) -> str:
    """Return which trainings diverged: seeds by experiment."""
    return " and ".join(
        f"the training of seed {format_seeds(seeds)} diverged in experiment {experiment}"
        for experiment, seeds in lost.items()
    )


def without_diverged(
    evidence: pd.DataFrame, left: pd.DataFrame | None, lost: Mapping[str, Sequence[int]]
) -> pd.DataFrame:
    """Return evidence without the numbers that depend on trainings that diverged.

    Args:
        evidence: of all trainings.
        left: evidence of the other trainings; None if there is none, and then every number of a
            seed that diverged is taken to depend on its training.
        lost: seeds that diverged, by experiment.

    Returns:
        The evidence with the column `diverged`: the experiment in which the training of the seed
        of a number that was taken away diverged.

    Raises:
        UnmeasurableError: if a number that is of no seed depends on such a training.
    """
    if not pd.api.types.is_numeric_dtype(evidence["value"]):
        return evidence
    keys = [name for name in ("cell", "sample", "seed") if name in evidence]
    if left is None:
        seeds = {seed for each in lost.values() for seed in each}
        is_lost = [seed in seeds for seed in evidence.get("seed", ())] or [True] * len(evidence)
    else:
        known = dict(zip(_places(left, keys), left["value"], strict=True))
        places = zip(_places(evidence, keys), evidence["value"], strict=True)
        is_lost = [known.get(place) != value for place, value in places]
    if not any(is_lost):
        return evidence
    if "seed" not in evidence:
        raise UnmeasurableError(diverged_in_words(lost))
    where = [
        " and ".join(name for name, seeds in lost.items() if gone and seed in seeds)
        for seed, gone in zip(evidence["seed"], is_lost, strict=True)
    ]
    return evidence.assign(value=evidence["value"].mask(np.array(is_lost)), diverged=where)


def _places(evidence: pd.DataFrame, keys: list[str]) -> list[tuple[Any, ...]]:
    return [*evidence[keys].itertuples(index=False, name=None)]


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

    A cell that cannot be compared, as after a training that diverged, has the reason in place of
    numbers, under the name `UNMEASURED`.

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
        try:
            if is_lost.any() and isinstance(judged.test, Statistical):
                raise UnmeasurableError(_lost_in_words(rows[is_lost]))
            found = compare(judged.test, rows)
        except UnmeasurableError as error:
            if not isinstance(judged.test, Statistical):
                raise UnmeasurableError(f"in '{cell}' {error.message}") from error
            found = {UNMEASURED: f"'{cell}' is not measured, as {error.message}"}
        except InputError as error:
            raise InputError(f"claim {judged.claim}, {cell}: {error.message}") from error
        yield {"cell": str(cell), "is_robustness": cell in beside, **found}


def _lost_in_words(rows: pd.DataFrame) -> str:
    """Return why rows have no finite value: in which experiment the training of a seed diverged."""
    reasons = []
    for experiment, own in rows.groupby(words_of(rows, "diverged"), sort=False):
        seeds = sorted({int(seed) for seed in own["seed"]})
        reasons.append(
            diverged_in_words({str(experiment): seeds})
            if experiment
            else f"seed {format_seeds(seeds)} has no finite value"
        )
    return " and ".join(reasons)


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
    return _check_range(_in_range(difference), -test.tolerance, test.tolerance)


def _check_range(value: float, lower: float | None, upper: float | None) -> Numbers:
    inside = (lower is None or value >= lower) and (upper is None or value <= upper)
    decision = "holds" if inside else "fails"
    return {"estimate": value, "lower": lower, "upper": upper, "decision": decision}


def _test_interval(test: Interval, rows: pd.DataFrame) -> Numbers:
    rows, matters = rows.sort_values("seed"), test.smallest_effect or 0
    above, below, interval = _BY_CENTER[test.center]
    values, (low, high) = rows["value"].to_numpy(np.float64), known_ends(rows)
    if test.center == "mean" and not np.array_equal(low, high):
        raise UnmeasurableError(
            f"{_censored_in_words(rows)}, and no test of a mean takes a value of which one end"
            " alone is known; `center: median` in its test does"
        )
    lower = None if test.lower is None else test.lower + matters
    upper = None if test.upper is None else test.upper - matters
    inside, outside, less = [], [], []
    if lower is not None:
        inside.append(above(low, lower))
        outside.append(below(high, lower - 2 * matters))
        less.append(below(high, lower))
    if upper is not None:
        inside.append(below(high, upper))
        outside.append(above(low, upper + 2 * matters))
        less.append(above(low, upper))
    bound = float((test.lower if test.lower is not None else test.upper) or 0)
    numbers = {
        **(_median(low, high) if test.center == "median" else _mean(values)),
        "interval": lambda level: Limits(interval(low, level).low, interval(high, level).high),
        "ends": len(inside),
        "lower": lower,
        "upper": upper,
        "bound": bound if len(inside) == 1 else None,
        "effect": _standardised_distance(values, bound),
        "p": max(inside),
        "p_against": min(1, len(outside) * min(outside)),
    }
    if matters:
        numbers["p_none"] = max(above(low, bound - matters), below(high, bound + matters))
        numbers["p_less"] = less[0]
    return numbers


_BY_CENTER = {
    "mean": (t_test_above, t_test_below, t_interval),
    "median": (sign_test_above, sign_test_below, sign_interval),
}
"""Tests and interval of an `Interval`, by its center: above, below, interval."""


def _test_equivalence(test: Equivalence, rows: pd.DataFrame) -> Numbers:
    ours, paper = (_values(rows[rows["sample"] == name]) for name in ("ours", "paper"))
    if not np.array_equal(*known_ends(rows)):
        raise UnmeasurableError(
            f"{_censored_in_words(rows)}, and an equivalence takes no value of which one end alone"
            " is known"
        )
    differ = _seeds_differ(ours, paper)
    margin = _in_range(test.margin * pooled_std(ours, paper), sys.float_info.min * differ)
    difference = _in_range(mean_and_spread(ours)[0] - mean_and_spread(paper)[0])
    return {
        "estimate": difference,
        "interval": lambda confidence: welch_interval(ours, paper, confidence),
        "ends": 2,
        "lower": -margin,
        "upper": margin,
        "effect": difference * test.margin / margin if differ else None,
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


def _standardised_distance(values: Floats, bound: float) -> float | None:
    """Return the mean's distance from a bound in standard deviations of one seed.

    There is none if all seeds agree.
    """
    with np.errstate(all="ignore"):
        distances = values - bound
    if not np.isfinite(distances).all():
        raise UnmeasurableError(OUT_OF_RANGE)
    if not _seeds_differ(distances):
        return None
    mean, spread = mean_and_spread(distances)
    return mean / _in_range(spread, sys.float_info.min)


def _seeds_differ(*samples: Floats) -> bool:
    """Say whether seeds differ by more than rounding."""
    scaled = (shifted(values, -size_exponent(values)) for values in samples)
    return any(np.ptp(values) > 1e-12 * np.abs(values).max() for values in scaled)


def _censored_in_words(rows: pd.DataFrame) -> str:
    first = rows[rows["censored"].isin(CENSORED)].iloc[0]
    return f"the value of seed {first['seed']:.0f} is {first['censored']} {first['value']:g}"


def _mean(values: Floats) -> Numbers:
    return {"estimate": mean_and_spread(values)[0]}


def _median(low: Floats, high: Floats) -> Numbers:
    """Return the median, and whether it is known from one side alone."""
    least, most = (_middle(np.sort(ends)) for ends in (low, high))
    if least == most:
        return {"estimate": least}
    if np.isinf(least) and np.isinf(most):
        raise UnmeasurableError("its median is known neither from below nor from above")
    if np.isinf(least):
        return {"estimate": most, "censored": AT_MOST}
    return {"estimate": least, "censored": AT_LEAST}


def _middle(ordered: Floats) -> float:
    """Return the median; the two values in the middle may be too large for their sum."""
    low, high = ordered[(ordered.size - 1) // 2], ordered[ordered.size // 2]
    return float(low if low == high else low / 2 + high / 2)


def _in_range(number: float, least: float = 0) -> float:
    """Return a number that was computed, unless it overflowed or is too small to have all digits.

    Raises:
        UnmeasurableError: if it is.
    """
    if not least <= abs(number) <= sys.float_info.max:
        raise UnmeasurableError(OUT_OF_RANGE)
    return number
