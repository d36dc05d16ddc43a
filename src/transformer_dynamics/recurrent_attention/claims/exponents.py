"""Figures 2a, 3, S.1 and S.5: exponents of trained models, and what solves boards."""

from collections.abc import Sequence
from math import floor, inf, log
from typing import Any

import numpy as np
import pandas as pd

from replication.base.errors import OutOfRegimeError, UnmeasurableError
from replication.study.contract import Measured
from transformer_dynamics.recurrent_attention.measure_settings import (
    Accuracy,
    Exponents,
    Linear,
    MeasureJob,
    Perturbed,
    Regimes,
    Trajectories,
)

PerturbedOf = Measured[MeasureJob[Perturbed]]
ExponentsOf = Measured[MeasureJob[Exponents]]
AccuracyOf = Measured[MeasureJob[Accuracy]]
TrajectoriesOf = Measured[MeasureJob[Trajectories]]

LEVEL_FROM = 0.1
"""Least eta from which on Figure 2a is level with normalisation."""
INFINITE_FROM = 0.5
"""Least eta from which on Figure 2a has no number without normalisation."""
SMALL_UP_TO = 0.05
"""Largest eta of a small step, which is nearly the identity without normalisation."""
NEAR_ZERO = 0.35
"""|exponent| of Figure 3's models that solve boards."""
HARDLY_ANY = 0.05
"""Share of boards below which a model solves none to speak of."""
NINE_IN_TEN = 0.9
"""Share of accurate models that are looked at: one in ten may be there by chance."""
OUT, IN = "out of distribution", "in distribution"
"""Splits of accuracy."""
FEWEST = 10
"""Steps that a slope needs."""
FEWEST_SEEDS = 5
"""Seeds that must be in the regime of a claim for it to be tested."""
WITHOUT = "ItrSA w/o normalization"
"""What its cell is called."""
CALLED = {"itrsa": "ItrSA", "akorn": "AKOrN", "symmetric": "symmetric SA"}
"""Kinds of models in names of cells."""


def range_with_normalisation(normalised: PerturbedOf) -> pd.DataFrame:
    """Greatest minus least largest exponent of a seed over eta from `LEVEL_FROM` on."""
    rows = _of_eta(normalised, least=LEVEL_FROM)
    spans = rows.groupby("seed")["exponent"].agg(lambda found: found.max() - found.min())
    return _cell(_called(normalised), spans)


def excess_without_normalisation(
    normalised: PerturbedOf, unnormalised: PerturbedOf
) -> pd.DataFrame:
    """Largest exponent without normalisation minus that with it, at eta from `INFINITE_FROM` on.

    Tokens that float64 cannot hold count with ln(1.8e308)/T, the exponent of its largest number.
    """
    return _excess(
        _of_eta(unnormalised, least=INFINITE_FROM), _of_eta(normalised, least=INFINITE_FROM)
    )


def excess_with_normalisation(normalised: PerturbedOf, unnormalised: PerturbedOf) -> pd.DataFrame:
    """Largest exponent with normalisation minus that without, at eta up to `SMALL_UP_TO`."""
    return _excess(_of_eta(normalised, most=SMALL_UP_TO), _of_eta(unnormalised, most=SMALL_UP_TO))


