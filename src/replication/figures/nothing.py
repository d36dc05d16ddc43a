"""Words in a figure where it has nothing to show, as after trainings that diverged."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

WORDS = "no finite value"


def tell_nothing(figure: Figure) -> None:
    """Write into each panel, or behind each name in its legend, that no value of it is finite."""
    for axes in figure.axes:
        marks = {_is_shown(points) for points in _marks(axes) if len(points)}
        if marks == {False}:
            axes.text(0.5, 0.5, WORDS, transform=axes.transAxes, ha="center", va="center")
        elif False in marks and (legend := axes.get_legend()):
            lines = ((line.get_label(), np.asarray(line.get_xydata())) for line in axes.lines)
            lost = {label for label, points in lines if len(points) and not _is_shown(points)}
            for text in legend.get_texts():
                if text.get_text() in lost:
                    text.set_text(f"{text.get_text()} ({WORDS})")


def _marks(axes: Any) -> Iterator[Any]:
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


def _is_shown(points: Any) -> bool:
    return bool(np.isfinite(points).all(axis=1).any())
