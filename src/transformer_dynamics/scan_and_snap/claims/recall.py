"""Figures 11 and 12: how fast the recall of distinct tokens falls with the threshold."""

import pandas as pd

from replication.study.contrasts import change_along
from transformer_dynamics.scan_and_snap.claims.arrays import Measured, after_training, labelled


def descent_against_ratio(recall: Measured) -> pd.DataFrame:
    """Change of the recall's fall from the first to the last threshold along the ratio."""
    table = labelled(_descent(recall), num_last="num_last", eta_z="eta_Z")
    return change_along(table, "ratio")


def descent_against_eta_z(recall: Measured) -> pd.DataFrame:
    """Change of the recall's fall from the first to the last threshold along eta_Z."""
    table = labelled(_descent(recall), num_last="num_last", ratio="eta_Y/eta_Z")
    return change_along(table, "eta_z")


def _descent(recall: Measured) -> pd.DataFrame:
    table = after_training(recall)
    keys = ["num_last", "eta_z", "ratio", "seed"]
    ordered = table.sort_values("threshold").groupby(keys)["recall"]
    descent: pd.Series = ordered.first() - ordered.last()
    return descent.rename("value").reset_index()
