"""Figures 4 and 5: attention along training with SGD and with Adam, at several rates."""

from itertools import combinations

import numpy as np
import pandas as pd

from transformer_dynamics.scan_and_snap.claims.tables import (
    Measured,
    change_with_ratio,
    entropy,
    evidence_rows,
    read_runs,
)
from transformer_dynamics.scan_and_snap.settings.metrics import MetricSettings
from transformer_dynamics.scan_and_snap.theory.sequence_classes import Floats


def change_of_entropy(attention: Measured) -> pd.DataFrame:
    """Return the entropy of c_n after training minus that before, in nats, mean over classes."""
    found = read_runs(attention)
    h = entropy(found.array).mean(axis=-1)
    return evidence_rows(h[:, -1] - h[:, 0], found)


def change_of_common_mass(attention: Measured) -> pd.DataFrame:
    """Return the attention on common tokens after training minus that before, mean over classes."""
    found = read_runs(attention)
    mass = found.array[..., : found.num_common].sum(axis=-1).mean(axis=-1)
    return evidence_rows(mass[:, -1] - mass[:, 0], found)


def lead_of_the_most_frequent(attention: Measured) -> pd.DataFrame:
    """Return attention on the most frequent distinct token minus the largest on another one.

    Relative to the former, mean over classes, after training minus at the start.
    """
    found = read_runs(attention)
    c = found.distinct()
    lead = (1 - c[..., :-1].max(axis=-1) / c[..., -1]).mean(axis=-1)
    return evidence_rows(lead[:, -1] - lead[:, 0], found)


def change_of_updates_to_learn(loss: Measured, metrics: MetricSettings) -> pd.DataFrame:
    """Return the updates until the loss is learnt, at the highest minus the lowest ratio."""
    ordered = loss.table.sort_values("iteration")
    losses = ordered.groupby(["eta_z", "ratio", "seed"])["loss"]
    updates = losses.apply(_first_below, metrics.learnt)
    return change_with_ratio(updates.rename("value").reset_index())


def change_of_entropy_with_ratio(attention: Measured) -> pd.DataFrame:
    """Return the entropy of c_n after training, in nats: highest minus lowest ratio."""
    found = read_runs(attention)
    h = entropy(found.array[:, -1]).mean(axis=-1)
    return change_with_ratio(evidence_rows(h, found))


def distance_between_rates(attention: Measured) -> pd.DataFrame:
    """Return by how much further two rates part attention on distinct tokens than two seeds do.

    Total variation distance, after training and mean over classes, between a seed's attention at
    two rates minus that between seeds at the same rates, as the seed's jackknife pseudo-value.
    """
    found = read_runs(attention)
    c = found.distinct()[:, -1]
    c = c / c.sum(axis=-1, keepdims=True)
    between_seeds = _pseudo_values(_distance(c[:, None], c[None]))
    tables = []
    rates = found.cells["eta_z"].tolist()
    for i, j in combinations(range(len(rates)), 2):
        excess = _distance(c[:, i], c[:, j]) - between_seeds[:, [i, j]].mean(axis=1)
        cell = f"rates {rates[i]:g} and {rates[j]:g}"
        tables.append(pd.DataFrame({"cell": cell, "seed": found.seeds, "value": excess}))
    return pd.concat(tables, ignore_index=True)


def change_of_entropy_on_distinct(attention: Measured) -> pd.DataFrame:
    """Return the entropy of c_n on distinct tokens after training minus that before, in nats."""
    found = read_runs(attention)
    h = entropy(found.distinct()).mean(axis=-1)
    return evidence_rows(h[:, -1] - h[:, 0], found, {"eta_z": "rate"})


def _first_below(loss: pd.Series, factor: float) -> int:
    below = np.flatnonzero(loss.to_numpy() < loss.iloc[0] / factor)
    return int(below[0]) if len(below) else len(loss)


def _pseudo_values(distances: Floats) -> Floats:
    """Return [seed, ...] n U - (n - 1) U_-s, where U is the mean of [seed, seed, ...] distances.

    Pairs share seeds: means over the pairs of a seed would spread half as much as U does. Two
    seeds have one pair, which is the value of both.
    """
    n = len(distances)
    means = distances.sum(axis=1) / (n - 1)
    pseudo = (2 * (n - 1) * means - n * means.mean(axis=0)) / (n - 2) if n > 2 else means
    return np.asarray(pseudo)


def _distance(first: Floats, second: Floats) -> Floats:
    """Return the total variation distance, mean over classes."""
    return np.asarray(np.abs(first - second).sum(axis=-1).mean(axis=-1) / 2)
