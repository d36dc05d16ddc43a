"""Exponents beside accuracy: over the number of heads, and over the strength of R_E."""

from collections.abc import Callable, Iterable

import pandas as pd

from replication.base.errors import UnmeasurableError
from replication.study.evidence import evidence_by_seed, seed_rows
from transformer_dynamics.recurrent_attention.claims.seed_values import (
    AccuracyOf,
    ExponentsOf,
    changes_along,
    condition_name,
    final_accuracy,
    first_minus_others,
    in_pairs,
)
from transformer_dynamics.recurrent_attention.settings.metrics import Accuracy

LARGEST, LEADING, NONNULL = "max", "leading", "nonnull"
"""Columns of the metric `exponents`: the paper does not say over which it takes the mean."""
COLUMN_NAMES = {
    LARGEST: "largest exponent",
    LEADING: "mean of the leading exponents",
    NONNULL: "mean of all non-null exponents",
}
"""Names of these columns in those of comparisons."""


def correlation_over_heads(*measured: AccuracyOf | ExponentsOf) -> pd.DataFrame:
    """Return Spearman's correlation over H of the mean leading exponent and the final accuracy.

    The accuracy is that out of distribution. A seed whose accuracy is the same at every H shows no
    association: 0.

    Args:
        measured: `accuracy` and `exponents` of the same conditions, one per H.
    """
    return _correlation(measured, LEADING)


def correlation_of_all_over_heads(*measured: AccuracyOf | ExponentsOf) -> pd.DataFrame:
    """Return Spearman's correlation over H of the mean non-null exponent and the final accuracy."""
    return _correlation(measured, NONNULL)


def _correlation(measured: Iterable[AccuracyOf | ExponentsOf], name: str) -> pd.DataFrame:
    accuracies, exponents = {}, {}
    for each in measured:
        heads = each.job.train.model.heads
        if isinstance(each.job.settings, Accuracy):
            accuracies[heads] = final_accuracy(each)
        else:
            exponents[heads] = _seed_means(each)[name]
    if accuracies.keys() != exponents.keys() or len(accuracies) < 3:
        raise UnmeasurableError("accuracy and exponents of the same three or more H are needed")
    return evidence_by_seed(
        {COLUMN_NAMES[name]: _spearman(pd.DataFrame(accuracies), pd.DataFrame(exponents))}
    )


def distance_from_zero(*pairs: ExponentsOf) -> pd.DataFrame:
    """Return |exponent| without normalisation minus that with it, of means over boards.

    Args:
        pairs: a condition with normalisation and one without, and others so.
    """
    return seed_rows(
        (COLUMN_NAMES[name], _seed_means(bare)[name].abs() - _seed_means(normalised)[name].abs())
        for normalised, bare in in_pairs(pairs)
        for name in (LARGEST, LEADING)
    )


def lower_with_penalty(*pairs: ExponentsOf) -> pd.DataFrame:
    """Return the largest exponent without a penalty minus that with it, of means over boards.

    Args:
        pairs: a condition without and one with it, and others so.
    """
    return seed_rows(
        (condition_name(free.job.train), _seed_means(free)[LARGEST] - _seed_means(held)[LARGEST])
        for free, held in in_pairs(pairs)
    )


def nearer_after_training(*pairs: ExponentsOf) -> pd.DataFrame:
    """Return |exponent| before the first update minus that after training, of means over boards.

    Args:
        pairs: a condition untrained and trained, and others so.
    """
    found: dict[str, pd.Series] = {}
    for untrained, trained in in_pairs(pairs):
        if untrained.job.train.trained or not trained.job.train.trained:
            raise UnmeasurableError("pairs of untrained and trained conditions are needed")
        nearer = _seed_means(untrained).abs() - _seed_means(trained).abs()
        called = condition_name(trained.job.train)
        found |= {f"{called}, {COLUMN_NAMES[name]}": nearer[name] for name in (LARGEST, LEADING)}
    return evidence_by_seed(found)


def exponents_with_heads(*by_heads: ExponentsOf) -> pd.DataFrame:
    """Return the change of the largest exponent, and of the mean leading one, along ln(H)."""
    return changes_along("heads", by_heads, _named(LARGEST, LEADING))


def all_exponents_with_heads(*by_heads: ExponentsOf) -> pd.DataFrame:
    """Return the change of the mean of all exponents that are not null, along ln(H)."""
    return changes_along("heads", by_heads, _named(NONNULL))


def exponent_with_strength(*by_strength: ExponentsOf) -> pd.DataFrame:
    """Return the change of the mean leading exponent along ln(lambda)."""
    return changes_along("strength", by_strength, _named(LEADING))


def all_exponents_with_strength(*by_strength: ExponentsOf) -> pd.DataFrame:
    """Return the change of the mean of all exponents that are not null, along ln(lambda)."""
    return changes_along("strength", by_strength, _named(NONNULL))


def exponent_beside_others(first: ExponentsOf, *others: ExponentsOf) -> pd.DataFrame:
    """Return the mean leading exponent of the first condition minus that of every other one."""
    return first_minus_others(lambda each: _seed_means(each)[LEADING], first, others)


def _named(*columns: str) -> Callable[[ExponentsOf], pd.DataFrame]:
    """Return the function that gives means over boards of some columns by their names."""
    return lambda each: _seed_means(each)[[*columns]].rename(columns=COLUMN_NAMES)


def _seed_means(measured: ExponentsOf) -> pd.DataFrame:
    """Return the mean over boards of the columns of `COLUMN_NAMES` [seed], NaN if one has none."""
    return measured.table.groupby("seed")[[*COLUMN_NAMES]].mean(skipna=False)


def _spearman(first: pd.DataFrame, second: pd.DataFrame) -> pd.Series:
    """Return the correlation of the ranks of two tables [seed, level] within a seed [seed].

    0 where one of them is the same at all levels, NaN where a value is missing.
    """
    one, other = first.rank(axis=1), second[first.columns].rank(axis=1)
    one, other = (each.sub(each.mean(axis=1), axis=0) for each in (one, other))
    scale = ((one**2).sum(axis=1) * (other**2).sum(axis=1)) ** 0.5
    covariance = (one * other).sum(axis=1)
    is_whole = (one + other).notna().all(axis=1)
    return (covariance / scale.where(scale > 0, 1.0)).where(is_whole)
