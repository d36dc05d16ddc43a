"""The numbers that a figure shows, compared with the tables that it is drawn from."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.collections import LineCollection, PathCollection, PolyCollection, QuadMesh
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Polygon, StepPatch
from numpy.typing import NDArray


def unknown_marks(figure: Figure, tables: Iterable[pd.DataFrame]) -> Iterator[str]:
    """Yield in words each line, point, bar, area and heat map whose numbers stand in no table.

    Marks without a number are left out: at most two round positions, and evenly spaced ones.
    """
    known = _numbers(tables)
    panels = [each for outer in figure.axes for each in (outer, *outer.child_axes)]
    shown = [_marks(axes) for axes in panels if axes.get_label() != "<colorbar>"]
    for kind, points in (mark for marks in shown for mark in marks):
        for column in np.ma.asarray(points, dtype=np.float64).T:
            values = np.ma.compressed(column)
            values = values[np.isfinite(values)]
            place = np.searchsorted(known, values)
            near = (np.isclose(values, known[place - step], rtol=1e-9) for step in (0, 1))
            unknown = values[~np.logical_or(*near)]
            if unknown.size and not _is_decoration(values):
                yield f"a {kind} at {unknown[0]:g}"


def _numbers(tables: Iterable[pd.DataFrame]) -> NDArray[np.float64]:
    """Return all numbers, ascending, with sums and differences of two columns, for error bars."""
    found = [np.array([-np.inf, np.inf])]
    for table in tables:
        columns = [table[name].to_numpy(np.float64) for name in table.select_dtypes("number")]
        found += columns
        found += [a + sign * b for a in columns for b in columns for sign in (1, -1)]
    whole = np.concatenate(found)
    return np.unique(whole[~np.isnan(whole)])


def _marks(axes: Any) -> Iterator[tuple[str, Any]]:
    """Yield the kind of each mark, and its places [point, axis], or its values alone [value, 1]."""
    for line in axes.lines:
        yield "line", line.get_xydata()
    for item in (*axes.images, *axes.collections):
        if isinstance(item, PathCollection):
            yield "point", item.get_offsets()
        elif isinstance(item, LineCollection | PolyCollection):
            vertices = (path.vertices for path in item.get_paths())
            yield "error bar or band", np.concatenate([np.zeros((0, 2)), *vertices])
        elif isinstance(item, AxesImage | QuadMesh):
            yield "heat map", np.ma.array(item.get_array()).reshape(-1, 1)
    for patch in axes.patches:
        if isinstance(patch, StepPatch):
            yield "step", np.asarray(patch.get_data()[0])[:, None]
        elif isinstance(patch, Polygon):
            yield "filled area", patch.get_xy()
    for container in axes.containers:
        if isinstance(container, BarContainer):
            yield "bar", np.asarray(container.datavalues)[:, None]


def _is_decoration(values: NDArray[np.float64]) -> bool:
    distinct = np.unique(values)
    if len(distinct) < 3:
        return all(float(f"{value:.2g}") == value for value in distinct.tolist())
    steps = np.diff(distinct)
    return bool(np.allclose(steps, steps[0], rtol=1e-9, atol=0))
