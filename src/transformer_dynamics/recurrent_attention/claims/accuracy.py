"""Accuracy of trained conditions: along the loops, by method, by number of heads."""

from collections.abc import Sequence

import pandas as pd

from replication.base.errors import UnmeasurableError
from replication.study.contrasts import change_along
from replication.study.evidence import evidence_by_seed
from transformer_dynamics.recurrent_attention.claims.contrasts import (
    IN,
    OUT,
    Accuracies,
    accuracy,
    final,
    from_training_on,
    mean_of,
    named,
    trained_loops,
)
from transformer_dynamics.recurrent_attention.measure_settings import Regimes

FEW = (1, 2)
"""H of which the paper says that they are few."""
LATE = 4
"""Times the loops of training, from which on loops are late."""


def gain_of_loops(*by_size: Accuracies) -> pd.DataFrame:
    """Accuracy out of distribution after the most loops minus that after those of training, by N.

    Args:
        by_size: a condition per N.
    """
    return _gain(by_size, 1)


def gain_of_late_loops(*by_size: Accuracies) -> pd.DataFrame:
    """The same from `LATE` times the loops of training on."""
    return _gain(by_size, LATE)


def _gain(by_size: Sequence[Accuracies], times: int) -> pd.DataFrame:
    return evidence_by_seed(
        {
            f"N={each.job.train.model.block}": final(each)
            - accuracy(each, times * trained_loops(each))
            for each in by_size
        }
    )


def fall_with_size(*by_size: Accuracies, regimes: Regimes) -> pd.DataFrame:
    """Fall of accuracy along the loops, mean over large N minus that over small N.

    The fall is the highest accuracy out of distribution after the loops of training or more, minus
    that after the most.

    Args:
        by_size: a condition per N.
        regimes: from where on N is large.
    """
    falls = {
        is_large: [_fall(each) for each in by_size if _is_large(each, regimes) == is_large]
        for is_large in (True, False)
    }
    if not all(falls.values()):
        raise UnmeasurableError("both large and small N are needed")
    return evidence_by_seed({"large N minus small N": mean_of(falls[True]) - mean_of(falls[False])})


def fall_beside_itrsa(*by_size: Accuracies, regimes: Regimes) -> pd.DataFrame:
    """Fall of AKOrN's accuracy along the loops minus that of ItrSA's, at every large N.

    Args:
        by_size: conditions of both kinds, one of each per N.
        regimes: from where on N is large.
    """
    falls: dict[str, dict[int, pd.Series]] = {"akorn": {}, "itrsa": {}}
    for each in (each for each in by_size if _is_large(each, regimes)):
        falls[each.job.train.model.kind][each.job.train.model.block] = _fall(each)
    if falls["akorn"].keys() != falls["itrsa"].keys():
        raise UnmeasurableError("AKOrN and ItrSA were not trained at the same N")
    return evidence_by_seed(
        {f"N={n}": fall - falls["itrsa"][n] for n, fall in falls["akorn"].items()}
    )


def lead_of_the_first(first: Accuracies, *others: Accuracies) -> pd.DataFrame:
    """Final accuracy out of distribution of the first condition minus that of every other one."""
    return evidence_by_seed(
        {f"over {named(each.job.train)}": final(first) - final(each) for each in others}
    )


def lead_at_equal_sizes(*by_size: Accuracies) -> pd.DataFrame:
    """Final accuracy out of distribution of AKOrN minus that of ItrSA with the same N.

    Args:
        by_size: conditions of both kinds, one of each per N.

    Raises:
        UnmeasurableError: if an N has one kind only.
    """
    found: dict[str, dict[int, pd.Series]] = {"akorn": {}, "itrsa": {}}
    for each in by_size:
        found[each.job.train.model.kind][each.job.train.model.block] = final(each)
    if found["akorn"].keys() != found["itrsa"].keys():
        raise UnmeasurableError("AKOrN and ItrSA were not trained at the same N")
    return evidence_by_seed(
        {f"N={n}": lead - found["itrsa"][n] for n, lead in found["akorn"].items()}
    )


