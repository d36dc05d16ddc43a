"""Sections 4 to 6: training without momentum and from zero, against the theory."""

from typing import Literal

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from replication.errors import InputError
from transformer_dynamics.scan_and_snap.claims.arrays import (
    Floats,
    Measured,
    Runs,
    by_ratio,
    evidence,
    labelled,
    runs,
)
from transformer_dynamics.scan_and_snap.theory.decoder import snapping_start
from transformer_dynamics.scan_and_snap.turning import turn

LARGEST_ERROR = 0.2
"""Error up to which the loss stands for it."""


def time_to_an_error(loss: Measured) -> pd.DataFrame:
    """Updates until the loss is down to eps, in units of the bound K ln(M/eps)/(eps eta_Y).

    The largest over all updates at which eps, the mean loss of ten updates, is at most
    `LARGEST_ERROR`; at the end of training if it never is. Below it the loss -ln alpha_n is about
    the error |x_{T+1} - alpha_n| of Corollary 1.
    """
    (mixture,) = loss.job.mixtures.values()
    rows = []
    for eta_z, ratio in loss.job.training.cells:
        cell = loss.table[(loss.table["eta_z"] == eta_z) & (loss.table["ratio"] == ratio)]
        for seed, run in cell.sort_values("iteration").groupby("seed"):
            smooth = run.set_index("iteration")["loss"].rolling(10).mean()
            eps = smooth[smooth <= LARGEST_ERROR] if smooth.min() <= LARGEST_ERROR else smooth[-1:]
            steps = np.log(mixture.vocabulary_size / eps) * mixture.num_classes
            bound = steps / (eta_z * ratio * eps)
            rows.append({"ratio": ratio, "seed": seed, "value": (eps.index / bound).max()})
    return labelled(pd.DataFrame(rows), ratio="eta_Y/eta_Z")


def rise_of_distinct_tokens(unnormalised: Measured) -> pd.DataFrame:
    """z_ml of each distinct token after training from zero, mean over classes, lowest ratio."""
    found = runs(unnormalised)
    z = _logits(found)[:, -1, 0, :, found.num_common :].mean(axis=1)
    weights = found.classes.probabilities[0, found.num_common :]
    names = [f"P(l|n) = {weight:.4f}" for weight in weights]
    table = pd.DataFrame(z, index=pd.Index(found.seeds, name="seed"), columns=names)
    return table.reset_index().melt(id_vars="seed", var_name="cell")


def fall_of_common_tokens(unnormalised: Measured) -> pd.DataFrame:
    """Largest z_ml of any common token after training from zero."""
    found = runs(unnormalised)
    z = _logits(found)[:, -1, :, :, : found.num_common]
    return by_ratio(z.max(axis=(-2, -1)), found)


def gain_over_growth(growth: Measured) -> pd.DataFrame:
    """r(t)/(r(0) chi(t)) at the end of training, for the first and the middle distinct token."""
    start, end = _growth(growth, "min"), _growth(growth, "max")
    ratio = end["relative_gain"] / (start["relative_gain"] * end["growth_factor"])
    return labelled(ratio.rename("value").reset_index(), ratio="eta_Y/eta_Z")


def place_between_the_bounds(growth: Measured) -> pd.DataFrame:
    """Where ln chi_l0 ends between the bounds of (12), 0 at the lower and 1 at the upper one."""
    (mixture,) = growth.job.mixtures.values()
    weights = np.array([*mixture.common_weights, *mixture.distinct_weights])
    share = max(mixture.distinct_weights) ** 2 / (weights**2).sum()
    end = _growth(growth, "max")
    relative = np.log(end["growth_factor"]) / (2 * end["exponent"])
    place: pd.Series = (relative - share) / (1 - share)
    return labelled(place.rename("value").reset_index(), ratio="eta_Y/eta_Z")


def growth_of_the_dominant_share(attention: Measured) -> pd.DataFrame:
    """Rank correlation of time and the dominant distinct token's share f_nl0, mean over classes.

    A share that stays the same has correlation 0.
    """
    found = runs(attention)
    f = found.array[..., -1] / np.linalg.norm(found.array, axis=-1)
    ranks = rankdata(f.mean(axis=-1), axis=1)
    ranks -= ranks.mean(axis=1, keepdims=True)
    steps = np.arange(len(found.iterations)) - (len(found.iterations) - 1) / 2
    spread = np.sqrt((ranks**2).sum(axis=1) * (steps**2).sum())
    product = (ranks * steps[:, None]).sum(axis=1)
    return by_ratio(np.divide(product, spread, out=np.zeros_like(spread), where=spread > 0), found)


def remaining_share(attention: Measured) -> pd.DataFrame:
    """What each distinct token keeps of its attention relative to the dominant one's.

    Mean over classes, against the token's rank in P(l|n), the rarest first, without the dominant.
    """
    found = runs(attention)
    relative = found.distinct() / found.distinct()[..., -1:]
    kept = (relative[:, -1] / relative[:, 0]).mean(axis=-2)[..., :-1]
    tables = [
        evidence(kept[..., rank], found.seeds, found.cells).assign(level=rank + 1)
        for rank in range(kept.shape[-1])
    ]
    return labelled(pd.concat(tables, ignore_index=True), ratio="eta_Y/eta_Z")


