"""Motion of the attention before and after t_0: how far it goes, and at what pace."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Literal

from replication.figures.panels import legend_below, make_panels
from replication.study.contract import ExperimentFigure, Measured
from transformer_dynamics.scan_and_snap.figures.elements import spread_note
from transformer_dynamics.scan_and_snap.settings.metrics import MetricJob, MetricSettings

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing
    from numpy.typing import ArrayLike, NDArray

    from replication.figures.style import Style

DISTANCE, PACE = "distance", "pace"
CELL = ["eta_y", "eta_z"]


class Motion(ExperimentFigure):
    """Distance of the attention from where it was at t_0, and its motion per factor e of time."""

    metrics: ClassVar[tuple[str, ...]] = ("attention",)
    title: ClassVar[str] = "Scan and Snap: motion of attention past the transition"
    columns: ClassVar[tuple[str, ...]] = (
        *CELL, "t_0", "quantity", "t", "relative_time", "value_mean", "value_std", "n_seeds",
        "as_root",
    )  # fmt: skip
    uses: ClassVar[tuple[str, ...]] = ("metrics",)
    kind: Literal["motion"]
    """Kind of the figure."""


def table(figure: Motion, measured: Measured[MetricJob], metrics: MetricSettings) -> "pd.DataFrame":
    """Return both quantities, mean over classes, at every record of each pair of rates.

    Args:
        figure: its columns.
        measured: the `attention` of the training runs; one mixture.
        metrics: the least t_0 that is shown.

    Returns:
        The figure's columns. Distance is |c_n(t) - c_n(t_0)|_1 over |c_n(0) - c_n(t_0)|_1, and pace
        |dc_n/d ln t|_1 between two records, at the middle of ln t. `as_root` goes as the root of
        time from the first pace past t_0 on.
    """
    import numpy as np
    import pandas as pd

    from transformer_dynamics.scan_and_snap.claims.trajectory import runs_past_transition
    from transformer_dynamics.scan_and_snap.theory.decoder import snapping_start

    found, starts = runs_past_transition(measured, metrics)
    records = np.array(found.iterations, np.float64)
    tables = []
    rates = found.cells[["eta_z", "ratio"]].to_numpy(np.float64)
    for cell, start in enumerate(starts):
        eta_z, ratio = rates[cell].tolist()
        array = found.array[:, :, cell]
        classes = found.classes
        t_0 = snapping_start(eta_z * ratio, classes.vocabulary_size, len(classes.support))
        distance = _size(array - array[:, [start]])
        # No factor of time leads from update 0.
        lasting = np.diff(np.log(records[1:]))
        pace = _size(np.diff(array[:, 1:], axis=1)) / lasting
        middle = np.sqrt(records[1:-1] * records[2:])
        root = pace.mean(axis=0)[start - 1] * np.sqrt(middle / middle[start - 1])
        root[: start - 1] = np.nan
        of_cell = [
            _rows(DISTANCE, records, distance / distance[:, [0]]),
            _rows(PACE, middle, pace).assign(as_root=root),
        ]
        tables += [rows.assign(eta_y=eta_z * ratio, eta_z=eta_z, t_0=t_0) for rows in of_cell]
    rows = pd.concat(tables, ignore_index=True)
    return rows.assign(relative_time=rows["t"] / rows["t_0"])[list(figure.columns)]


def _size(vectors: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Return [seed, record], the sum of absolute values over tokens, mean over classes."""
    import numpy as np

    return np.asarray(np.abs(vectors).sum(axis=-1).mean(axis=-1))


def _rows(quantity: str, times: "ArrayLike", values: "NDArray[np.float64]") -> "pd.DataFrame":
    """Return a row per time, from [seed, time] values."""
    import pandas as pd

    columns = {
        "quantity": quantity,
        "t": times,
        "value_mean": values.mean(axis=0),
        "value_std": values.std(axis=0, ddof=1),
        "n_seeds": len(values),
    }
    return pd.DataFrame(columns)


def draw(figure: Motion, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw distance and pace against time in units of t_0, a line per pair of rates."""
    from replication.figures.typeset import number

    drawing, [[left, right]] = make_panels(1, 2, 2.9)
    for style, rows in _cells(table):
        (eta_y, eta_z), label = rows[CELL].iloc[0], r"$\eta_Y={:g}$, $\eta_Z={:g}$"
        for axes, quantity in ((left, DISTANCE), (right, PACE)):
            shown = rows[(rows["quantity"] == quantity) & (rows["t"] > 0)]
            axes.errorbar(
                shown["relative_time"], shown["value_mean"], shown["value_std"],
                color=style.colour, marker=style.marker, markersize=2.5, linewidth=1,
                elinewidth=0.8, label=label.format(eta_y, eta_z),
            )  # fmt: skip
        past = rows.dropna(subset="as_root")
        right.plot(
            past["relative_time"], past["as_root"], ":", color=style.colour, linewidth=1,
            label=r"as $\sqrt{t}$ from $t_0$ on",
        )  # fmt: skip
    _draw_transition(left)
    _draw_transition(right)
    left.axhline(1, color="black", linewidth=0.8, linestyle="--", label="as far as before $t_0$")
    left.set_ylabel("distance (start: 1)")
    left.set_yscale("symlog", linthresh=1)
    left.set_yticks([0, 0.5, 1, 2, 5, 10, 20], [number(y) for y in (0, 0.5, 1, 2, 5, 10, 20)])
    left.set_ylim(-0.05, 1.5 * table["value_mean"].max())
    left.set_title("(a) distance from attention at $t_0$\n(axis: linear below 1)")
    right.set_ylabel(r"motion $|dc_n/d\ln t|$")
    right.set_yscale("log")
    right.set_title("(b) motion per factor e of time\n(level: logarithmic in time)")
    legend_below(drawing, title=f"means, {spread_note(table)}", ncols=3)
    return drawing


def _cells(table: "pd.DataFrame") -> "Iterator[tuple[Style, pd.DataFrame]]":
    """Yield style and rows of each pair of rates."""
    from replication.figures.style import category_styles

    pairs = table.groupby(CELL, sort=False)
    for (_, rows), (_, style) in zip(pairs, category_styles(pairs.groups), strict=True):
        yield style, rows


def _draw_transition(axes: "Axes") -> None:
    axes.axvline(1, color="0.6", linewidth=0.8, zorder=0)
    axes.set(xscale="log", xlabel="time $t/t_0$")
