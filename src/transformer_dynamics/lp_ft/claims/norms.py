"""How long the head becomes (Figures 1 and 4, Table 13), and which rows of it want to grow."""

import pandas as pd

from transformer_dynamics.lp_ft.claims.contrasts import (
    TEST,
    Trained,
    by_place,
    differences,
    evidence,
    ln,
    runs_of,
    told_apart,
    values,
)


def growth_of_probing(features: Trained) -> pd.DataFrame:
    """Log of the growth of ||V|| by linear probing minus that by FT, and by LoRA.

    All three begin with the random head of the seed.
    """
    rows = told_apart(features.table, split=TEST).drop(columns="split")
    rows = rows.assign(growth=ln(rows["norm"] / rows["start_norm"]))
    return differences(rows, "growth", [("lp", "ft"), ("lp", "lora")])


def growth_by_probing(features: Trained) -> pd.DataFrame:
    """Log of ||V|| after linear probing over that of the random head."""
    rows = told_apart(features.table, split=TEST).drop(columns="split")
    rows = rows.assign(growth=ln(rows["norm"] / rows["start_norm"]))
    return values(rows, "growth", ["lp"])


def growth_along_training(norm: Trained) -> pd.DataFrame:
    """Log of ||V|| at the last step over that at the first, of LP, FT and LoRA.

    That of LP is gradient descent from the random head.
    """
    rows = norm.table.sort_values("step")
    runs = runs_of(rows)["norm"]
    # A step that is not finite is not passed over: then the run diverged.
    ratio = runs.last(skipna=False) / runs.first(skipna=False)
    growth = ln(ratio).rename("growth").reset_index()
    return values(growth, "growth", ["lp", "ft", "lora"])


def rows_that_grow(norm: Trained) -> pd.DataFrame:
    """Share of rows of V whose loss falls as they become longer, mean over LP's path."""
    rows = told_apart(norm.table, method="lp")
    return evidence({name: own.groupby("seed")["falling"].mean() for name, own in by_place(rows)})
