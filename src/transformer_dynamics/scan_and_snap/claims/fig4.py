"""Figure 4: attention along training with SGD, at a small and a large rate of the decoder."""

import numpy as np
import pandas as pd

from transformer_dynamics.scan_and_snap.claims.arrays import (
    Measured,
    by_ratio,
    change_with_ratio,
    entropy,
    evidence,
    runs,
)
from transformer_dynamics.scan_and_snap.measure_settings import Measures


def change_of_entropy(attention: Measured) -> pd.DataFrame:
    """Entropy of c_n after training minus that before, in nats, mean over classes."""
    found = runs(attention)
    h = entropy(found.array).mean(axis=-1)
    return by_ratio(h[:, -1] - h[:, 0], found)


def change_of_common_mass(attention: Measured) -> pd.DataFrame:
    """Attention on common tokens after training minus that before, mean over classes."""
    found = runs(attention)
    mass = found.array[..., : found.num_common].sum(axis=-1).mean(axis=-1)
    return by_ratio(mass[:, -1] - mass[:, 0], found)


def lead_of_the_most_frequent(attention: Measured) -> pd.DataFrame:
    """Attention on the most frequent distinct token minus the largest on any other distinct one.

    Relative to the former, mean over classes, after training minus at the start.
    """
    found = runs(attention)
    c = found.distinct()
    lead = (1 - c[..., :-1].max(axis=-1) / c[..., -1]).mean(axis=-1)
    return by_ratio(lead[:, -1] - lead[:, 0], found)


def change_of_updates_to_learn(loss: Measured, measures: Measures) -> pd.DataFrame:
    """Updates until the loss is below its start over `learnt`: highest minus lowest ratio."""
    ordered = loss.table.sort_values("iteration")
    losses = ordered.groupby(["eta_z", "ratio", "seed"])["loss"]
    updates = losses.apply(_first_below, measures.learnt)
    return change_with_ratio(updates.rename("value").reset_index())


def change_of_entropy_with_ratio(attention: Measured) -> pd.DataFrame:
    """Entropy of c_n after training, in nats, mean over classes: highest minus lowest ratio."""
    found = runs(attention)
    h = entropy(found.array[:, -1]).mean(axis=-1)
    return change_with_ratio(evidence(h, found.seeds, found.cells))


def _first_below(loss: pd.Series, factor: float) -> int:
    below = np.flatnonzero(loss.to_numpy() < loss.iloc[0] / factor)
    return int(below[0]) if len(below) else len(loss)
