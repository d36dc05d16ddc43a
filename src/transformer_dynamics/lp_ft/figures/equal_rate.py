"""FT and LP-FT at the same rates, batches and numbers of steps."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.figures.panels import draw_seeds, make_panels
from replication.study.contract import ExperimentFigure, Measured
from transformer_dynamics.lp_ft.figures.rows import check_one_run
from transformer_dynamics.lp_ft.figures.styles import CHANGE_AXIS, add_legend, method_style
from transformer_dynamics.lp_ft.settings.labels import ordered_methods, set_label
from transformer_dynamics.lp_ft.settings.metrics import MetricJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

QUANTITIES = {
    "difference": CHANGE_AXIS,
    "accuracy": "Test accuracy, %",
    "ece": "ECE, %",
}
"""Axis of each quantity that is drawn."""


class EqualRate(ExperimentFigure):
    """Feature change, accuracy and calibration against the rate."""

    metrics: ClassVar[tuple[str, ...]] = ("features", "accuracy", "calibration")
    title: ClassVar[str] = "LP-FT: FT and LP-FT at the same rates"
    columns: ClassVar[tuple[str, ...]] = (
        "set", "method", "rate", "seed", "quantity", "value", "mean",
    )  # fmt: skip
    kind: Literal["equal_rate"]
    """Kind of the figure."""
    experiment: str = "equal_rate"
    """Experiment of the runs."""


def table(
    figure: EqualRate,
    features: Measured[MetricJob],
    accuracy: Measured[MetricJob],
    calibration: Measured[MetricJob],
) -> "pd.DataFrame":
    """Return every run on its own test set, and means over seeds; ECE is that before scaling."""
    import pandas as pd

    before = calibration.table[~calibration.table["is_scaled"].astype(bool)]
    tables = []
    for name, rows, unit in (
        ("difference", features.table, 1),
        ("accuracy", accuracy.table, 100),
        ("ece", before, 100),
    ):
        own = rows[(rows["split"] == "test") & (rows["method"] != "lp")]
        check_one_run(own, figure.kind, "texts", "method", "rate", "seed")
        tables.append(own.assign(quantity=name, value=unit * own[name], set=own["texts"]))
    found = pd.concat(tables, ignore_index=True)
    mean = found.groupby(["set", "method", "rate", "quantity"])["value"].transform("mean")
    return found.assign(mean=mean)[list(figure.columns)]


def draw(figure: EqualRate, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw a row per set, a panel per quantity; a thin line is a seed."""
    from replication.figures.typeset import seed_count

    names = table["set"].unique().tolist()
    drawing, panels = make_panels(len(names), len(QUANTITIES), 0.7 + 2.0 * len(names))
    for row, name in zip(panels, names, strict=True):
        for axes, (quantity, label) in zip(row, QUANTITIES.items(), strict=True):
            rows = table[(table["set"] == name) & (table["quantity"] == quantity)]
            for method in ordered_methods(rows["method"]):
                draw_seeds(axes, rows[rows["method"] == method], "rate", method_style(method), 5.5)
            rates = sorted(rows["rate"].unique().tolist())
            axes.set(xscale="log", xlabel=r"Learning rate, $10^{-5}$")
            axes.set_ylabel(f"{set_label(name)}\n{label}" if axes is row[0] else label)
            _set_rates(axes, rates)
    for axes in panels[:, 0]:
        axes.set_ylim(0, None)
    title = (
        f"thin lines: {seed_count(table['seed'])}; marks: means; ECE: expected calibration error"
    )
    add_legend(drawing, table["method"], title)
    return drawing


def _set_rates(axes: "Axes", rates: list[float]) -> None:
    """Set a tick for each rate."""
    from replication.figures.typeset import number

    axes.set_xticks(rates, [number(rate / 1e-5) for rate in rates])
    axes.set_xticks([], minor=True)
    axes.margins(x=0.25)
