"""The numbers that a figure shows, compared with the tables that it is drawn from."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.collections import LineCollection, PathCollection, PolyCollection, QuadMesh
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.patches import Polygon, StepPatch
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def unknown_marks(figure: Figure, tables: Iterable[pd.DataFrame]) -> Iterator[str]:
    """Yield in words each line, point, bar, area and heat map whose numbers stand in no table.

    Marks without a number are left out: at most two round positions, and evenly spaced ones.
    """
    known = _numbers(tables)
    for axes in (each for outer in figure.axes for each in (outer, *outer.child_axes)):
        if axes.get_label() == "<colorbar>":
            continue
        for kind, values in _coordinates(axes):
            array = np.ma.asarray(values, dtype=np.float64).compressed()
            array = array[np.isfinite(array)]
            place = np.searchsorted(known, array)
            near = (np.isclose(array, known[place - step], rtol=1e-9) for step in (0, 1))
            unknown = array[~np.logical_or(*near)]
            if unknown.size and not _is_decoration(array):
                yield f"a {kind} at {unknown[0]:g}"


def _numbers(tables: Iterable[pd.DataFrame]) -> Floats:
    """Return all numbers, ascending, with sums and differences of two columns, for error bars."""
    found = [np.zeros(0)]
    for table in tables:
        columns = [table[name].to_numpy(np.float64) for name in table.select_dtypes("number")]
        found += columns
        found += [a + sign * b for a in columns for b in columns for sign in (1, -1)]
    whole = np.concatenate(found)
    return np.array([-np.inf, *np.unique(whole[np.isfinite(whole)]), np.inf])


def _coordinates(axes: Any) -> Iterator[tuple[str, Any]]:
    """Yield the kind of each mark, and its values along one axis or in colour."""
    for image in (*axes.images, *(item for item in axes.collections if isinstance(item, QuadMesh))):
        yield "heat map", image.get_array()
    for container in axes.containers:
        if isinstance(container, BarContainer):
            yield "bar", container.datavalues
    for patch in axes.patches:
        if isinstance(patch, StepPatch):
            yield "step", patch.get_data()[0]
    for kind, points in _points(axes):
        yield from ((kind, column) for column in np.ma.asarray(points).T)


def _points(axes: Any) -> Iterator[tuple[str, Any]]:
    for line in axes.lines:
        yield "line", line.get_xydata()
    for item in axes.collections:
        if isinstance(item, PathCollection):
            yield "point", item.get_offsets()
        elif isinstance(item, LineCollection | PolyCollection):
            vertices = (path.vertices for path in item.get_paths())
            yield "error bar or band", np.concatenate([np.zeros((0, 2)), *vertices])
    for patch in axes.patches:
        if isinstance(patch, Polygon):
            yield "filled area", patch.get_xy()


def _is_decoration(values: Floats) -> bool:
    distinct = np.unique(values)
    if len(distinct) < 3:
        return all(float(f"{value:.2g}") == value for value in distinct.tolist())
    steps = np.diff(distinct)
    return bool(np.allclose(steps, steps[0], rtol=1e-9, atol=0))
