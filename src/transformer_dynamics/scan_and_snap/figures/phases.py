"""Curves of the theory over time, with the times at which its phases change (Figures 3 and 9)."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from transformer_dynamics.scan_and_snap.metrics import Floats
    from transformer_dynamics.scan_and_snap.theory.growth import Setting

SCANNING_END, SNAPPING_START = "end of scanning", "start of snapping"
SIZES = {SCANNING_END: 2.8, SNAPPING_START: 4.0}
"""Of dots, in points: those of t_0' are close to each other."""
LABELS = {SCANNING_END: "$t_0'$", SNAPPING_START: "$t_0$"}


def curve(
    setting: "Setting", last_time: float, points: int, value: "Callable[[Setting, Floats], Floats]"
) -> "pd.DataFrame":
    """A quantity along time, and at t_0' and t_0 where they come before the last time.

    Args:
        setting: rates and sizes.
        last_time: where the curve ends, in updates.
        points: of the curve, evenly spaced.
        value: of the quantity, given the setting and [T] times.

    Returns:
        Columns `t`, `mark` (`curve`, or a key of `LABELS`) and `value`, by time.
    """
    import numpy as np
    import pandas as pd

    from transformer_dynamics.scan_and_snap.theory.growth import phase_times

    times = np.append(np.linspace(0, last_time, points), phase_times(setting))
    columns = {
        "t": times,
        "mark": ["curve"] * points + list(LABELS),
        "value": value(setting, times),
    }
    table = pd.DataFrame(columns)
    return table[table["t"] <= last_time].sort_values("t", ignore_index=True)


def draw_curve(axes: "Axes", rows: "pd.DataFrame", column: str, colour: object, label: str) -> None:
    """A solid line; a hollow dot at t_0', a full one at t_0, and dots from there to the axis.

    Args:
        axes: where to draw.
        rows: columns `t`, `mark` and that of the quantity, of one curve.
        column: name of the quantity's column.
        colour: of all of it.
        label: of the line.
    """
    line = rows[rows["mark"] == "curve"]
    axes.plot(line["t"], line[column], color=colour, label=label)
    for mark, face in {SCANNING_END: "white", SNAPPING_START: colour}.items():
        at = rows[rows["mark"] == mark]
        size = SIZES[mark]
        axes.plot(
            at["t"], at[column], "o", color=colour, markerfacecolor=face, zorder=3,
            markersize=size, markeredgewidth=size / 4,
        )  # fmt: skip
        if mark == SNAPPING_START:
            axes.vlines(at["t"], 0, at[column], color=colour, linestyle=":", linewidth=0.8)


def name_marks(axes: "Axes") -> None:
    """Entries of a legend for the dots."""
    for mark, face in {SCANNING_END: "white", SNAPPING_START: "black"}.items():
        axes.plot(
            [], [], "o", color="black", markerfacecolor=face, label=LABELS[mark],
            markersize=SIZES[mark], markeredgewidth=SIZES[mark] / 4,
        )  # fmt: skip
