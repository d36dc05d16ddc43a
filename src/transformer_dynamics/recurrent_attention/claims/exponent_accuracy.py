"""Exponents beside accuracy: over the number of heads, and over the strength of R_E."""

import pandas as pd

from replication.base.errors import UnmeasurableError
from replication.study.evidence import evidence_by_seed, seed_rows
from transformer_dynamics.recurrent_attention.claims.seed_values import (
    AccuracyOf,
    ExponentsOf,
    condition_name,
    conditions,
    final_accuracy,
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


def by_heads(*measured: AccuracyOf | ExponentsOf) -> pd.DataFrame:
    """Return final accuracy, and means of exponents over boards, by number of heads and seed.

    Takes `accuracy` and `exponents` of the same conditions, one per H.
    """
    accuracies, exponents = {}, {}
    for each in measured:
        heads = each.job.train.model.heads
        if isinstance(each.job.settings, Accuracy):
            accuracies[heads] = final_accuracy(each)
        else:
            exponents[heads] = _seed_means(each)
    if accuracies.keys() != exponents.keys() or len(accuracies) < 3:
        raise UnmeasurableError("accuracy and exponents of the same three or more H are needed")
    found = [
        exponents[heads].assign(heads=heads, accuracy=values)
        for heads, values in accuracies.items()
    ]
    return pd.concat(found).rename_axis("seed").reset_index()


def by_name(*measured: ExponentsOf) -> pd.DataFrame:
    """Return the exponents of conditions, one below the other, with their names as `exponent`."""
    rows = conditions(*measured)
    others = [column for column in rows if column not in COLUMN_NAMES]
    found = rows.melt(others, [*COLUMN_NAMES], "exponent")
    return found.assign(exponent=found["exponent"].map(COLUMN_NAMES))


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


def _seed_means(measured: ExponentsOf) -> pd.DataFrame:
    """Return the mean over boards of the columns of `COLUMN_NAMES` [seed], NaN if one has none."""
    return measured.table.groupby("seed")[[*COLUMN_NAMES]].mean(skipna=False)


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
