"""What `judge` decides of statistical tests, of many replications at once.

`judge` takes one table at a time, and most of its time goes into tables. To see how often a test
errs takes hundreds of judgements of every claim, so here they are arrays [replications, cells,
seeds] of each sample. `test_declared_rates` checks that the decisions are the same.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from replication.registry import Equivalence, Interval, Statistical
from replication.verification.judgement import FEWEST_SEEDS

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


def judge_at_once(family: Sequence[tuple[Statistical, Samples]]) -> list[Found]:
    """Of every claim whose p values are corrected together."""
    raw = [
        _equivalence(test, samples) if isinstance(test, Equivalence) else _interval(test, samples)
        for test, samples in family
    ]
    corrected: list[dict[str, Floats]] = [{} for _ in raw]
    for name in ("p", "p_against", "p_none"):
        having = [index for index, claim in enumerate(raw) if name in claim]
        if having:
            ends = np.cumsum([raw[index][name].shape[1] for index in having])[:-1]
            together = _holm(np.concatenate([raw[index][name] for index in having], axis=1))
            for index, part in zip(having, np.split(together, ends, axis=1), strict=True):
                corrected[index][name] = part
    return [_found(test, samples, p) for (test, samples), p in zip(family, corrected, strict=True)]


def _found(test: Statistical, samples: Samples, p: dict[str, Floats]) -> Found:
    small = {name: values <= test.level for name, values in p.items()}
    none = small.get("p_none", np.zeros_like(small["p"]))
    decisions = np.select(
        [small["p"], small["p_against"], none], ["holds", "fails", "none"], "open"
    )
    named = [("fails", "contradicted"), ("none", "no effect"), ("open", "inconclusive")]
    verdicts = np.select(
        [(decisions == decision).any(axis=1) for decision, _ in named],
        [verdict for _, verdict in named],
        "replicated",
    )
    few = min(values.shape[-1] for values in samples.values()) < FEWEST_SEEDS
    verdicts[few | _alike(test, samples).any(axis=1)] = "not tested"
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


def _interval(test: Interval, samples: Samples) -> dict[str, Floats]:
    mean = _mean(samples[""])
    matters = test.smallest_effect or 0
    inside, outside = [], []
    if test.lower is not None:
        inside.append(_above(mean, test.lower + matters))
        outside.append(_below(mean, test.lower - matters))
    if test.upper is not None:
        inside.append(_below(mean, test.upper - matters))
        outside.append(_above(mean, test.upper + matters))
    p = {
        "p": np.max(inside, axis=0),
        "p_against": np.minimum(1, len(outside) * np.min(outside, axis=0)),
    }
    if matters:
        bound = _bound(test)
        p["p_none"] = np.maximum(_above(mean, bound - matters), _below(mean, bound + matters))
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


def _holm(p: Floats) -> Floats:
    """Of every row."""
    order = np.argsort(p, axis=1)
    adjusted = np.empty_like(p)
    steps = np.take_along_axis(p, order, axis=1) * np.arange(p.shape[1], 0, -1)
    np.put_along_axis(adjusted, order, np.maximum.accumulate(steps, axis=1), axis=1)
    return np.minimum(adjusted, 1)
