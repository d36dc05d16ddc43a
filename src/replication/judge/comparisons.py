"""Numbers of a claim's comparisons: the declared test of each, with uncorrected p values."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from replication.base.errors import UnmeasurableError, WrongTableError
from replication.judge.statistics import difference_of, mean_of, median_of, pooled_std
from replication.judge.verdicts import FEWEST_SEEDS
from replication.study.claims import Bounds, Equivalence, Interval, Published, Statistical, Test
from replication.study.evidence import words_of
from replication.study.seeds import format_seeds

Numbers = dict[str, Any]
"""Values of a `Comparison` by its field, and what a correction needs besides."""
UNMEASURED = "unmeasured"
"""Name of the only column of evidence that could not be measured; its one value says why."""
LARGEST = 1e150
"""Largest value of a seed, and 1 / `LARGEST` the smallest spread, whose squares a float64 holds."""
COLUMNS: dict[type, tuple[list[str], list[str]]] = {
    Bounds: (["cell"], ["value"]),
    Published: (["cell"], ["value", "published"]),
    Interval: (["cell", "seed"], ["value"]),
    Equivalence: (["cell", "sample", "seed"], ["value"]),
}
"""Columns that tell rows apart, and columns of numbers, of the evidence of each kind of test."""


class Judged(NamedTuple):
    """A claim with its test, and its evidence: a table that the test states, or `missing_evidence`.

    `robustness` has texts in the names of comparisons that do not count.
    """

    claim: str
    test: Test
    evidence: pd.DataFrame
    robustness: Sequence[str] = ()

    @property
    def samples(self) -> list[pd.DataFrame]:
        """Evidence of each sample of seeds; none for the theory."""
        if "seed" not in self.evidence:
            return []
        by_sample = self.evidence.groupby("sample") if "sample" in self.evidence else ()
        return [part for _, part in by_sample] or [self.evidence]


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
    values = evidence["value"]
    if not pd.api.types.is_numeric_dtype(values):
        return evidence
    keys = [name for name in ("cell", "sample", "seed") if name in evidence]
    if left is not None:
        others = left.drop_duplicates(keys, keep="last")[[*keys, "value"]]
        # A number that there is no more, or that is not finite, differs from itself.
        known = evidence[keys].merge(others, how="left", on=keys)["value"]
        is_lost = known.to_numpy() != values.to_numpy()
    elif "seed" in evidence:
        is_lost = evidence["seed"].isin([*set().union(*lost.values())]).to_numpy()
    else:
        is_lost = np.ones(len(evidence), dtype=bool)
    if not is_lost.any():
        return evidence
    if "seed" not in evidence:
        raise UnmeasurableError(diverged_in_words(lost))
    where = [
        " and ".join(name for name, seeds in lost.items() if gone and seed in seeds)
        for seed, gone in zip(evidence["seed"], is_lost, strict=True)
    ]
    return evidence.assign(value=values.mask(is_lost), diverged=where)


def compare_cells(judged: Judged) -> list[Numbers]:
    """Return the numbers of each `Comparison`, with uncorrected p values or the decision.

    A cell that cannot be compared, as after a training that diverged, has the reason in place of
    numbers, under the name `UNMEASURED`.

    An `UnmeasurableError` if the claim could not be measured, its evidence is too little, or it is
    not the evidence that the test is about.
    """
    claim, test, evidence, robustness = judged
    if UNMEASURED in evidence:
        raise UnmeasurableError(str(evidence[UNMEASURED].item()))
    _check_evidence(judged)
    # A statement of the theory is one about all cases, whatever their names.
    texts = robustness if isinstance(test, Statistical) else ()
    found = [
        {
            "cell": str(cell),
            "is_robustness": any(text in str(cell) for text in texts),
            **_compare_cell(test, rows, f"claim {claim}, {cell}"),
        }
        for cell, rows in evidence.groupby("cell", sort=False)
    ]
    if all(cell["is_robustness"] for cell in found):
        raise UnmeasurableError("all that was measured is for robustness, by the study's rule")
    if all(cell["is_robustness"] or UNMEASURED in cell for cell in found):
        raise UnmeasurableError(reasons_of(found))
    return found


def reasons_of(cells: Sequence[Numbers]) -> str:
    """Return why comparisons without a number have none; empty if all have one."""
    return "; ".join(cell[UNMEASURED] for cell in cells if UNMEASURED in cell)


def _check_evidence(judged: Judged) -> None:
    """Refuse a table that the test cannot use, and seeds that do not suffice."""
    claim, test, evidence, _ = judged
    keys, values = COLUMNS[type(test)]
    try:
        evidence.astype(dict.fromkeys(values, float) | ({"seed": int} if "seed" in keys else {}))
        has_keys = evidence[keys].notna().all(axis=None)
        is_whole = bool(has_keys and not evidence.duplicated(keys).any())
    except (KeyError, TypeError, ValueError):
        is_whole = False
    if not is_whole:
        raise WrongTableError(
            f"claim {claim}: a test of the kind {test.kind} needs evidence with numbers in the"
            f" columns {', '.join(values)}, and one row for each {', '.join(keys)}"
        )
    if evidence.empty:
        raise UnmeasurableError("nothing was found to measure")
    for part in judged.samples:
        seeds = part.groupby("cell")["seed"].nunique()
        if (seeds != seeds.iloc[0]).any():
            raise UnmeasurableError("its comparisons have different numbers of seeds")
        if isinstance(test, Statistical) and seeds.iloc[0] < 2:
            raise UnmeasurableError(
                f"claim {claim} has 1 seed, but a test over seeds needs 2, and a verdict"
                f" {FEWEST_SEEDS}; add seeds to its experiments"
            )


def _compare_cell(test: Test, rows: pd.DataFrame, where: str) -> Numbers:
    if isinstance(test, Bounds | Published):
        return _compare_value(test, rows.iloc[0], where)
    try:
        _check_numbers(rows)
        ordered = rows.sort_values("seed")
        if isinstance(test, Interval):
            return _test_interval(test, ordered["value"].to_numpy(np.float64))
        return _test_equivalence(test, ordered)
    except UnmeasurableError as error:
        return {UNMEASURED: f"'{rows['cell'].iloc[0]}' is not measured, as {error.message}"}


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


def _compare_value(test: Bounds | Published, row: "pd.Series[Any]", where: str) -> Numbers:
    value = float(row["value"])
    lower, upper = (test.lower, test.upper) if isinstance(test, Bounds) else (None, None)
    if isinstance(test, Published):
        value -= float(row["published"])
        lower, upper = -test.tolerance, test.tolerance
    if not np.isfinite(value):
        raise WrongTableError(f"{where}: is not a finite number")
    is_inside = (lower is None or value >= lower) and (upper is None or value <= upper)
    decision = "holds" if is_inside else "fails"
    return {"estimate": value, "lower": lower, "upper": upper, "decision": decision}


def _test_interval(test: Interval, values: NDArray[np.float64]) -> Numbers:
    """Return the numbers of a range, whose lower end has the sign 1 and whose upper end has -1."""
    matters = test.smallest_effect or 0.0
    is_median = test.center == "median"
    center = median_of(values) if is_median else mean_of(values)
    p = {1: center.p_above, -1: center.p_below}
    bounds = {s: each for s, each in ((1, test.lower), (-1, test.upper)) if each is not None}
    needed = {sign: bound + sign * matters for sign, bound in bounds.items()}
    against = [p[-sign](place - 2 * sign * matters) for sign, place in needed.items()]
    sign, bound = next(iter(bounds.items()))
    distances = values - bound
    numbers: Numbers = {
        "estimate": float(np.median(values) if is_median else values.mean()),
        "interval": center.interval,
        "ends": len(bounds),
        "lower": needed.get(1),
        "upper": needed.get(-1),
        "bound": float(bound) if len(bounds) == 1 else None,
        "effect": float(distances.mean() / distances.std(ddof=1)) if _differ(distances) else None,
        "p": max(p[sign](place) for sign, place in needed.items()),
        "p_against": min(1, len(bounds) * min(against)),
    }
    if matters:
        numbers["p_none"] = max(p[1](bound - matters), p[-1](bound + matters))
        numbers["p_less"] = p[-sign](needed[sign])
    return numbers


def _test_equivalence(test: Equivalence, rows: pd.DataFrame) -> Numbers:
    ours, paper = (
        rows.loc[rows["sample"] == name, "value"].to_numpy(np.float64) for name in ("ours", "paper")
    )
    margin = test.margin * pooled_std(ours, paper)
    apart, difference = difference_of(ours, paper), float(ours.mean()) - float(paper.mean())
    return {
        "estimate": difference,
        "interval": apart.interval,
        "ends": 2,
        "lower": -margin,
        "upper": margin,
        "effect": difference * test.margin / margin if _differ(ours, paper) else None,
        "p": apart.p_within(margin),
        "p_against": min(1, 2 * apart.p_beyond(margin)),
    }


def _differ(*samples: NDArray[np.float64]) -> bool:
    """Say whether seeds differ by more than rounding; if not, there is no standardised effect."""
    return any(np.ptp(values) > 1e-12 * np.abs(values).max() for values in samples)
