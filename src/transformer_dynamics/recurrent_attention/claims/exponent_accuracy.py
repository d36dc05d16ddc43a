"""Exponents beside accuracy: over the number of heads, and over the strength of R_E."""

from collections.abc import Iterable

import pandas as pd

from replication.base.errors import UnmeasurableError
from replication.study.contrasts import change_along
from replication.study.evidence import evidence_by_seed
from transformer_dynamics.recurrent_attention.claims.contrasts import (
    Accuracies,
    ExponentsOf,
    final,
    named,
)
from transformer_dynamics.recurrent_attention.measure_settings import Accuracy

LARGEST, LEADING, NONNULL = "max", "leading", "nonnull"
"""Columns of the metric `exponents`: the paper does not say over which it takes the mean."""
CALLED = {
    LARGEST: "largest exponent",
    LEADING: "mean of the leading exponents",
    NONNULL: "mean of all non-null exponents",
}
"""What they are called."""


def correlation_over_heads(*measured: Accuracies | ExponentsOf) -> pd.DataFrame:
    """Spearman's correlation over H of the mean leading exponent and the final accuracy, by seed.

    The accuracy is that out of distribution. A seed whose accuracy is the same at every H shows no
    association: 0.

    Args:
        measured: `accuracy` and `exponents` of the same conditions, one per H.
    """
    return _correlation(measured, LEADING)


def correlation_of_all_over_heads(*measured: Accuracies | ExponentsOf) -> pd.DataFrame:
    """The same of the mean of all exponents that are not null."""
    return _correlation(measured, NONNULL)


def _correlation(measured: Iterable[Accuracies | ExponentsOf], name: str) -> pd.DataFrame:
    accuracies, exponents = {}, {}
    for each in measured:
        heads = each.job.train.model.heads
        if isinstance(each.job.how, Accuracy):
            accuracies[heads] = final(each)
        else:
            exponents[heads] = _of_seeds(each)[name]
    if accuracies.keys() != exponents.keys() or len(accuracies) < 3:
        raise UnmeasurableError("accuracy and exponents of the same three or more H are needed")
    return evidence_by_seed(
        {CALLED[name]: _spearman(pd.DataFrame(accuracies), pd.DataFrame(exponents))}
    )


def distance_from_zero(normalised: ExponentsOf, unnormalised: ExponentsOf) -> pd.DataFrame:
    """|exponent| without normalisation minus that with it, by seed: of means over boards."""
    sizes = [_of_seeds(each).abs() for each in (unnormalised, normalised)]
    return evidence_by_seed(
        {CALLED[name]: sizes[0][name] - sizes[1][name] for name in (LARGEST, LEADING)}
    )


def nearer_after_training(*pairs: ExponentsOf) -> pd.DataFrame:
    """|exponent| before the first update minus that after training, by seed: of means over boards.

    Args:
        pairs: a condition untrained and trained, and others so.
    """
    found: dict[str, pd.Series] = {}
    for untrained, trained in zip(pairs[::2], pairs[1::2], strict=True):
        if untrained.job.train.trained or not trained.job.train.trained:
            raise UnmeasurableError("pairs of untrained and trained conditions are needed")
        nearer = _of_seeds(untrained).abs() - _of_seeds(trained).abs()
        called = named(trained.job.train)
        found |= {f"{called}, {CALLED[name]}": nearer[name] for name in (LARGEST, LEADING)}
    return evidence_by_seed(found)


def exponents_with_heads(*by_heads: ExponentsOf) -> pd.DataFrame:
    """Change of the largest exponent, and of the mean leading one, along ln(H).

    Args:
        by_heads: a condition per H.
    """
    return _change_with_heads(by_heads, LARGEST, LEADING)


def all_exponents_with_heads(*by_heads: ExponentsOf) -> pd.DataFrame:
    """The same of the mean of all exponents that are not null."""
    return _change_with_heads(by_heads, NONNULL)


def _change_with_heads(by_heads: Iterable[ExponentsOf], *names: str) -> pd.DataFrame:
    tables = [
        _of_seeds(each)[name].to_frame("value").assign(
            cell=CALLED[name], heads=each.job.train.model.heads
        )
        for each in by_heads
        for name in names
    ]  # fmt: skip
    return change_along(pd.concat(tables).reset_index(), "heads")


def exponent_with_strength(*by_strength: ExponentsOf) -> pd.DataFrame:
    """Change of the mean leading exponent along ln(lambda).

    Args:
        by_strength: a condition per lambda > 0.
    """
    return _change(by_strength, LEADING)


def all_exponents_with_strength(*by_strength: ExponentsOf) -> pd.DataFrame:
    """The same of the mean of all exponents that are not null."""
    return _change(by_strength, NONNULL)


def _change(by_strength: Iterable[ExponentsOf], name: str) -> pd.DataFrame:
    tables = [
        _of_seeds(each)[name].to_frame("value").assign(
            cell=CALLED[name], strength=each.job.train.penalty.strength
        )
        for each in by_strength
        if each.job.train.penalty
    ]  # fmt: skip
    return change_along(pd.concat(tables).reset_index(), "strength")


def exponent_beside_others(first: ExponentsOf, *others: ExponentsOf) -> pd.DataFrame:
    """Mean leading exponent of the first condition minus that of every other one."""
    own = _of_seeds(first)[LEADING]
    return evidence_by_seed(
        {f"over {named(each.job.train)}": own - _of_seeds(each)[LEADING] for each in others}
    )


def _of_seeds(measured: ExponentsOf) -> pd.DataFrame:
    """Mean over boards of the columns of `CALLED` [seed]."""
    return measured.table.groupby("seed")[[*CALLED]].mean()


def _spearman(first: pd.DataFrame, second: pd.DataFrame) -> pd.Series:
    """Correlation of the ranks of two tables [seed, level] within a seed [seed].

    0 where one of them is the same at all levels, NaN where a value is missing.
    """
    one, other = first.rank(axis=1), second[first.columns].rank(axis=1)
    one, other = (each.sub(each.mean(axis=1), axis=0) for each in (one, other))
    scale = ((one**2).sum(axis=1) * (other**2).sum(axis=1)) ** 0.5
    covariance = (one * other).sum(axis=1)
    is_whole = (one + other).notna().all(axis=1)
    return (covariance / scale.where(scale > 0, 1.0)).where(is_whole)
