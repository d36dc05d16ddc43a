"""Words in a figure where it has nothing to show, as after trainings that diverged."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

WORDS = "no finite value"


def tell_nothing(figure: Figure) -> None:
    """Write into each panel with data that no value of it is finite, if that is so."""
    for axes in figure.axes:
        points = [each for each in _points(axes) if len(each)]
        if points and not np.isfinite(np.concatenate(points)).all(axis=1).any():
            axes.text(0.5, 0.5, WORDS, transform=axes.transAxes, ha="center", va="center")


def _points(axes: Any) -> Iterator[Any]:
    """Yield the points of each line, scatter and bar; a line across the panel is no data."""
    for line in axes.lines:
        if line.get_transform() == axes.transData:
            yield np.asarray(line.get_xydata())
    for item in axes.collections:
        if isinstance(item, PathCollection):
            yield np.ma.filled(item.get_offsets(), np.nan)
    for patch in axes.patches:
        if isinstance(patch, Rectangle):
            yield patch.get_bbox().get_points()[1:]
