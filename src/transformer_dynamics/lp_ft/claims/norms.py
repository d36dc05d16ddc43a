"""Growth of the head (Figures 1 and 4, Table 13) and of its rows, of the bias and of logits."""

import numpy as np
import pandas as pd

from replication.study.evidence import seed_rows
from transformer_dynamics.lp_ft.claims.contrasts import (
    RunMetric,
    SeedValues,
    group_by_place,
    group_by_run,
    ln,
    pivot_methods,
)
from transformer_dynamics.lp_ft.settings.labels import METHOD_LABELS, RUN_COLUMNS
from transformer_dynamics.lp_ft.settings.runs import Method

GROWING = {"bias": ("bias_norm", 1), "logits": ("logit_norm", 1), "loss": ("loss", -1)}
"""Column of each quantity that is judged, by its name in cells, and 1 if it has to rise, -1 if it
has to fall."""


def growth_along_training(norm: RunMetric) -> pd.DataFrame:
    """Return the log of ||V|| at the last step over that at the first, of LP, FT and LoRA.

    Steps of LP are those of gradient descent from the random head.
    """
    runs = group_by_run(norm.table.sort_values("step"))["norm"]
    # A step that is not finite is not passed over: then the run diverged.
    ratio = runs.last(skipna=False) / runs.first(skipna=False)
    growth = ln(ratio).rename("growth").reset_index()
    methods: tuple[Method, ...] = ("lp", "ft", "lora")
    wide = {name: pivot_methods(own, "growth", methods) for name, own in group_by_place(growth)}
    return seed_rows(
        (f"{name}: {METHOD_LABELS[method]}", own[method])
        for name, own in wide.items()
        for method in methods
    )


def growth_of_bias_and_logits(norm: RunMetric) -> pd.DataFrame:
    """Return the logs of the growth of ||b||, of ||f(x)||, and of the inverse of the loss.

    Growth is the mean over the second half of the kept steps over that over the first. The start is
    left out, where b = 0. Kept steps are even in number of steps for FT and LoRA, and in its
    logarithm for LP.
    """
    rows = norm.table[(norm.table["step"] > 0) & norm.table["method"].isin(["lp", "ft", "lora"])]
    rows = rows.sort_values("step")
    place = group_by_run(rows).cumcount()
    number = group_by_run(rows)["step"].transform("size")
    halves = rows.assign(half=np.where(place < number // 2, "first", "second"))
    cells: dict[str, SeedValues] = {}
    for quantity, (column, sign) in GROWING.items():
        # After the last step there is no batch; what diverged before it is not passed over.
        known = halves[halves[column].notna() | (place < number - 1)]
        names = [name for name in RUN_COLUMNS if name in known] + ["half"]
        by_half = known.groupby(names, sort=False)[column].agg(lambda own: own.mean(skipna=False))
        wide = by_half.unstack("half")
        growth = (sign * ln(wide["second"] / wide["first"])).rename("growth").reset_index()
        for name, own in group_by_place(growth):
            found = pivot_methods(own, "growth", ("lp", "ft", "lora"))
            cells.update(
                {
                    f"{name}: {METHOD_LABELS[each]}, {quantity}": found[each]
                    for each in METHOD_LABELS
                    if each in found
                }
            )
    return seed_rows(cells.items())
