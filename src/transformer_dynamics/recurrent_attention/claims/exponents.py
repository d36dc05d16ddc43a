"""Figures 2a, 3, S.1 and S.5: exponents of trained models, and what solves boards."""

from collections.abc import Sequence
from math import floor, inf, log

import numpy as np
import pandas as pd

from replication.base.errors import OutOfRegimeError, UnmeasurableError
from replication.study.contract import Measured
from replication.study.evidence import seed_rows
from transformer_dynamics.recurrent_attention.claims.seed_values import (
    MODEL_NAMES,
    AccuracyOf,
    ExponentsOf,
    accuracy_after,
    in_pairs,
    model_name,
    trained_loops,
)
from transformer_dynamics.recurrent_attention.settings.metrics import (
    LinearRegime,
    MetricJob,
    Perturbed,
    Regimes,
    Trajectories,
)

PerturbedOf = Measured[MetricJob[Perturbed]]
TrajectoriesOf = Measured[MetricJob[Trajectories]]

LEVEL_FROM = 0.1
"""Least eta from which on Figure 2a is level with normalisation."""
INFINITE_FROM = 0.5
"""Least eta from which on Figure 2a has no number without normalisation."""
NINE_IN_TEN = 0.9
"""Share of accurate models that counts: one in ten may be accurate by chance."""
FEWEST_STEPS = 10
"""Fewest steps of a slope."""
FEWEST_SEEDS = 5
"""Fewest seeds in the regime of a claim with which it is tested."""
MEANS = {"largest": "max", "leading": "leading"}
"""Columns of exponents by their name in those of comparisons."""


def range_with_normalisation(normalised: PerturbedOf) -> pd.DataFrame:
    """Return the range of the largest exponent over eta from `LEVEL_FROM` on."""
    rows = _exponents_by_eta(normalised, LEVEL_FROM)
    spans = rows.groupby("seed")["exponent"].agg(lambda found: found.max() - found.min())
    return seed_rows([(model_name(normalised), spans)])


def excess_without_normalisation(*pairs: PerturbedOf) -> pd.DataFrame:
    """Return the largest exponent without normalisation minus that with it, at large eta.

    Large is eta from `INFINITE_FROM` on. Tokens that float64 cannot hold count with ln(1.8e308)/T,
    the exponent of its largest number.

    Args:
        pairs: a condition with normalisation and one without, and others so.
    """
    by_eta = [
        [_exponents_by_eta(each, INFINITE_FROM).set_index(["value", "seed"]) for each in pair]
        for pair in in_pairs(pairs)
    ]
    found = pd.concat(bare["exponent"] - normalised["exponent"] for normalised, bare in by_eta)
    return seed_rows((f"eta {eta:g}", own.droplevel(0)) for eta, own in found.groupby("value"))


def exponents(*trained: ExponentsOf) -> pd.DataFrame:
    """Return the largest exponent, and the mean of the leading ones: means over boards."""
    return seed_rows(
        (f"{model_name(each)}, {name}", _board_means(each, column))
        for each in trained
        for name, column in MEANS.items()
    )


def largest(*trained: ExponentsOf) -> pd.DataFrame:
    """Return the largest exponent of models, mean over boards, as `largest`."""
    found = [
        _board_means(each, "max").rename("largest").reset_index().assign(model=model_name(each))
        for each in trained
    ]
    return pd.concat(found, ignore_index=True)


def exponents_of_accurate(*changed: PerturbedOf) -> pd.DataFrame:
    """Return the bound that nine in ten |exponents| of accurate models do not exceed.

    Accurate are models above half of the best accuracy. All changes of all models of a seed are
    taken together. Tokens that float64 cannot hold count with the exponent of its largest number.
    """
    rows = _join_tables(changed)
    accurate = rows[_is_accurate(rows)]
    found, highest = [], _largest_float_exponent(changed[0])
    for name, column in MEANS.items():
        sizes = accurate[column].abs().where(accurate["finite"], highest)
        found.append((name, sizes.groupby(accurate["seed"]).quantile(NINE_IN_TEN)))
    return seed_rows(found)


def indication_of_accuracy(*changed: PerturbedOf) -> pd.DataFrame:
    """Return how well a small |exponent| indicates accurate models: the area under its ROC curve.

    That is the share of pairs of an accurate model and another one of a seed in which the accurate
    one is nearer to zero; equal ones count half. Accurate are models above half of the seed's best
    accuracy. Tokens that float64 cannot hold are farthest from zero.

    Raises:
        UnmeasurableError: if a seed has models of one kind only.
    """
    rows = _join_tables(changed)
    is_accurate, found = _is_accurate(rows), []
    counts = is_accurate.groupby(rows["seed"]).agg(["sum", "size"])
    others = counts["size"] - counts["sum"]
    if (others == 0).any():
        raise UnmeasurableError("a seed has no model that is not accurate")
    for name, column in MEANS.items():
        ranks = rows[column].abs().where(rows["finite"], inf).groupby(rows["seed"]).rank()
        total = ranks.where(is_accurate, 0).groupby(rows["seed"]).sum()
        farther = total - counts["sum"] * (counts["sum"] + 1) / 2
        found.append((name, 1 - farther / (counts["sum"] * others)))
    return seed_rows(found)


def order_of_means(*changed: PerturbedOf) -> pd.DataFrame:
    """Return the share of pairs that the largest and the mean leading exponent order alike.

    All changes of all models of a seed are taken together, but those that float64 cannot hold.
    """
    return _share_of_order(changed, "leading")


