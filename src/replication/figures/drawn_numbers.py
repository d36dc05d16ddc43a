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
        if axes.get_label() != "<colorbar>":
            for kind, values in _coordinates(axes):
                array = np.ma.asarray(values, dtype=np.float64).compressed()
                array = array[np.isfinite(array)]
                unknown = array[~_are_known(array, known)]
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
    return np.unique(whole[np.isfinite(whole)])


def _coordinates(axes: Any) -> Iterator[tuple[str, Any]]:
    """Yield the kind of each mark, and its values along one axis or in colour."""
    for line in axes.lines:
        yield "line", line.get_xdata(orig=False)
        yield "line", line.get_ydata(orig=False)
    for image in (*axes.images, *(item for item in axes.collections if isinstance(item, QuadMesh))):
        yield "heat map", image.get_array()
    for item in axes.collections:
        if isinstance(item, PathCollection):
            yield from (("point", column) for column in np.ma.asarray(item.get_offsets()).T)
        elif isinstance(item, LineCollection | PolyCollection):
            vertices = (np.asarray(path.vertices) for path in item.get_paths())
            corners = np.concatenate([np.zeros((0, 2)), *vertices])
            yield from (("error bar or band", column) for column in corners.T)
    for patch in axes.patches:
        if isinstance(patch, StepPatch):
            yield "step", patch.get_data()[0]
        elif isinstance(patch, Polygon):
            yield from (("filled area", column) for column in np.asarray(patch.get_xy()).T)
    for container in axes.containers:
        if isinstance(container, BarContainer):
            yield "bar", container.datavalues


def _are_known(values: Floats, known: Floats) -> NDArray[np.bool_]:
    """Say for each value whether it is known, up to rounding."""
    if not known.size:
        return np.zeros(len(values), bool)
    place = np.searchsorted(known, values)
    below, above = (known[np.clip(place + step, 0, len(known) - 1)] for step in (-1, 0))
    return np.isclose(values, below, rtol=1e-9) | np.isclose(values, above, rtol=1e-9)


def _is_decoration(values: Floats) -> bool:
    distinct = np.unique(values)
    if len(distinct) < 3:
        return all(float(f"{value:.2g}") == value for value in distinct.tolist())
    steps = np.diff(distinct)
    return bool(np.allclose(steps, steps[0], rtol=1e-9, atol=0))
