"""Heads that are multiplied before fine-tuning (Figures 3, 10 and 11)."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from replication.base.errors import UnmeasurableError
from transformer_dynamics.lp_ft.claims.contrasts import (
    Seeds,
    Trained,
    by_place,
    check_equal_rates,
    evidence,
    ln,
    of_methods,
    told_apart,
)
from transformer_dynamics.lp_ft.figures.labels import METHODS
from transformer_dynamics.lp_ft.run_settings import Method

TUNED: tuple[Method, ...] = ("ft", "lp_ft", "lora", "lp_lora")
COMMON = ("shortest", "middle", "longest")
"""Heads of equal norm at which two curves are compared."""


def slopes(*features: Trained) -> pd.DataFrame:
    """Slope of ln Diff(F) over ln factor, by AdamW."""
    rows = _rows(*features, optimiser="adamw")
    return evidence({name: _slope(curves) for name, curves in _curves(rows)})


def largest_rise(*features: Trained) -> pd.DataFrame:
    """Largest rise of ln Diff(F) in one step to the next factor, by AdamW; below 0 if all fall."""
    rows = _rows(*features, optimiser="adamw")
    return evidence(
        {
            name: curves.diff(axis=1).iloc[:, 1:].max(axis=1, skipna=False)
            for name, curves in _curves(rows)
        }
    )


def slopes_of_plain_descent(*features: Trained) -> pd.DataFrame:
    """Slope of ln Diff(F) over ln factor, by SGD whose gradients are not clipped.

    A factor at which a run diverged is left out for all seeds. What diverged went further than all
    others, so that this makes slopes smaller.
    """
    rows = _rows(*features, optimiser="sgd", clip=0.0)
    return evidence({name: _slope(_finite(curves)) for name, curves in _curves(rows)})


def slopes_that_clipping_removes(*features: Trained) -> pd.DataFrame:
    """Slope of ln Diff(F) over ln factor by SGD without clipping minus that with it.

    Over the factors at which no run of either kind diverged.
    """
    plain, clipped = (
        dict(_curves(_rows(*features, optimiser="sgd", clip=clip))) for clip in (0.0, 1.0)
    )
    cells = {}
    for name, curves in plain.items():
        if name not in clipped:
            raise UnmeasurableError(f"{name} was not trained with clipped gradients")
        both = [_finite(curves), _finite(clipped[name])]
        shared = both[0].columns.intersection(both[1].columns)
        cells[name] = _slope(both[0][shared]) - _slope(both[1][shared])
    return evidence(cells)


def more_change_in_plain_descent(*features: Trained) -> pd.DataFrame:
    """Log of Diff(F) of LP-FT over that of FT, by unclipped SGD at one rate, factor 1."""
    rows = _rows(*features, optimiser="sgd", clip=0.0, factor=1.0)
    check_equal_rates(rows)
    cells = {}
    for name, own in by_place(rows):
        wide = of_methods(own, "ln_difference", ("ft", "lp_ft"))
        cells[name] = wide["lp_ft"] - wide["ft"]
    return evidence(cells)


def less_change_at_equal_norm(*features: Trained) -> pd.DataFrame:
    """Log of Diff(F) of FT over that of LP-FT where both heads were equally long before, by AdamW.

    In the middle and at the upper end of the norms that both have, between the factors along lines
    of ln Diff(F) over ln ||V||. NaN where they have none.
    """
    return _less_change(features, COMMON[1:])


def less_change_at_the_least_norm(*features: Trained) -> pd.DataFrame:
    """The same at the lower end of the norms that both have."""
    return _less_change(features, COMMON[:1])


def _less_change(features: Sequence[Trained], heads: Sequence[str]) -> pd.DataFrame:
    rows = _rows(*features, optimiser="adamw")
    rows = rows.assign(ln_norm=ln(rows["start_norm"]))
    cells: dict[str, Seeds] = {}
    for name, own in by_place(rows):
        found = {}
        for seed, both in own.groupby("seed"):
            found[seed] = _at_equal_norm(both)
        wide = pd.DataFrame.from_dict(found, orient="index", columns=list(COMMON))
        cells.update({f"{name}: {which} common head": wide[which] for which in heads})
    return evidence(cells)


def overconfidence(*calibration: Trained) -> pd.DataFrame:
    """Slope of ln T over ln factor, T the temperature that fits the validation samples best."""
    rows = pd.concat([each.table for each in calibration], ignore_index=True)
    # T is that of the validation samples, whatever the test set.
    rows = told_apart(rows, optimiser="adamw", is_scaled=True, split="test")
    rows = rows.assign(ln_temperature=ln(rows["temperature"]))
    found = _curves(rows, "ln_temperature")
    return evidence({name: _slope(curves) for name, curves in found})


def _rows(*features: Trained, **wanted: object) -> pd.DataFrame:
    rows = told_apart(pd.concat([each.table for each in features], ignore_index=True), **wanted)
    return rows.assign(ln_difference=ln(rows["difference"]))


def _curves(
    rows: pd.DataFrame, column: str = "ln_difference"
) -> Iterator[tuple[str, pd.DataFrame]]:
    """[seed, factor] of every place and method.

    Raises:
        UnmeasurableError: if a seed lacks a factor, or there are fewer than two.
    """
    for name, own in by_place(rows):
        for method in (each for each in TUNED if each in {*own["method"]}):
            mine = told_apart(own, method=method)
            wide = mine.pivot_table(index="seed", columns="factor", values=column, dropna=False)
            if wide.size != len(mine) or wide.shape[1] < 2:
                raise UnmeasurableError(
                    f"{name}: seeds need two or more factors, the same for all of them"
                )
            yield f"{name}: {METHODS[method]}", wide


def _slope(curves: pd.DataFrame) -> Seeds:
    """Of each seed's line of least squares over ln factor; NaN where a run diverged.

    Raises:
        UnmeasurableError: if there are fewer than two factors.
    """
    if curves.shape[1] < 2:
        raise UnmeasurableError("fewer than two factors are left at which no run diverged")
    position = np.log(curves.columns.to_numpy(np.float64))
    centred = position - position.mean()
    slope: Seeds = pd.Series(curves.to_numpy(np.float64) @ centred, curves.index)
    return slope / float(centred @ centred)


def _finite(curves: pd.DataFrame) -> pd.DataFrame:
    """The factors at which no run diverged."""
    return curves.dropna(axis=1)


def _at_equal_norm(both: pd.DataFrame) -> list[float]:
    """Log of the ratio of one seed at `COMMON`."""
    curves = []
    for method in ("ft", "lp_ft"):
        own = told_apart(both, method=method).sort_values("ln_norm")
        if own.empty:
            raise UnmeasurableError(f"there is no {METHODS[method]}")
        if own.duplicated("factor").any():
            raise UnmeasurableError(f"{METHODS[method]} has several runs of a seed and a factor")
        curves.append((own["ln_norm"].to_numpy(), own["ln_difference"].to_numpy()))
    low = max(norms[0] for norms, _ in curves)
    high = min(norms[-1] for norms, _ in curves)
    if low > high:
        return [float("nan")] * len(COMMON)
    points = np.linspace(low, high, len(COMMON))
    ft, lp_ft = (np.interp(points, *curve) for curve in curves)
    return [float(value) for value in ft - lp_ft]
