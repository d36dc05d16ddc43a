"""Figures 11 and 12: how fast the recall of distinct tokens falls with the threshold."""

import pandas as pd

from transformer_dynamics.scan_and_snap.claims.arrays import Measured, after_training, labelled


def descent_against_ratio(recall: Measured) -> pd.DataFrame:
    """Fall of the recall from the first to the last threshold against the ratio of the rates."""
    table = labelled(_descent(recall), num_last="num_last", eta_z="eta_Z")
    return table.rename(columns={"ratio": "level"})


def descent_against_eta_z(recall: Measured) -> pd.DataFrame:
    """Fall of the recall from the first to the last threshold against eta_Z."""
    table = labelled(_descent(recall), num_last="num_last", ratio="eta_Y/eta_Z")
    return table.rename(columns={"eta_z": "level"})


def _descent(recall: Measured) -> pd.DataFrame:
    table = after_training(recall)
    keys = ["num_last", "eta_z", "ratio", "seed"]
    ordered = table.sort_values("threshold").groupby(keys)["recall"]
    # Recall is a fraction; equal falls must not be told apart by their last bit.
    descent: pd.Series = (ordered.first() - ordered.last()).round(9)
    return descent.rename("value").reset_index()
