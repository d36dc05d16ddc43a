"""Heads that are multiplied before fine-tuning (Figures 3, 10 and 11)."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from replication.base.errors import UnmeasurableError
from replication.study.evidence import seed_rows
from transformer_dynamics.lp_ft.claims.contrasts import (
    RunMetric,
    SeedValues,
    check_equal_rates,
    group_by_place,
    ln,
    pivot_methods,
    rows_where,
)
from transformer_dynamics.lp_ft.settings.labels import METHOD_LABELS
from transformer_dynamics.lp_ft.settings.runs import Method

TUNED_METHODS: tuple[Method, ...] = ("ft", "lp_ft", "lora", "lp_lora")
COMMON_NORMS = ("shortest", "middle", "longest")
"""Heads of equal norm at which two curves are compared."""


def largest_rise(*features: RunMetric) -> pd.DataFrame:
    """Return the largest rise of ln Diff(F) in one step to the next factor, by AdamW.

    It is below 0 if all fall.
    """
    rows = _select_runs(*features, optimiser="adamw")
    return seed_rows(
        (name, curves.diff(axis=1).iloc[:, 1:].max(axis=1, skipna=False))
        for name, curves in _group_curves(rows)
    )


def slopes_of_plain_descent(*features: RunMetric) -> pd.DataFrame:
    """Return the slope of ln Diff(F) over ln factor, by SGD whose gradients are not clipped.

    A factor at which a run diverged is left out for all seeds. What diverged went further than all
    others, so that this makes slopes smaller.
    """
    rows = _select_runs(*features, optimiser="sgd", clip=0.0)
    return seed_rows(
        (name, _fit_slope(curves.dropna(axis=1))) for name, curves in _group_curves(rows)
    )


def slopes_that_clipping_removes(*features: RunMetric) -> pd.DataFrame:
    """Return the slope of ln Diff(F) over ln factor by SGD, without clipping minus with it.

    Slopes are over the factors at which no run of either kind diverged.
    """
    plain, clipped = (
        dict(_group_curves(_select_runs(*features, optimiser="sgd", clip=clip)))
        for clip in (0.0, 1.0)
    )
    cells = {}
    for name, curves in plain.items():
        if name not in clipped:
            raise UnmeasurableError(f"{name} was not trained with clipped gradients")
        both = [curves.dropna(axis=1), clipped[name].dropna(axis=1)]
        shared = both[0].columns.intersection(both[1].columns)
        cells[name] = _fit_slope(both[0][shared]) - _fit_slope(both[1][shared])
    return seed_rows(cells.items())


def more_change_in_plain_descent(*features: RunMetric) -> pd.DataFrame:
    """Return the log of Diff(F) of LP-FT over that of FT, by unclipped SGD at one rate.

    Heads are not multiplied: the factor is 1.
    """
    rows = _select_runs(*features, optimiser="sgd", clip=0.0, factor=1.0)
    check_equal_rates(rows)
    cells = {}
    for name, own in group_by_place(rows):
        wide = pivot_methods(own, "ln_difference", ("ft", "lp_ft"))
        cells[name] = wide["lp_ft"] - wide["ft"]
    return seed_rows(cells.items())


def less_change_at_equal_norm(*features: RunMetric, heads: list[str]) -> pd.DataFrame:
    """Return the log of Diff(F) of FT over that of LP-FT for heads of equal norm, by AdamW.

    Norms are those before training, at the lower end, in the middle and at the upper end of what
    both methods have: `COMMON_NORMS`. Between the factors Diff(F) lies on lines of ln Diff(F) over
    ln ||V||. NaN where the methods have no norm in common.
    """
    rows = _select_runs(*features, optimiser="adamw")
    rows = rows.assign(ln_norm=ln(rows["start_norm"]))
    cells: dict[str, SeedValues] = {}
    for name, own in group_by_place(rows):
        found = {}
        for seed, both in own.groupby("seed"):
            found[seed] = _interpolate_at_equal_norms(both)
        wide = pd.DataFrame.from_dict(found, orient="index", columns=list(COMMON_NORMS))
        cells.update({f"{name}: {which} common head": wide[which] for which in heads})
    return seed_rows(cells.items())


def _select_runs(*features: RunMetric, **wanted: object) -> pd.DataFrame:
    rows = rows_where(pd.concat([each.table for each in features], ignore_index=True), **wanted)
    return rows.assign(ln_difference=ln(rows["difference"]))


def _group_curves(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield ln Diff(F) [seed, factor] of every place and method, with the name of both.

    Raises:
        UnmeasurableError: if a seed lacks a factor, or there are fewer than two.
    """
    for name, own in group_by_place(rows):
        for method in (each for each in TUNED_METHODS if each in {*own["method"]}):
            mine = rows_where(own, method=method)
            wide = mine.pivot_table("ln_difference", "seed", "factor", dropna=False)
            if wide.size != len(mine) or wide.shape[1] < 2:
                raise UnmeasurableError(
                    f"{name}: seeds need two or more factors, the same for all of them"
                )
            yield f"{name}: {METHOD_LABELS[method]}", wide


def _fit_slope(curves: pd.DataFrame) -> SeedValues:
    """Return each seed's slope of least squares over ln factor; NaN where a run diverged.

    Raises:
        UnmeasurableError: if there are fewer than two factors.
    """
    if curves.shape[1] < 2:
        raise UnmeasurableError("fewer than two factors are left at which no run diverged")
    position = np.log(curves.columns.to_numpy(np.float64))
    centred = position - position.mean()
    slope: SeedValues = pd.Series(curves.to_numpy(np.float64) @ centred, curves.index)
    return slope / float(centred @ centred)


def _interpolate_at_equal_norms(both: pd.DataFrame) -> list[float]:
    """Return ln Diff(F) of FT minus that of LP-FT, of one seed, at `COMMON_NORMS`."""
    curves = []
    for method in ("ft", "lp_ft"):
        own = rows_where(both, method=method).sort_values("ln_norm")
        if own.empty:
            raise UnmeasurableError(f"there is no {METHOD_LABELS[method]}")
        if own.duplicated("factor").any():
            raise UnmeasurableError(
                f"{METHOD_LABELS[method]} has several runs of a seed and a factor"
            )
        curves.append((own["ln_norm"].to_numpy(), own["ln_difference"].to_numpy()))
    low = max(norms[0] for norms, _ in curves)
    high = min(norms[-1] for norms, _ in curves)
    if low > high:
        return [float("nan")] * len(COMMON_NORMS)
    points = np.linspace(low, high, len(COMMON_NORMS))
    ft, lp_ft = (np.interp(points, *curve) for curve in curves)
    return [float(value) for value in ft - lp_ft]
