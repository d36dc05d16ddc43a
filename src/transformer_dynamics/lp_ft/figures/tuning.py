"""Choice of learning rates."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.figures.panels import wrap_panels
from replication.study.contract import ExperimentFigure, Measured
from transformer_dynamics.lp_ft.figures.rows import check_one_run
from transformer_dynamics.lp_ft.figures.styles import add_legend, method_style
from transformer_dynamics.lp_ft.settings.labels import METHOD_LABELS, ordered_methods, set_label
from transformer_dynamics.lp_ft.settings.metrics import MetricJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing


class TuningFigure(ExperimentFigure):
    """Validation accuracy against the rate, a panel per set."""

    metrics: ClassVar[tuple[str, ...]] = ("validation",)
    title: ClassVar[str] = "LP-FT: choice of rates"
    columns: ClassVar[tuple[str, ...]] = (
        "set", "method", "rate", "seed", "epoch", "accuracy", "is_best",
    )  # fmt: skip
    kind: Literal["tuning"]
    """Kind of the figure."""
    experiment: str = "tuning"
    """Experiment of the runs."""


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
    """Draw a panel per set, a row per method and rate; the chosen rate is full."""
    from replication.figures.typeset import number, seed_count

    names = table["set"].unique().tolist()
    columns = next((count for count in (4, 3, 2) if len(names) % count == 0), min(len(names), 3))
    tried = _tried(table)
    height = 0.4 + 0.17 * len(tried)
    drawing, panels = wrap_panels(len(names), columns, height, 0.9, sharey=True)
    for axes, name in zip(panels.flat, names, strict=False):
        rows = table[table["set"] == name]
        for place, (method, rate) in enumerate(tried):
            own = rows[(rows["method"] == method) & (rows["rate"] == rate)]
            _draw_row(axes, own, place, method)
        axes.set(xlabel="Accuracy, %", title=set_label(name))
        axes.margins(x=0.1)
        axes.grid(axis="y", linewidth=0.4)
    labels = [f"{METHOD_LABELS[method]}, rate {number(rate)}" for method, rate in tried]
    for row in panels:
        row[0].set_yticks(range(len(tried)), labels)
        row[0].set_ylim(len(tried) - 0.5, -0.5)
    title = (
        f"validation texts, {seed_count(table['seed'])}; full: the rate that is used, the smaller"
        " one of equal ones"
    )
    add_legend(drawing, table["method"], title)
    return drawing


def _tried(table: "pd.DataFrame") -> list[tuple[str, float]]:
    """Return methods and their rates in the order of rows."""
    rates = table.groupby("method")["rate"].unique()
    return [(name, rate) for name in ordered_methods(rates.index) for rate in sorted(rates[name])]


def _draw_row(axes: "Axes", rows: "pd.DataFrame", place: int, method: str) -> None:
    look = method_style(method)
    for is_best, face in ((False, "white"), (True, look.colour)):
        own = rows[rows["is_best"] == is_best]
        axes.plot(
            own["accuracy"], [place] * len(own), color=look.colour, linestyle="none",
            marker=look.marker, markersize=5, markerfacecolor=face,
        )  # fmt: skip