def order_of_all_means(*changed: PerturbedOf) -> pd.DataFrame:
    """Return the share of pairs that the largest and the mean non-null exponent order alike."""
    return _share_of_order(changed, "nonnull")


def _share_of_order(changed: Sequence[PerturbedOf], column: str) -> pd.DataFrame:
    rows = _join_tables(changed)
    rows = rows[rows["finite"] & rows[column].notna()]
    shares = {}
    for seed, own in rows.groupby("seed"):
        if len(own) < 2:
            raise UnmeasurableError(f"seed {seed} has no two models to compare")
        above = np.triu_indices(len(own), 1)
        # Not by differences, as two exponents may both be minus infinity.
        first, second = (
            [compare.outer(each, each)[above] for compare in (np.less, np.greater)]
            for each in (own["max"].to_numpy(), own[column].to_numpy())
        )
        shares[seed] = float(np.equal(first, second).all(axis=0).mean())
    return seed_rows([("pairs of models", pd.Series(shares, dtype=np.float64))])


def growth(trajectories: TrajectoriesOf, trained: ExponentsOf, *, regimes: Regimes) -> pd.DataFrame:
    """Return the slope of ln distance over steps, where the largest exponent is positive.

    The exponent is that of finite time, the mean over boards; other seeds do not count.

    Raises:
        OutOfRegimeError: if fewer than `FEWEST_SEEDS` count.
    """
    found = slopes(trajectories, regimes.linear)
    positive = found[_board_means(trained, "max").reindex(found.index) > 0]
    if len(positive) < FEWEST_SEEDS:
        name = MODEL_NAMES[trained.job.train.model.kind]
        raise OutOfRegimeError(
            f"the largest exponent of {name} is positive in {len(positive)} of {len(found)} seeds"
            " only"
        )
    return seed_rows([("slope", positive)])


def growth_beside_exponent(
    trajectories: TrajectoriesOf, trained: ExponentsOf, *, regimes: Regimes
) -> pd.DataFrame:
    """Return the slope of ln distance over the exponent of a long time, minus 1, by seed."""
    long = trained.table.dropna(subset="long").set_index("seed")["long"]
    return seed_rows([("slope", slopes(trajectories, regimes.linear) / long - 1)])


def slopes(trajectories: TrajectoriesOf, linear: LinearRegime) -> "pd.Series[float]":
    """Return the slope of ln distance while the smallest perturbation is in its regime.

    The regime ends with the first distance beyond; its first steps are left out, in which the
    perturbation turns to where it grows most.

    Args:
        trajectories: with the smallest perturbation.
        linear: the regime.

    Returns:
        By seed, per step.

    Raises:
        UnmeasurableError: if a seed has too few steps for a slope.
    """
    rows = trajectories.table.query("kind == 'small'")
    found = {}
    rows = rows[rows["t"] <= trajectories.job.settings.linear].sort_values("t")
    for seed, each in rows.groupby("seed"):
        is_linear = each["distance"].between(linear.least, linear.most).cummin()
        kept = each[is_linear]
        kept = kept.iloc[floor(linear.skipped * len(kept)) :]
        if len(kept) < FEWEST_STEPS:
            raise UnmeasurableError(
                f"seed {seed} leaves the linear regime within {FEWEST_STEPS} steps: no slope"
            )
        found[seed] = float(np.polyfit(kept["t"], np.log(kept["distance"]), 1)[0])
    return pd.Series(found, dtype=np.float64)


def _join_tables(changed: Sequence[PerturbedOf]) -> pd.DataFrame:
    return pd.concat([each.table for each in changed], ignore_index=True)


def _is_accurate(rows: pd.DataFrame) -> "pd.Series[bool]":
    """Return whether a model is above half of the best accuracy of its seed."""
    best = rows.groupby("seed")["accuracy"].transform("max")
    if (best == 0).any():
        raise UnmeasurableError("a seed has no model that solves a board, so none is accurate")
    return rows["accuracy"] > best / 2


def _board_means(trained: ExponentsOf, column: str) -> "pd.Series[float]":
    """Return the mean over boards [seed], NaN if one of them has none."""
    return trained.table.groupby("seed")[column].agg(lambda found: found.mean(skipna=False))


def _exponents_by_eta(changed: PerturbedOf, least: float) -> pd.DataFrame:
    """Return the seed, value and exponent at every eta from the least on."""
    rows = changed.table.query("quantity == 'eta' and value >= @least")
    if rows.empty:
        raise UnmeasurableError(f"no eta from {least:g} on was tried")
    exponent = rows["max"].where(rows["finite"], _largest_float_exponent(changed))
    return rows.assign(exponent=exponent)[["seed", "value", "exponent"]]


def _largest_float_exponent(changed: PerturbedOf) -> float:
    """Return ln(1.8e308)/T, the exponent of the largest number of float64."""
    return log(np.finfo(np.float64).max) / changed.job.settings.loops


def gap_of_symmetric(symmetric: AccuracyOf, *others: AccuracyOf) -> pd.DataFrame:
    """Return the accuracy of each other model minus that of symmetric SA, by seed."""
    low = accuracy_after(symmetric, 2 * trained_loops(symmetric))
    return seed_rows(
        (model_name(each), accuracy_after(each, 2 * trained_loops(each)) - low) for each in others
    )
