"""Growth of the head (Figures 1 and 4, Table 13) and of its rows."""

import pandas as pd

from replication.study.evidence import seed_rows
from transformer_dynamics.lp_ft.claims.contrasts import (
    TEST,
    RunMetric,
    group_by_place,
    group_by_run,
    ln,
    method_differences,
    method_values,
    rows_where,
)


def growth_of_probing(features: RunMetric) -> pd.DataFrame:
    """Log of the growth of ||V|| by linear probing minus that by FT, and by LoRA.

    All three begin with the random head of the seed.
    """
    rows = rows_where(features.table, split=TEST).drop(columns="split")
    rows = rows.assign(growth=ln(rows["norm"] / rows["start_norm"]))
    return method_differences(rows, "growth", [("lp", "ft"), ("lp", "lora")])


def growth_by_probing(features: RunMetric) -> pd.DataFrame:
    """Log of ||V|| after linear probing over that of the random head."""
    rows = rows_where(features.table, split=TEST).drop(columns="split")
    rows = rows.assign(growth=ln(rows["norm"] / rows["start_norm"]))
    return method_values(rows, "growth", ["lp"])


def growth_along_training(norm: RunMetric) -> pd.DataFrame:
    """Log of ||V|| at the last step over that at the first, of LP, FT and LoRA.

    That of LP is gradient descent from the random head.
    """
    rows = norm.table.sort_values("step")
    runs = group_by_run(rows)["norm"]
    # A step that is not finite is not passed over: then the run diverged.
    ratio = runs.last(skipna=False) / runs.first(skipna=False)
    growth = ln(ratio).rename("growth").reset_index()
    return method_values(growth, "growth", ["lp", "ft", "lora"])


def rows_that_grow(norm: RunMetric) -> pd.DataFrame:
    """Share of rows of V whose loss falls as they become longer, mean over LP's path."""
    rows = rows_where(norm.table, method="lp")
    return seed_rows(
        (name, own.groupby("seed")["falling"].mean()) for name, own in group_by_place(rows)
    )