def _excess(ours: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """Exponent of the first model minus that of the second, by eta."""
    both = ours.merge(theirs, on=["seed", "value"], suffixes=("", "_of_other"))
    both["difference"] = both["exponent"] - both["exponent_of_other"]
    return pd.concat(
        [
            _cell(f"eta {eta:g}", rows.set_index("seed")["difference"])
            for eta, rows in both.groupby("value")
        ],
        ignore_index=True,
    )


def exponents(*trained: ExponentsOf) -> pd.DataFrame:
    """Largest exponent, and mean of the leading ones, of every model: means over boards."""
    return pd.concat(
        [
            _cell(f"{_called(each)}, {name}", _mean(each, column))
            for each in trained
            for name, column in (("largest", "max"), ("leading", "leading"))
        ],
        ignore_index=True,
    )


def largest(*trained: ExponentsOf) -> pd.DataFrame:
    """Largest exponent of every model, mean over boards."""
    return pd.concat(
        [_cell(_called(each), _mean(each, "max")) for each in trained], ignore_index=True
    )


def symmetric_beside_others(symmetric: ExponentsOf, *others: ExponentsOf) -> pd.DataFrame:
    """Largest exponent of symmetric SA minus that of each other model, by seed."""
    own = _mean(symmetric, "max")
    return pd.concat(
        [_cell(_called(each), own - _mean(each, "max")) for each in others],
        ignore_index=True,
    )


def of_accurate(*changed: PerturbedOf) -> pd.DataFrame:
    """What nine in ten |exponents| of models above half of the best accuracy are no larger than.

    All changes of all models of a seed are taken together. Tokens that float64 cannot hold count
    with the exponent of its largest number.
    """
    rows = pd.concat([each.table for each in changed], ignore_index=True)
    best = rows.groupby("seed")["accuracy"].transform("max")
    if (best == 0).any():
        raise UnmeasurableError("a seed has no model that solves a board, so none is accurate")
    accurate = rows[rows["accuracy"] > best / 2]
    found = []
    for name, column in (("largest", "max"), ("leading", "leading")):
        sizes = accurate[column].abs().where(accurate["finite"], _most(changed[0]))
        found.append(_cell(name, sizes.groupby(accurate["seed"]).quantile(NINE_IN_TEN)))
    return pd.concat(found, ignore_index=True)


def idle_near_zero(*changed: PerturbedOf) -> pd.DataFrame:
    """Share of models with an exponent near zero that solve hardly any board.

    All changes of all models of a seed are taken together: of those whose |exponent| is at most
    `NEAR_ZERO`, the share whose accuracy is below `HARDLY_ANY`.

    Raises:
        UnmeasurableError: if a seed has no such model.
    """
    rows = pd.concat([each.table for each in changed], ignore_index=True)
    found = []
    for name, column in (("largest", "max"), ("leading", "leading")):
        near = rows[rows["finite"] & (rows[column].abs() <= NEAR_ZERO)]
        if {*near["seed"]} != {*rows["seed"]}:
            raise UnmeasurableError(f"a seed has no model whose {name} exponent is near zero")
        is_idle = (near["accuracy"] < HARDLY_ANY).astype(np.float64)
        found.append(_cell(name, is_idle.groupby(near["seed"]).mean()))
    return pd.concat(found, ignore_index=True)


def lead_near_zero(*changed: PerturbedOf) -> pd.DataFrame:
    """Mean accuracy of models with an exponent near zero minus that of all others, by seed.

    All changes of all models of a seed are taken together; near is |exponent| <= `NEAR_ZERO`, and
    what float64 cannot hold is not near.

    Raises:
        UnmeasurableError: if a seed has models of one kind only.
    """
    rows = pd.concat([each.table for each in changed], ignore_index=True)
    found = []
    for name, column in (("largest", "max"), ("leading", "leading")):
        is_near = rows["finite"] & (rows[column].abs() <= NEAR_ZERO)
        means = rows.groupby(["seed", is_near.rename("near")])["accuracy"].mean().unstack()
        if {*means.columns} != {True, False} or means.isna().to_numpy().any():
            raise UnmeasurableError(f"a seed has no models both near zero and not ({name})")
        found.append(_cell(name, means[True] - means[False]))
    return pd.concat(found, ignore_index=True)


def order_of_means(*changed: PerturbedOf) -> pd.DataFrame:
    """Share of pairs of models that the largest exponent and the mean leading one order alike.

    All changes of all models of a seed are taken together, but those that float64 cannot hold.
    """
    return _order(changed, "leading")


def order_of_all_means(*changed: PerturbedOf) -> pd.DataFrame:
    """The same with the mean of all exponents that are not null."""
    return _order(changed, "nonnull")


def _order(changed: Sequence[PerturbedOf], column: str) -> pd.DataFrame:
    rows = pd.concat([each.table for each in changed], ignore_index=True)
    rows = rows[rows["finite"]]
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
    return _cell("pairs of models", pd.Series(shares, dtype=np.float64))


def gap_of_symmetric(symmetric: AccuracyOf, *others: AccuracyOf) -> pd.DataFrame:
    """Accuracy of each other model minus that of symmetric SA, by seed."""
    low = _solved(symmetric, OUT, 2)
    return pd.concat(
        [_cell(_called(each), _solved(each, OUT, 2) - low) for each in others],
        ignore_index=True,
    )


def growth(trajectories: TrajectoriesOf, trained: ExponentsOf, *, regimes: Regimes) -> pd.DataFrame:
    """Slope of ln distance over steps in the linear regime, where the largest exponent is positive.

    It is that of finite time, the mean over boards; other seeds do not count.

    Raises:
        OutOfRegimeError: if fewer than `FEWEST_SEEDS` count.
    """
    found = slopes(trajectories, regimes.linear)
    positive = found[_mean(trained, "max").reindex(found.index) > 0]
    if len(positive) < FEWEST_SEEDS:
        raise OutOfRegimeError(
            f"the largest exponent of {CALLED[_kind(trained)]} is positive in {len(positive)} of"
            f" {len(found)} seeds only"
        )
    return _cell("slope", positive)


def growth_beside_exponent(
    trajectories: TrajectoriesOf, trained: ExponentsOf, *, regimes: Regimes
) -> pd.DataFrame:
    """Slope of ln distance over the exponent of a long time, minus 1, of every seed."""
    long = trained.table.dropna(subset="long").set_index("seed")["long"]
    return _cell("slope", slopes(trajectories, regimes.linear) / long - 1)


def slopes(trajectories: TrajectoriesOf, linear: Linear) -> "pd.Series[float]":
    """Slope of ln distance by least squares while the smallest perturbation is in its regime.

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
    how = trajectories.job.how
    rows = trajectories.table.query("kind == 'small'")
    found = {}
    for seed, each in rows[rows["t"] <= how.linear].sort_values("t").groupby("seed"):
        is_linear = each["distance"].between(linear.least, linear.most).cummin()
        kept = each[is_linear]
        kept = kept.iloc[floor(linear.skipped * len(kept)) :]
        if len(kept) < FEWEST:
            raise UnmeasurableError(
                f"seed {seed} leaves the linear regime within {FEWEST} steps: no slope"
            )
        found[seed] = float(np.polyfit(kept["t"], np.log(kept["distance"]), 1)[0])
    return pd.Series(found, dtype=np.float64)


def without_normalisation(unnormalised: AccuracyOf) -> pd.DataFrame:
    """Accuracy out of distribution after twice the loops of training, without normalisation."""
    return _cell(WITHOUT, _solved(unnormalised, OUT, 2))


def without_normalisation_as_trained(unnormalised: AccuracyOf) -> pd.DataFrame:
    """Accuracy in distribution after as many loops as in training, without normalisation."""
    return _cell(WITHOUT, _solved(unnormalised, IN, 1))


def _called(measured: Measured[MeasureJob[Any]]) -> str:
    """`AKOrN, N=4`, by the kind of the model and its N."""
    return f"{CALLED[_kind(measured)]}, N={measured.job.train.model.block}"


def _kind(measured: Measured[MeasureJob[Any]]) -> str:
    return measured.job.train.model.kind


def _cell(name: str, values: "pd.Series[float]") -> pd.DataFrame:
    return pd.DataFrame({"cell": name, "seed": values.index, "value": values.to_numpy(np.float64)})


def _mean(trained: ExponentsOf, column: str) -> "pd.Series[float]":
    """Of every seed the mean over boards, NaN if one of them has none."""
    return trained.table.groupby("seed")[column].agg(lambda found: found.mean(skipna=False))


def _of_eta(changed: PerturbedOf, least: float = 0.0, most: float = inf) -> pd.DataFrame:
    """Seed, value and exponent at every eta from the least to the most."""
    rows = changed.table.query("quantity == 'eta' and @least <= value <= @most")
    if rows.empty:
        raise UnmeasurableError(f"no eta from {least:g} to {most:g} was tried")
    exponent = rows["max"].where(rows["finite"], _most(changed))
    return rows.assign(exponent=exponent)[["seed", "value", "exponent"]]


def _most(changed: PerturbedOf) -> float:
    """ln(1.8e308)/T, the exponent of a product as large as the largest number of float64."""
    return log(np.finfo(np.float64).max) / changed.job.how.loops


def _solved(measured: AccuracyOf, split: str, times: int) -> "pd.Series[float]":
    """Accuracy of every seed after `times` as many loops as in training."""
    loops = times * measured.job.train.training.loops
    rows = measured.table
    rows = rows[(rows["split"] == split) & (rows["loops"] == loops)]
    if rows.empty:
        raise UnmeasurableError(f"accuracy was not measured after {loops} loops")
    return rows.set_index("seed")["solved"]
