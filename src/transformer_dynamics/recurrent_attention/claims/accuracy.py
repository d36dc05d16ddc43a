"""Accuracy of trained conditions: along the loops, by method, by number of heads.

Accuracy is that out of distribution, except where a function says otherwise; the final one is that
after the most loops that were measured.
"""

from collections.abc import Callable, Iterable

import pandas as pd

from replication.base.errors import UnmeasurableError
from replication.study.evidence import evidence_by_seed, seed_rows
from transformer_dynamics.recurrent_attention.claims.seed_values import (
    AccuracyOf,
    accuracies_from_training,
    accuracy_after,
    condition_name,
    final_accuracy,
    in_pairs,
    mean_over_conditions,
    trained_loops,
)
from transformer_dynamics.recurrent_attention.settings.metrics import Regimes

FEW = (1, 2)
"""Numbers H of heads that are few."""
LATE = 4
"""Factor of the loops of training from which on loops are late."""


def fall_with_size(*by_size: AccuracyOf, regimes: Regimes) -> pd.DataFrame:
    """Return the fall of accuracy along the loops, mean over large N minus that over small N.

    The fall is the highest accuracy out of distribution after the loops of training or more, minus
    that after the most.

    Args:
        by_size: a condition per N.
        regimes: N from which on it is large.
    """
    large, small = (
        [_fall_of_accuracy(each) for each in by_size if _is_large(each, regimes) == is_large]
        for is_large in (True, False)
    )
    if not large or not small:
        raise UnmeasurableError("both large and small N are needed")
    change = mean_over_conditions(large) - mean_over_conditions(small)
    return evidence_by_seed({"large N minus small N": change})


def fall_beside_itrsa(*by_size: AccuracyOf, regimes: Regimes) -> pd.DataFrame:
    """Return the fall of AKOrN's accuracy along the loops minus that of ItrSA's, at every large N.

    Args:
        by_size: conditions of both kinds, one of each per N.
        regimes: N from which on it is large.
    """
    return _akorn_minus_itrsa(
        _fall_of_accuracy, [each for each in by_size if _is_large(each, regimes)]
    )


def _akorn_minus_itrsa(
    value: Callable[[AccuracyOf], pd.Series], by_size: Iterable[AccuracyOf]
) -> pd.DataFrame:
    found: dict[str, dict[int, pd.Series]] = {"akorn": {}, "itrsa": {}}
    for each in by_size:
        found[each.job.train.model.kind][each.job.train.model.block] = value(each)
    if found["akorn"].keys() != found["itrsa"].keys():
        raise UnmeasurableError("AKOrN and ItrSA were not trained at the same N")
    return evidence_by_seed(
        {f"N={n}": akorn - found["itrsa"][n] for n, akorn in found["akorn"].items()}
    )


def lead_of_normalised(*pairs: AccuracyOf, places: list[tuple[str, int]]) -> pd.DataFrame:
    """Return the accuracy with normalisation minus that without, in distribution or out of it.

    It is that after some times the loops of training.

    Args:
        pairs: a condition with normalisation and one without, and others so.
        places: each a split and a number of times.
    """
    return seed_rows(
        (
            f"{split}, {times} x T of training",
            accuracy_after(ours, times * trained_loops(ours), split)
            - accuracy_after(theirs, times * trained_loops(theirs), split),
        )
        for ours, theirs in in_pairs(pairs)
        for split, times in places
    )


def orthogonality_beyond_penalty(
    free: AccuracyOf, orthogonal: AccuracyOf, held: AccuracyOf
) -> pd.DataFrame:
    """Return the cost of orthogonal W^V and W^O in final accuracy minus the further cost of R_E.

    Args:
        free: without either.
        orthogonal: with orthogonal matrices alone.
        held: with both.
    """
    costs = (
        final_accuracy(free) - final_accuracy(orthogonal),
        final_accuracy(orthogonal) - final_accuracy(held),
    )
    return evidence_by_seed({"orthogonal matrices minus R_E": costs[0] - costs[1]})


def lead_over_few_heads(*by_heads: AccuracyOf) -> pd.DataFrame:
    """Return the final accuracy, mean over more than two heads minus that at one, at two.

    Args:
        by_heads: a condition per H.
    """
    found = {each.job.train.model.heads: final_accuracy(each) for each in by_heads}
    if not {*FEW} < {*found}:
        raise UnmeasurableError("one head, two heads and more are needed")
    more = mean_over_conditions([values for heads, values in found.items() if heads not in FEW])
    return evidence_by_seed({f"over H={heads}": more - found[heads] for heads in FEW})


def lead_of_some_heads(*by_heads: AccuracyOf) -> pd.DataFrame:
    """Return the final accuracy of the best H in between minus that at either end.

    For every seed the other seeds say which H is the best: the maximum over a seed's own values
    would be above its ends by chance alone.

    Args:
        by_heads: a condition per H, ascending.
    """
    wide = pd.DataFrame({each.job.train.model.heads: final_accuracy(each) for each in by_heads})
    if wide.shape[1] < 3 or len(wide) < 2:
        raise UnmeasurableError("three numbers of heads and two seeds are needed")
    if wide.isna().to_numpy().any():
        raise UnmeasurableError("conditions that are compared have different seeds")
    ends = wide.columns.min(), wide.columns.max()
    between = wide.drop(columns=list(ends))
    best = {seed: between.drop(index=seed).mean().idxmax() for seed in wide.index}
    highest = pd.Series({seed: between.loc[seed, heads] for seed, heads in best.items()})
    return evidence_by_seed({f"over H={end}": highest - wide[end] for end in ends})


def _fall_of_accuracy(measured: AccuracyOf) -> pd.Series:
    along = accuracies_from_training(measured)
    fall: pd.Series = along.max(axis=1) - along.iloc[:, -1]
    return fall


def _is_large(measured: AccuracyOf, regimes: Regimes) -> bool:
    model = measured.job.train.model
    return model.block >= regimes.large * model.width


def gain_of_penalty(*pairs: AccuracyOf) -> pd.DataFrame:
    """Return the final accuracy with a regulariser minus that without.

    Args:
        pairs: a condition without and one with it, and others so.
    """
    return evidence_by_seed(
        {
            condition_name(free.job.train): final_accuracy(held) - final_accuracy(free)
            for free, held in in_pairs(pairs)
        }
    )


def larger_gain_of_penalty(
    first: AccuracyOf, first_held: AccuracyOf, second: AccuracyOf, second_held: AccuracyOf
) -> pd.DataFrame:
    """Return the `gain_of_penalty` of the second model minus that of the first."""
    gain = (final_accuracy(second_held) - final_accuracy(second)) - (
        final_accuracy(first_held) - final_accuracy(first)
    )
    models = [condition_name(each.job.train) for each in (second, first)]
    return evidence_by_seed({" minus ".join(models): gain})
