"""Mean exponents beside accuracy: over the number of heads, and over the strength of R_E."""

from typing import Any

import numpy as np
import pandas as pd

from replication import study
from replication.cases import Cases
from replication.cases import evidence as computed
from replication.contrasts import change_along
from replication.errors import UnmeasurableError
from transformer_dynamics.recurrent_attention.claims.contrasts import (
    ExponentsOf,
    evidence,
    final,
    named,
)
from transformer_dynamics.recurrent_attention.measure_settings import Accuracy

MEANS = {"leading": "mean of the leading exponents", "nonnull": "mean of all non-null exponents"}
"""Columns of the metric `exponents`: the paper does not say over which it takes the mean."""


def correlation_over_heads(*measured: study.Measured[Any]) -> pd.DataFrame:
    """Spearman's correlation over H of the mean exponent and the final accuracy, one per seed.

    The accuracy is that out of distribution. A seed whose accuracy is the same at every H shows no
    association: 0.

    Args:
        measured: `accuracy` and `exponents` of the same conditions, one per H.
    """
    accuracies, exponents = {}, {}
    for each in measured:
        heads = each.job.train.model.heads
        if isinstance(each.job.how, Accuracy):
            accuracies[heads] = final(each)
        else:
            exponents[heads] = _of_seeds(each)
    if accuracies.keys() != exponents.keys() or len(accuracies) < 3:
        raise UnmeasurableError("accuracy and exponents of the same three or more H are needed")
    accuracy = pd.DataFrame(accuracies)
    return evidence(
        {
            cell: _spearman(
                accuracy, pd.DataFrame({heads: each[name] for heads, each in exponents.items()})
            )
            for name, cell in MEANS.items()
        }
    )


def exponent_with_strength(*by_strength: ExponentsOf) -> pd.DataFrame:
    """Change of the mean exponent along ln(lambda).

    Args:
        by_strength: a condition per lambda > 0.
    """
    tables = [
        _of_seeds(each)[name].to_frame("value").assign(
            cell=cell, strength=each.job.train.penalty.strength
        )
        for name, cell in MEANS.items()
        for each in by_strength
        if each.job.train.penalty
    ]  # fmt: skip
    return change_along(pd.concat(tables).reset_index(), "strength")


def exponent_beside_others(first: ExponentsOf, *others: ExponentsOf) -> pd.DataFrame:
    """Mean exponent of the first condition minus that of every other one."""
    own = _of_seeds(first)
    return evidence(
        {
            f"{cell}, over {named(each.job.train)}": own[name] - _of_seeds(each)[name]
            for name, cell in MEANS.items()
            for each in others
        }
    )


@computed
def correlation_as_plotted(points: pd.DataFrame) -> Cases:
    """Exact one-sided p of Spearman's correlation over H, of the points of v1's Figure S.1.

    All orders of one quantity are as likely as any if it has nothing to do with the other.
    """
    for name in ("mean_exponent", "max_exponent"):
        yield f"{name.replace('_', ' ')} and accuracy", _permutation_p(points, name, "accuracy")


def _permutation_p(points: pd.DataFrame, first: str, second: str) -> float:
    from itertools import permutations

    one, other = (points[name].rank().to_numpy() for name in (first, second))
    products = np.array([one @ np.array(order) for order in permutations(other)])
    return float((products >= one @ other - 1e-9).mean())


def _of_seeds(measured: ExponentsOf) -> pd.DataFrame:
    """Mean over boards of the columns of `MEANS` [seed]."""
    return measured.table.groupby("seed")[[*MEANS]].mean()


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
