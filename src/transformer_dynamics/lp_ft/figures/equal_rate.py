"""FT and LP-FT at the same rates, batches and numbers of steps."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.study.contract import Figure, Measured
from transformer_dynamics.lp_ft.figures.labels import (
    DIFFERENCE,
    called,
    check_one_run,
    in_order,
    legend,
    style,
)
from transformer_dynamics.lp_ft.measure_settings import MeasureJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

QUANTITIES = {
    "difference": DIFFERENCE,
    "accuracy": "Test accuracy, %",
    "ece": "ECE, %",
}
"""What is drawn, and its axis."""


class EqualRate(Figure):
    """Feature change, accuracy and calibration against the rate."""

    title: ClassVar[str] = "LP-FT: FT and LP-FT at the same rates"
    columns: ClassVar[tuple[str, ...]] = (
        "set", "method", "rate", "seed", "quantity", "value", "mean",
    )  # fmt: skip
    drawing: Literal["equal_rate"]
    """Which drawing."""
    experiment: str = "equal_rate"
    """Whose runs."""

    def sources(self) -> list[tuple[str, str]]:
        """A metric of each quantity."""
        return [(self.experiment, metric) for metric in ("features", "accuracy", "calibration")]


def table(
    figure: EqualRate,
    features: Measured[MeasureJob],
    accuracy: Measured[MeasureJob],
    calibration: Measured[MeasureJob],
) -> "pd.DataFrame":
    """Every run's own test set, and means over seeds; ECE is before temperature scaling."""
    import pandas as pd

    before = calibration.table[~calibration.table["is_scaled"].astype(bool)]
    tables = []
    for name, rows, unit in (
        ("difference", features.table, 1),
        ("accuracy", accuracy.table, 100),
        ("ece", before, 100),
    ):
        own = rows[(rows["split"] == "test") & (rows["method"] != "lp")]
        check_one_run(own, figure.drawing, "texts", "method", "rate", "seed")
        tables.append(own.assign(quantity=name, value=unit * own[name], set=own["texts"]))
    found = pd.concat(tables, ignore_index=True)
    mean = found.groupby(["set", "method", "rate", "quantity"])["value"].transform("mean")
    return found.assign(mean=mean)[list(figure.columns)]


def draw(figure: EqualRate, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """A row per set, a panel per quantity; dots are seeds."""
    import matplotlib.pyplot as plt

    from replication.figures.style import WIDTH

    names = table["set"].unique().tolist()
    drawing, panels = plt.subplots(
        len(names), len(QUANTITIES), figsize=(WIDTH, 0.4 + 2.1 * len(names)), squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for row, name in zip(panels, names, strict=True):
        for axes, (quantity, label) in zip(row, QUANTITIES.items(), strict=True):
            rows = table[(table["set"] == name) & (table["quantity"] == quantity)]
            for method in in_order(rows["method"]):
                _curve(axes, rows[rows["method"] == method], method)
            rates = sorted(rows["rate"].unique().tolist())
            axes.set(xscale="log", ylabel=label, xlabel=r"Learning rate, $10^{-5}$")
            _set_rates(axes, rates)
        row[1].set_title(called(name))
    for axes in panels[:, 0]:
        axes.set_ylim(0, None)
    legend(drawing, table["method"])
    return drawing


def _curve(axes: "Axes", rows: "pd.DataFrame", method: str) -> None:
    look = style(method)
    axes.scatter(rows["rate"], rows["value"], s=6, color=look.colour, alpha=0.4, linewidths=0)
    means = rows.drop_duplicates("rate").sort_values("rate")
    axes.plot(
        means["rate"], means["mean"], color=look.colour, linestyle=look.line, marker=look.marker
    )


def _set_rates(axes: "Axes", rates: list[float]) -> None:
    """A tick for each rate."""
    from replication.figures.typeset import number

    axes.set_xticks(rates, [number(rate / 1e-5) for rate in rates])
    axes.set_xticks([], minor=True)
    axes.margins(x=0.12)
