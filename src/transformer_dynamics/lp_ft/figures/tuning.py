"""How rates were chosen."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.study.contract import Figure, Measured
from transformer_dynamics.lp_ft.figures.labels import called, check_one_run, in_order, legend, style
from transformer_dynamics.lp_ft.measure_settings import MeasureJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing


class TuningFigure(Figure):
    """Validation accuracy against the rate, a panel per set."""

    title: ClassVar[str] = "LP-FT: choice of rates"
    columns: ClassVar[tuple[str, ...]] = (
        "set", "method", "rate", "seed", "epoch", "accuracy", "is_best",
    )  # fmt: skip
    drawing: Literal["tuning"]
    """Which drawing."""
    experiment: str = "tuning"
    """Whose runs."""

    def sources(self) -> list[tuple[str, str]]:
        """The one table."""
        return [(self.experiment, "validation")]


def table(figure: TuningFigure, measured: Measured[MeasureJob]) -> "pd.DataFrame":
    """Accuracy in percent at the epoch that is kept; the best rate, of equal ones the smaller."""
    import pandas as pd

    rows = measured.table
    rows = rows[rows["is_kept"].astype(bool) & (rows["method"] != "lp")]
    rows = rows.assign(set=rows["texts"], accuracy=100 * rows["accuracy"]).reset_index(drop=True)
    check_one_run(rows, figure.drawing, "set", "method", "rate", "seed")
    mean = rows.groupby(["set", "method", "rate"])["accuracy"].mean().reset_index()
    ranked = mean.sort_values("rate").sort_values("accuracy", ascending=False, kind="stable")
    best = ranked.drop_duplicates(["set", "method"])
    keys = set(zip(best["set"], best["method"], best["rate"], strict=True))
    own = zip(rows["set"], rows["method"], rows["rate"], strict=True)
    is_best = pd.Series([key in keys for key in own], rows.index)
    return rows.assign(is_best=is_best)[list(figure.columns)]


def draw(figure: TuningFigure, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """One line per method; what is chosen is filled."""
    import matplotlib.pyplot as plt

    from replication.figures.style import WIDTH

    names = table["set"].unique().tolist()
    columns = min(len(names), 4)
    lines = -(-len(names) // columns)
    drawing, panels = plt.subplots(
        lines, columns, figsize=(WIDTH, 0.5 + 1.9 * lines), squeeze=False, layout="constrained"
    )
    for axes in panels.flat[len(names) :]:
        axes.axis("off")
    for axes, name in zip(panels.flat, names, strict=False):
        rows = table[table["set"] == name]
        for method in in_order(rows["method"]):
            _curve(axes, rows[rows["method"] == method].sort_values("rate"), method)
        axes.set(xscale="log", xlabel="Learning rate", title=called(name))
    for row in panels:
        row[0].set_ylabel("Validation accuracy, %")
    legend(drawing, table["method"])
    return drawing


def _curve(axes: "Axes", rows: "pd.DataFrame", method: str) -> None:
    look = style(method)
    axes.plot(
        rows["rate"], rows["accuracy"], color=look.colour, linestyle=look.line, marker=look.marker,
        markerfacecolor="white",
    )  # fmt: skip
    best = rows[rows["is_best"]]
    axes.plot(
        best["rate"], best["accuracy"], color=look.colour, linestyle="none", marker=look.marker,
        markersize=5.5, zorder=3,
    )  # fmt: skip
