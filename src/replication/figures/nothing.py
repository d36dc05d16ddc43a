"""Words in a figure where it has nothing to show, as after trainings that diverged."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

WORDS = "no finite value"


def tell_nothing(figure: Figure) -> None:
    """Write into each panel, or behind each name in its legend, that no value of it is finite."""
    for axes in figure.axes:
        if axes.has_data() and not np.isfinite(axes.dataLim.get_points()).all():
            axes.text(0.5, 0.5, WORDS, transform=axes.transAxes, ha="center", va="center")
        elif legend := axes.get_legend():
            shown = {line.get_label(): _is_shown(line) for line in axes.lines}
            for text in legend.get_texts():
                if not shown.get(text.get_text(), True):
                    text.set_text(f"{text.get_text()} ({WORDS})")


def _is_shown(line: Any) -> bool:
    """Say whether a line has a point; one without data is there for the legend alone."""
    points = line.get_xydata()
    return not len(points) or bool(np.isfinite(points).all(axis=1).any())
