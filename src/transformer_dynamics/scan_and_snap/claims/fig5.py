"""Figure 5: attention along training with Adam at several rates."""

from itertools import combinations

import numpy as np
import pandas as pd

from transformer_dynamics.scan_and_snap.claims.arrays import (
    Floats,
    Measured,
    entropy,
    evidence,
    labelled,
    runs,
)


def distance_between_rates(attention: Measured) -> pd.DataFrame:
    """How much further two rates part the attention on distinct tokens than two seeds do.

    Total variation distance, after training and mean over classes, between a seed's attention at
    two rates minus that between seeds at the same rates, as the seed's jackknife pseudo-value.
    """
    found = runs(attention)
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
    """Entropy of c_n on distinct tokens after training minus that before, in nats."""
    found = runs(attention)
    h = entropy(found.distinct()).mean(axis=-1)
    table = evidence(h[:, -1] - h[:, 0], found.seeds, found.cells)
    return labelled(table, eta_z="rate")


def _pseudo_values(distances: Floats) -> Floats:
    """[seed, ...] n U - (n - 1) U_-s, where U is the mean of [seed, seed, ...] distances.

    Pairs share seeds: means over the pairs of a seed would spread half as much as U does. Two
    seeds have one pair, which is the value of both.
    """
    n = len(distances)
    means = distances.sum(axis=1) / (n - 1)
    pseudo = (2 * (n - 1) * means - n * means.mean(axis=0)) / (n - 2) if n > 2 else means
    return np.asarray(pseudo)


def _distance(first: Floats, second: Floats) -> Floats:
    """Total variation distance, mean over classes."""
    return np.asarray(np.abs(first - second).sum(axis=-1).mean(axis=-1) / 2)
