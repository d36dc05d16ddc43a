"""Change of features, and the scatter of classes in them (Tables 1, 11 and 12)."""

import pandas as pd

from replication.base.errors import UnmeasurableError
from transformer_dynamics.lp_ft.claims.contrasts import RunMetric, check_equal_rates, trained

OWN_HEADS = {"random": "the random head", "probe": "the probe"}
"""Heads that give a norm or a direction, in names of comparisons."""


def of_heads(features: RunMetric, *, equal_rates: bool) -> pd.DataFrame:
    """Return the runs from heads of any direction and norm, with names of both.

    Directions are those of two methods, each of which may have its own rate, unless equal rates are
    asked for.
    """
    rows = trained(features)
    rows = rows[rows["method"].isin(["ft", "lp_ft"])]
    if equal_rates:
        check_equal_rates(rows)
    directions = {"ft": OWN_HEADS["random"], "lp_ft": OWN_HEADS["probe"]}
    return rows.assign(
        direction=rows["method"].map(directions), norm_of=rows["norm_of"].map(OWN_HEADS)
    )


def above_noise(features: RunMetric) -> pd.DataFrame:
    """Return rows with n > h + C + 1 samples, of which noise has a finite FDR."""
    rows = trained(features)
    kept = rows[rows["noise_floor"].notna()]
    if kept.empty:
        raise UnmeasurableError("no test set has more samples than features have coordinates")
    return kept
