"""Choice of learning rates."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.study.contract import Figure, Measured
from transformer_dynamics.lp_ft.figures.rows import check_one_run
from transformer_dynamics.lp_ft.figures.styles import add_legend, make_panels, method_style
from transformer_dynamics.lp_ft.settings.labels import ordered_methods, set_label
from transformer_dynamics.lp_ft.settings.metrics import MetricJob

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
    kind: Literal["tuning"]
    """Kind of the figure."""
    experiment: str = "tuning"
    """Experiment of the runs."""

    def sources(self) -> list[tuple[str, str]]:
        """Return the one table."""
        return [(self.experiment, "validation")]


def table(figure: TuningFigure, measured: Measured[MetricJob]) -> "pd.DataFrame":
    """Return accuracy in percent at the kept epoch; the best rate is the smaller of equal ones."""
    import pandas as pd

    rows = measured.table
    rows = rows[rows["is_kept"].astype(bool) & (rows["method"] != "lp")]
    rows = rows.assign(set=rows["texts"], accuracy=100 * rows["accuracy"]).reset_index(drop=True)
    check_one_run(rows, figure.kind, "set", "method", "rate", "seed")
    mean = rows.groupby(["set", "method", "rate"])["accuracy"].mean().reset_index()
    ranked = mean.sort_values("rate").sort_values("accuracy", ascending=False, kind="stable")
    best = ranked.drop_duplicates(["set", "method"])
    keys = set(zip(best["set"], best["method"], best["rate"], strict=True))
    own = zip(rows["set"], rows["method"], rows["rate"], strict=True)
    is_best = pd.Series([key in keys for key in own], rows.index)
    return rows.assign(is_best=is_best)[list(figure.columns)]


def draw(figure: TuningFigure, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw one line per method; the chosen rate is filled."""
    names = table["set"].unique().tolist()
    columns = min(len(names), 4)
    lines = -(-len(names) // columns)
    drawing, panels = make_panels(lines, columns, 0.5 + 1.9 * lines)
    for axes in panels.flat[len(names) :]:
        axes.axis("off")
    for axes, name in zip(panels.flat, names, strict=False):
        rows = table[table["set"] == name]
        for method in ordered_methods(rows["method"]):
            _draw_curve(axes, rows[rows["method"] == method].sort_values("rate"), method)
        axes.set(xscale="log", xlabel="Learning rate", title=set_label(name))
    for row in panels:
        row[0].set_ylabel("Validation accuracy, %")
    add_legend(drawing, table["method"])
    return drawing


def _draw_curve(axes: "Axes", rows: "pd.DataFrame", method: str) -> None:
    look = method_style(method)
    axes.plot(
        rows["rate"], rows["accuracy"], color=look.colour, linestyle=look.line, marker=look.marker,
        markerfacecolor="white",
    )  # fmt: skip
    best = rows[rows["is_best"]]
    axes.plot(
        best["rate"], best["accuracy"], color=look.colour, linestyle="none", marker=look.marker,
        markersize=5.5, zorder=3,
    )  # fmt: skip
