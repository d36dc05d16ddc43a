"""What `judge` decides of statistical tests, of many replications at once.

`judge` takes one table at a time, and most of its time goes into tables. To see how often a test
errs takes hundreds of judgements of every claim, so here they are arrays [replications, cells,
seeds] of each sample. `test_declared_rates` checks that the decisions are the same.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc, stdtr

from replication.judge.judgement import QUESTIONS
from replication.judge.verdicts import FEWEST_SEEDS
from replication.study.claims import Equivalence, Interval, Statistical

Floats = NDArray[np.float64]
Samples = dict[str, Floats]
"""[replications, cells, seeds] of every sample by its name; that of a claim with one is ''."""


class Estimate(NamedTuple):
    value: Floats
    error: Floats
    dof: Floats | int


class Found(NamedTuple):
    decisions: NDArray[np.str_]
    """[replications, cells]."""
    p: dict[str, Floats]
    """Corrected p values by their name in a `Comparison`, [replications, cells]."""
    verdicts: list[str]
    """[replications]."""


class Asked(NamedTuple):
    """One claim of a family."""

    test: Statistical
    """How it is judged."""
    samples: Samples
    """Its seeds."""
    counted: NDArray[np.bool_]
    """[cells] which of them count; the others are for robustness."""


def judge_at_once(family: Sequence[Asked]) -> list[Found]:
    """Of every claim whose p values are corrected together."""
    raw = [
        _equivalence(test, samples) if isinstance(test, Equivalence) else _interval(test, samples)
        for test, samples, _ in family
    ]
    corrected = [{name: np.ones_like(p) for name, p in claim.items()} for claim in raw]
    for name in QUESTIONS:
        groups = [[(index, claim.counted) for index, claim in enumerate(family)]]
        groups += [[(index, ~claim.counted)] for index, claim in enumerate(family)]
        for group in groups:
            asked = [(i, cells) for i, cells in group if name in raw[i] and cells.any()]
            found = _corrected(
                [raw[i][name][:, cells] for i, cells in asked],
                [family[i].test.level for i, _ in asked],
            )
            for (i, cells), p in zip(asked, found, strict=True):
                corrected[i][name][:, cells] = p
    return [_found(claim, p) for claim, p in zip(family, corrected, strict=True)]


def _found(claim: Asked, p: dict[str, Floats]) -> Found:
    test, samples, counted = claim
    names = [name for name in QUESTIONS if name in p]
    decisions = np.select(
        [p[name] <= test.level for name in names], [QUESTIONS[name] for name in names], "open"
    )
    said = decisions[:, counted]
    holding, undecided = ((said == decision).sum(axis=1) for decision in ("holds", "open"))
    size = said.shape[1]
    verdicts = np.select(
        [holding == size, holding > 0, undecided < size],
        ["replicated", "in part", "does not hold"],
        "open",
    ).astype(object)
    few = min(values.shape[-1] for values in samples.values()) < FEWEST_SEEDS
    verdicts[few | _alike(test, samples)[:, counted].any(axis=1)] = "not tested"
    return Found(decisions, p, verdicts.tolist())


def _alike(test: Statistical, samples: Samples) -> NDArray[np.bool_]:
    """[replications, cells] where seeds differ by no more than rounding."""
    bound = _bound(test) if isinstance(test, Interval) else 0
    spreads = [
        np.ptp(values, axis=-1) > 1e-12 * np.abs(values - bound).max(axis=-1)
        for values in samples.values()
    ]
    return ~np.any(spreads, axis=0)


def _bound(test: Interval) -> float:
    return float((test.lower if test.lower is not None else test.upper) or 0)


def _by_signs(values: Floats, sign: int, bound: float) -> Floats:
    beyond = np.count_nonzero(sign * (values - bound) > 0, axis=-1)
    return np.where(beyond > 0, bdtrc(beyond - 1, values.shape[-1], 0.5), 1.0)


def _interval(test: Interval, samples: Samples) -> dict[str, Floats]:
    matters = test.smallest_effect or 0
    if test.center == "mean":
        mean = _mean(samples[""])
        above, below = partial(_above, mean), partial(_below, mean)
    else:
        above, below = (partial(_by_signs, samples[""], sign) for sign in (1, -1))
    inside, outside = [], []
    if test.lower is not None:
        inside.append(above(test.lower + matters))
        outside.append(below(test.lower - matters))
    if test.upper is not None:
        inside.append(below(test.upper - matters))
        outside.append(above(test.upper + matters))
    p = {
        "p": np.max(inside, axis=0),
        "p_against": np.minimum(1, len(outside) * np.min(outside, axis=0)),
    }
    if matters:
        bound = _bound(test)
        p["p_none"] = np.maximum(above(bound - matters), below(bound + matters))
        p["p_less"] = below(bound + matters) if test.lower is not None else above(bound - matters)
    return p


def _equivalence(test: Equivalence, samples: Samples) -> dict[str, Floats]:
    (n, ours, u), (m, paper, v) = (_moments(samples[name]) for name in ("ours", "paper"))
    margin = test.margin * np.sqrt(((n - 1) * u + (m - 1) * v) / (n + m - 2))
    u, v = u / n, v / m
    share = np.divide(u, u + v, out=np.full_like(u, 0.5), where=u + v > 0)
    dof = 1 / (share**2 / (n - 1) + (1 - share) ** 2 / (m - 1))
    difference = Estimate(ours - paper, np.sqrt(u + v), dof)
    distance = np.abs(difference.value)
    same = (distance == 0) & (difference.error == 0)
    return {
        "p": np.where(same, 0, _tail(margin - distance, difference)),
        "p_against": np.minimum(1, 2 * _tail(distance - margin, difference)),
    }


def _moments(values: Floats) -> tuple[int, Floats, Floats]:
    """Number of seeds, mean and unbiased variance; of equal seeds their value and 0."""
    shifted = values - values[..., :1]
    return values.shape[-1], values[..., 0] + shifted.mean(axis=-1), shifted.var(axis=-1, ddof=1)


def _mean(values: Floats) -> Estimate:
    size, mean, variance = _moments(values)
    return Estimate(mean, np.sqrt(variance / size), size - 1)


def _above(mean: Estimate, bound: float) -> Floats:
    return _tail(mean.value - bound, mean)


def _below(mean: Estimate, bound: float) -> Floats:
    return _tail(bound - mean.value, mean)


def _tail(excess: Floats, estimate: Estimate) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        tail = stdtr(estimate.dof, -excess / estimate.error)
    return np.where(estimate.error == 0, np.where(excess > 0, 0.0, 1.0), tail)


def _corrected(claims: Sequence[Floats], levels: Sequence[float]) -> list[Floats]:
    """`statistics.corrected` of every replication: [replications, cells] of each claim."""
    if not claims:
        return []
    worst = np.array([p.max(axis=1) for p in claims])
    order = np.argsort(worst, axis=0, kind="stable")
    place = np.argsort(order, axis=0)
    left = len(claims) - np.arange(len(claims))[:, None]
    fails = np.take_along_axis(worst, order, axis=0) * left > np.array(levels)[order]
    stop = np.where(fails.any(axis=0), fails.argmax(axis=0), len(claims))
    factors = len(claims) - np.minimum(place, stop)
    return [
        np.minimum(factor[:, None] * _hochberg(p), 1)
        for factor, p in zip(factors, claims, strict=True)
    ]


def _hochberg(p: Floats) -> Floats:
    """Of every row."""
    order = np.argsort(-p, axis=1)
    steps = np.take_along_axis(p, order, axis=1) * np.arange(1, p.shape[1] + 1)
    adjusted = np.empty_like(p)
    np.put_along_axis(adjusted, order, np.minimum.accumulate(steps, axis=1), axis=1)
    return adjusted