def lead_of_normalised(normalised: Accuracies, unnormalised: Accuracies) -> pd.DataFrame:
    """Accuracy with normalisation minus that without: as in training, and beyond it.

    In distribution after the loops of training, and out of distribution after twice as many.
    """
    found = {}
    for split, times in ((IN, 1), (OUT, 2)):
        loops = times * trained_loops(normalised)
        cell = f"{split}, {times} x T of training"
        found[cell] = accuracy(normalised, loops, split) - accuracy(unnormalised, loops, split)
    return evidence_by_seed(found)


def orthogonality_beyond_penalty(
    free: Accuracies, orthogonal: Accuracies, held: Accuracies
) -> pd.DataFrame:
    """What orthogonal W^V and W^O cost of the final accuracy minus what R_E costs besides.

    Args:
        free: without either.
        orthogonal: with orthogonal matrices alone.
        held: with both.
    """
    costs = final(free) - final(orthogonal), final(orthogonal) - final(held)
    return evidence_by_seed({"orthogonal matrices minus R_E": costs[0] - costs[1]})


def most_solved(condition: Accuracies) -> pd.DataFrame:
    """Highest accuracy in distribution after the loops of training or more."""
    best: pd.Series = from_training_on(condition, IN).max(axis=1)
    return evidence_by_seed({named(condition.job.train): best})


def gain_of_penalty(
    first: Accuracies, first_held: Accuracies, second: Accuracies, second_held: Accuracies
) -> pd.DataFrame:
    """Final accuracy out of distribution with a regulariser minus that without, of two models."""
    pairs = ((first, first_held), (second, second_held))
    return evidence_by_seed(
        {named(free.job.train): final(held) - final(free) for free, held in pairs}
    )


def larger_gain_of_penalty(
    first: Accuracies, first_held: Accuracies, second: Accuracies, second_held: Accuracies
) -> pd.DataFrame:
    """Gain of `gain_of_penalty` of the second model minus that of the first."""
    gain = (final(second_held) - final(second)) - (final(first_held) - final(first))
    models = [named(each.job.train) for each in (second, first)]
    return evidence_by_seed({" minus ".join(models): gain})


def lead_over_few_heads(*by_heads: Accuracies) -> pd.DataFrame:
    """Final accuracy out of distribution, mean over more than two heads minus that at one, at two.

    Args:
        by_heads: a condition per H.
    """
    found = {each.job.train.model.heads: final(each) for each in by_heads}
    if not {*FEW} < {*found}:
        raise UnmeasurableError("one head, two heads and more are needed")
    more = mean_of([values for heads, values in found.items() if heads not in FEW])
    return evidence_by_seed({f"over H={heads}": more - found[heads] for heads in FEW})


def lead_of_some_heads(*by_heads: Accuracies) -> pd.DataFrame:
    """Final accuracy out of distribution of the best H in between minus that at either end.

    For every seed the other seeds say which H is the best: the maximum over a seed's own values
    would be above its ends by chance alone.

    Args:
        by_heads: a condition per H, ascending.
    """
    wide = pd.DataFrame({each.job.train.model.heads: final(each) for each in by_heads})
    if wide.shape[1] < 3 or len(wide) < 2:
        raise UnmeasurableError("three numbers of heads and two seeds are needed")
    if wide.isna().to_numpy().any():
        raise UnmeasurableError("conditions that are compared have different seeds")
    ends = wide.columns.min(), wide.columns.max()
    between = wide.drop(columns=list(ends))
    best = {seed: between.drop(index=seed).mean().idxmax() for seed in wide.index}
    highest = pd.Series({seed: between.loc[seed, heads] for seed, heads in best.items()})
    return evidence_by_seed({f"over H={end}": highest - wide[end] for end in ends})


def change_with_strength(*by_strength: Accuracies) -> pd.DataFrame:
    """Change of the final accuracy out of distribution along ln(lambda).

    Args:
        by_strength: a condition per lambda > 0.
    """
    tables = [
        pd.DataFrame({"value": final(each), "strength": each.job.train.penalty.strength})
        for each in by_strength
        if each.job.train.penalty
    ]
    table = pd.concat(tables).reset_index().assign(cell="accuracy")
    return change_along(table, "strength")


def _fall(measured: Accuracies) -> pd.Series:
    along = from_training_on(measured)
    fall: pd.Series = along.max(axis=1) - along.iloc[:, -1]
    return fall


def _is_large(measured: Accuracies, regimes: Regimes) -> bool:
    model = measured.job.train.model
    return model.block >= regimes.large * model.width
