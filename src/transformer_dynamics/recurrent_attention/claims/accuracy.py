"""Accuracy of trained conditions: along the loops, by method, by number of heads.

Accuracy is that out of distribution, except where a function says otherwise; the final one is that
after the most loops that were measured.
"""

from collections.abc import Callable, Iterable, Sequence

import pandas as pd

from replication.base.errors import UnmeasurableError
from replication.study.evidence import evidence_by_seed, seed_rows
from transformer_dynamics.recurrent_attention.claims.seed_values import (
    AccuracyOf,
    accuracies_from_training,
    accuracy_after,
    changes_along,
    condition_name,
    final_accuracy,
    first_minus_others,
    in_pairs,
    mean_over_conditions,
    trained_loops,
)
from transformer_dynamics.recurrent_attention.settings.metrics import IN, OUT, Regimes

FEW = (1, 2)
"""Numbers H of heads that are few."""
LATE = 4
"""Factor of the loops of training from which on loops are late."""


def gain_of_loops(*by_size: AccuracyOf) -> pd.DataFrame:
    """Return the accuracy after the most loops minus that after those of training, by N.

    Args:
        by_size: a condition per N.
    """
    return _gain(by_size, 1)


def gain_of_late_loops(*by_size: AccuracyOf) -> pd.DataFrame:
    """Return the accuracy after the most loops minus that after `LATE` times those of training."""
    return _gain(by_size, LATE)


def _gain(by_size: Sequence[AccuracyOf], times: int) -> pd.DataFrame:
    return evidence_by_seed(
        {
            f"N={each.job.train.model.block}": final_accuracy(each)
            - accuracy_after(each, times * trained_loops(each))
            for each in by_size
        }
    )


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


def lead_of_the_first(first: AccuracyOf, *others: AccuracyOf) -> pd.DataFrame:
    """Return the final accuracy of the first condition minus that of every other one."""
    return first_minus_others(final_accuracy, first, others)


def lead_at_equal_sizes(*by_size: AccuracyOf) -> pd.DataFrame:
    """Return the final accuracy out of distribution of AKOrN minus that of ItrSA, at every N.

    Args:
        by_size: conditions of both kinds, one of each per N.

    Raises:
        UnmeasurableError: if an N has one kind only.
    """
    return _akorn_minus_itrsa(final_accuracy, by_size)


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


def lead_as_trained(*pairs: AccuracyOf) -> pd.DataFrame:
    """Return the accuracy with normalisation minus that without, after the loops of training.

    Args:
        pairs: a condition with normalisation and one without, and others so.
    """
    return _lead(pairs, (IN, 1), (OUT, 1))


def lead_at_twice_the_loops(*pairs: AccuracyOf) -> pd.DataFrame:
    """Return the same after twice the loops of training."""
    return _lead(pairs, (IN, 2), (OUT, 2))


def lead_of_normalised(*pairs: AccuracyOf) -> pd.DataFrame:
    """Return the same, in distribution as in training and out of it after twice as many loops."""
    return _lead(pairs, (IN, 1), (OUT, 2))


def _lead(pairs: Sequence[AccuracyOf], *places: tuple[str, int]) -> pd.DataFrame:
    return seed_rows(
        (
            f"{split}, {times} x T of training",
            accuracy_after(ours, times * trained_loops(ours), split)
            - accuracy_after(theirs, times * trained_loops(theirs), split),
        )
        for ours, theirs in in_pairs(pairs)
        for split, times in places
    )


def solved_in_distribution(*trained: AccuracyOf) -> pd.DataFrame:
    """Return the accuracy in distribution after the loops of training."""
    return _solved(trained, IN)


def solved_out_of_distribution(*trained: AccuracyOf) -> pd.DataFrame:
    """Return the accuracy out of distribution after the loops of training."""
    return _solved(trained, OUT)


def _solved(trained: Sequence[AccuracyOf], split: str) -> pd.DataFrame:
    return seed_rows(
        (condition_name(each.job.train), accuracy_after(each, trained_loops(each), split))
        for each in trained
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


def most_solved(condition: AccuracyOf) -> pd.DataFrame:
    """Return the highest accuracy in distribution after the loops of training or more."""
    best: pd.Series = accuracies_from_training(condition, IN).max(axis=1)
    return evidence_by_seed({condition_name(condition.job.train): best})


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


def change_with_strength(*by_strength: AccuracyOf) -> pd.DataFrame:
    """Return the change of the final accuracy out of distribution along ln(lambda).

    Args:
        by_strength: a condition per lambda > 0.
    """
    return changes_along(
        "strength", by_strength, lambda each: final_accuracy(each).to_frame("accuracy")
    )


def _fall_of_accuracy(measured: AccuracyOf) -> pd.Series:
    along = accuracies_from_training(measured)
    fall: pd.Series = along.max(axis=1) - along.iloc[:, -1]
    return fall


def _is_large(measured: AccuracyOf, regimes: Regimes) -> bool:
    model = measured.job.train.model
    return model.block >= regimes.large * model.width