def speed_past_the_transition(attention: Measured) -> pd.DataFrame:
    """Speed of the attention in the first recorded interval past t_0, in its largest before."""
    found, speed, starts = _speed(attention)
    return by_ratio(speed[:, starts, np.arange(len(starts))], found)


def speed_at_the_end(attention: Measured) -> pd.DataFrame:
    """Speed of the attention at the end of training, in its largest before t_0."""
    found, speed, _ = _speed(attention)
    return by_ratio(speed[:, -1], found)


def largest_share(attention: Measured) -> pd.DataFrame:
    """Largest attention on one token at the end of training, mean over classes."""
    found = runs(attention)
    return by_ratio(found.array[:, -1].max(axis=-1).mean(axis=-1), found)


def common_mass(attention: Measured) -> pd.DataFrame:
    """Attention on common tokens along training, at six evenly spaced records."""
    found = runs(attention)
    mass = found.array[..., : found.num_common].sum(axis=-1).mean(axis=-1)
    tables = [
        evidence(mass[:, step], found.seeds, found.cells).assign(level=found.iterations[step])
        for step in np.unique(np.linspace(0, len(found.iterations) - 1, 6).round().astype(int))
    ]
    return labelled(pd.concat(tables, ignore_index=True), ratio="eta_Y/eta_Z")


def exponent_of_the_turn(growth: Measured) -> pd.DataFrame:
    """Exponent of the time at which dB_n/dt is largest as a power of eta_Y, for every mixture."""
    exponents = growth.table[growth.table["quantity"] == "exponent"]
    turns = exponents.groupby(["mixture", "seed", "eta_z", "ratio"])[["iteration", "growth"]]
    times = turns.apply(turn).rename("turn").reset_index()
    times = times.assign(eta_y=times["eta_z"] * times["ratio"])
    powers: pd.Series = times.groupby(["mixture", "seed"])[["eta_y", "turn"]].apply(
        lambda run: np.polyfit(np.log(run["eta_y"]), np.log(run["turn"]), 1)[0]
    )
    return powers.rename("value").reset_index().rename(columns={"mixture": "cell"})


def lead_of_the_initial_winner(attention: Measured) -> pd.DataFrame:
    """How the lead of the token with the larger initial attention grows, against its P(l|n).

    Of each two distinct tokens that are neighbours in P(l|n) and whose order the random start has
    reversed: ln c_{l|n} of the token that starts ahead minus that of the other one, at the end
    minus at the start. Mean over these pairs of a seed; seeds without such a pair are left out.
    """
    found = runs(attention)
    lead = -np.diff(np.log(found.distinct()), axis=-1)
    start, end = lead[:, 0], lead[:, -1]
    reversed_pairs = start > 0
    number = reversed_pairs.sum((-2, -1))
    growth = np.where(reversed_pairs, end - start, 0).sum((-2, -1)) / np.maximum(number, 1)
    # Every cell of a seed has the same start.
    some = number[:, 0] > 0
    seeds = [seed for seed, has_pairs in zip(found.seeds, some, strict=True) if has_pairs]
    return labelled(evidence(growth[some], seeds, found.cells), ratio="eta_Y/eta_Z")


def _speed(attention: Measured) -> tuple[Runs, Floats, list[int]]:
    """The runs, their speed and the first recorded interval past t_0 of every cell.

    Speed is |c_n(t') - c_n(t)|_1/(t' - t), mean over classes, in its largest before t_0,
    [seed, interval, cell].
    """
    found = runs(attention)
    (mixture,) = attention.job.mixtures.values()
    times = np.array(found.iterations)
    change = np.abs(np.diff(found.array, axis=1)).sum(axis=-1).mean(axis=-1)
    starts = []
    for eta_z, ratio in found.cells.itertuples(index=False):
        start = snapping_start(eta_z * ratio, mixture.vocabulary_size, mixture.num_classes)
        if not times[1] <= start <= times[-2]:
            raise InputError(f"t_0 = {start:.3g} lies outside the recorded updates; record more")
        starts.append(int(np.searchsorted(times, start)))
    speed = change / np.diff(times)[:, None]
    largest = [speed[:, :start, cell].max(axis=1) for cell, start in enumerate(starts)]
    return found, speed / np.stack(largest, axis=1)[:, None], starts


def _logits(found: Runs) -> Floats:
    """z_ml from c~_{l|n} = P(l|n) exp(z_ml) (5)."""
    return np.asarray(np.log(found.array) - np.log(found.classes.probabilities))


def _growth(growth: Measured, update: Literal["min", "max"]) -> pd.DataFrame:
    """At the first or the last recorded update, a row per cell and seed, a column per quantity."""
    table = growth.table[growth.table["iteration"] == growth.table["iteration"].agg(update)]
    found: pd.DataFrame = table.pivot(
        index=["eta_z", "ratio", "seed"], columns="quantity", values="growth"
    )
    return found
