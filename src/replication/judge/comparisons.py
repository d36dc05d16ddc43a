"""Numbers of a claim's comparisons: the declared test of each, with uncorrected p values."""

from collections.abc import Callable, Iterator, Mapping, Sequence
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
from replication.study.evidence import words_of
from replication.study.seeds import format_seeds

Floats = NDArray[np.float64]
Numbers = dict[str, Any]
"""Values of a `Comparison` by its field, and what a correction needs besides."""
UNMEASURED = "unmeasured"
"""Name of the only column of evidence that could not be measured; its one value says why."""
LARGEST = 1e150
"""Largest value of a seed, and 1 / `LARGEST` the smallest spread, whose squares a float64 holds."""


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

    `left` is the evidence of the other trainings; if there is none, every number of a seed that
    diverged is taken to depend on its training. `lost` has the seeds that diverged, by experiment.

    The result has the column `diverged`: the experiment in which the training of the seed of a
    number that was taken away diverged. If a number that is of no seed depends on such a training,
    the error is an UnmeasurableError.
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
    claim, test, evidence, robustness = judged
    if UNMEASURED in evidence:
        raise UnmeasurableError(str(evidence[UNMEASURED].item()))
    compare, columns = _KINDS[type(test)]
    if missing := sorted({*columns} - {*evidence.columns}):
        raise InputError(
            f"claim {claim}: its evidence lacks {', '.join(missing)}; a test of"
            f" the kind {test.kind} needs the columns {', '.join(columns)}"
        )
    if evidence.empty:
        raise UnmeasurableError("nothing was found to measure")
    _check_values(judged)
    is_over_seeds = isinstance(test, Statistical)
    names = evidence["cell"].unique()
    # A statement of the theory is one about all cases, whatever their names.
    texts = robustness if is_over_seeds else ()
    beside = {name for name in names if any(text in str(name) for text in texts)}
    if len(beside) == len(names):
        raise UnmeasurableError("all that was measured is for robustness, by the study's rule")
    for cell, rows in evidence.groupby("cell", sort=False):
        try:
            if is_over_seeds:
                _check_numbers(rows)
            found = compare(test, rows)
        except UnmeasurableError as error:
            if not is_over_seeds:
                raise UnmeasurableError(f"in '{cell}' {error.message}") from error
            found = {UNMEASURED: f"'{cell}' is not measured, as {error.message}"}
        except InputError as error:
            raise InputError(f"claim {claim}, {cell}: {error.message}") from error
        yield {"cell": str(cell), "is_robustness": cell in beside, **found}


def _check_numbers(rows: pd.DataFrame) -> None:
    """Refuse values of seeds that are not finite, or whose squares no computer holds."""
    values = rows["value"].to_numpy(np.float64)
    is_lost = ~np.isfinite(values)
    if is_lost.any():
        raise UnmeasurableError(_lost_in_words(rows[is_lost]))
    if np.abs(values).max() > LARGEST or 0 < np.ptp(values) < 1 / LARGEST:
        raise UnmeasurableError("numbers are too small or too large to be compared")


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


def _check_values(judged: Judged) -> None:
    """Refuse evidence that is no number, several values of a seed, and unequal seeds."""
    claim, test, evidence, _ = judged
    for name in ("cell", "seed", "sample"):
        if name in evidence and evidence[name].isna().any():
            raise InputError(f"claim {claim}: a row of its evidence has no {name}")
    for name in ("value", "seed"):
        if name in evidence and not pd.api.types.is_numeric_dtype(evidence[name]):
            raise InputError(f"claim {claim}: a {name} of its evidence is no number")
    if "sample" in evidence and not isinstance(test, Equivalence):
        raise InputError(f"claim {claim}: only an equivalence compares samples")
    for part in _parts(evidence):
        if part.duplicated(["cell", "seed"]).any():
            raise InputError(f"claim {claim}: a seed has several values in one comparison")
        seeds = part.groupby("cell")["seed"].nunique()
        if len(set(seeds)) > 1:
            raise UnmeasurableError("its comparisons have different numbers of seeds")
        if isinstance(test, Statistical) and seeds.iloc[0] < 2:
            raise UnmeasurableError(
                f"claim {claim} has 1 seed, but a test over seeds needs 2, and a verdict"
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
    rows, matters = rows.sort_values("seed"), test.smallest_effect or 0.0
    test_above, test_below, interval = _BY_CENTER[test.center]
    values = rows["value"].to_numpy(np.float64)

    def p(sign: int, place: float) -> float:
        """Return p of the center lying above a place, or below it if the sign is -1."""
        return (test_above if sign > 0 else test_below)(values, place)

    bounds = {s: each for s, each in ((1, test.lower), (-1, test.upper)) if each is not None}
    needed = {sign: bound + sign * matters for sign, bound in bounds.items()}
    sign, bound = next((sign, float(bound or 0)) for sign, bound in bounds.items())
    against = [p(-sign, place - 2 * sign * matters) for sign, place in needed.items()]
    numbers: Numbers = {
        "estimate": float(np.median(values) if test.center == "median" else values.mean()),
        "interval": lambda level: interval(values, level),
        "ends": len(bounds),
        "lower": needed.get(1),
        "upper": needed.get(-1),
        "bound": bound if len(bounds) == 1 else None,
        "effect": _standardised_distance(values, bound),
        "p": max(p(*each) for each in needed.items()),
        "p_against": min(1, len(bounds) * min(against)),
    }
    if matters:
        numbers["p_none"] = max(p(1, bound - matters), p(-1, bound + matters))
        numbers["p_less"] = p(-sign, needed[sign])
    return numbers


_BY_CENTER = {
    "mean": (t_test_above, t_test_below, t_interval),
    "median": (sign_test_above, sign_test_below, sign_interval),
}
"""Tests and interval of an `Interval`, by its center: above, below, interval."""


def _test_equivalence(test: Equivalence, rows: pd.DataFrame) -> Numbers:
    rows = rows.sort_values("seed")
    ours, paper = (
        rows.loc[rows["sample"] == name, "value"].to_numpy(np.float64) for name in ("ours", "paper")
    )
    margin = test.margin * pooled_std(ours, paper)
    difference = float(ours.mean()) - float(paper.mean())
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


def _only_value(rows: pd.DataFrame, column: str) -> float:
    if len(rows) != 1:
        raise InputError(f"has {len(rows)} values, expected one")
    value = float(rows[column].iloc[0])
    if not np.isfinite(value):
        raise InputError("is not a finite number")
    return value


def _standardised_distance(values: Floats, bound: float) -> float | None:
    """Return the mean's distance from a bound in standard deviations of one seed, if they differ.

    There is none if all seeds agree.
    """
    distances = values - bound
    return float(distances.mean() / distances.std(ddof=1)) if _seeds_differ(distances) else None


def _seeds_differ(*samples: Floats) -> bool:
    """Say whether seeds differ by more than rounding."""
    return any(np.ptp(values) > 1e-12 * np.abs(values).max() for values in samples)
