"""Feature change of FT over that of LP-FT, at own and at equal rates."""

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from replication.figures.panels import legend_below, make_panels
from replication.study.contract import Figure, Measured
from transformer_dynamics.lp_ft.figures.rows import check_one_run
from transformer_dynamics.lp_ft.figures.styles import method_style
from transformer_dynamics.lp_ft.settings.labels import set_label
from transformer_dynamics.lp_ft.settings.metrics import MetricJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

OWN, EQUAL = "own", "equal"
"""Kinds of rates: each method at its own, or both at one."""


class FeatureChange(Figure):
    """ln of Diff of FT over Diff of LP-FT, a row per set and rate."""

    title: ClassVar[str] = "LP-FT: feature change of FT over that of LP-FT"
    columns: ClassVar[tuple[str, ...]] = (
        "rates", "set", "rate", "seed", "ft", "lp_ft", "value", "mean", "lower", "upper",
    )  # fmt: skip
    kind: Literal["feature_change"]
    """Kind of the figure."""
    own: str = "main"
    """Experiment with each method at its own rate."""
    equal: str = "equal_rate"
    """Experiment with both methods at the same rates."""
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.95
    """Confidence of the intervals."""

    def sources(self) -> list[tuple[str, str]]:
        """Return both experiments, each with the metric of features."""
        return [(self.own, "features"), (self.equal, "features")]


def table(
    figure: FeatureChange, own: Measured[MetricJob], equal: Measured[MetricJob]
) -> "pd.DataFrame":
    """Return ln(Diff FT/Diff LP-FT) on own test sets by seed, with means and t intervals.

    `rate` is that of both methods, 0 where each has its own.
    """
    import pandas as pd

    tables = []
    for kind, each in ((OWN, own), (EQUAL, equal)):
        rows = each.table[each.table["split"] == "test"]
        rows = rows[rows["method"].isin(["ft", "lp_ft"])].rename(columns={"texts": "set"})
        rate = rows["rate"] if kind == EQUAL else 0.0
        rows = rows.assign(rates=kind, rate=rate)
        check_one_run(rows, figure.kind, "set", "method", "rate", "seed")
        tables.append(rows[["rates", "set", "rate", "seed", "method", "difference"]])
    return compare_methods(pd.concat(tables, ignore_index=True), figure)


def compare_methods(rows: "pd.DataFrame", figure: FeatureChange) -> "pd.DataFrame":
    """Return the figure's table of rows with the columns method and difference."""
    import numpy as np
    import pandas as pd

    from replication.judge.statistics import add_intervals

    keys = ["rates", "set", "rate", "seed"]
    # In the order of rows: own rates first, and sets as they are trained.
    wide = rows.pivot(index=keys, columns="method", values="difference")
    wide = wide.reindex(pd.MultiIndex.from_frame(rows[keys].drop_duplicates())).dropna()
    wide = wide.assign(value=np.log(wide["ft"] / wide["lp_ft"])).reset_index()
    return add_intervals(wide, keys[:-1], figure.confidence)[list(figure.columns)]


def draw(figure: FeatureChange, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw a row per set and rate: seeds, their mean and its interval."""
    from replication.figures.typeset import number, seed_count

    groups = [*table.groupby(["rates", "set", "rate"], sort=False)]
    drawing, [[axes]] = make_panels(1, 1, 1.0 + 0.24 * len(groups))
    for place, (_, own) in enumerate(groups):
        _draw_row(axes, own, place)
    labels = [
        f"{set_label(name)}, {'own rates' if kind == OWN else f'both at {number(rate)}'}"
        for (kind, name, rate), _ in groups
    ]
    axes.set_yticks(range(len(groups)), labels)
    axes.set_ylim(len(groups) - 0.5, -0.5)
    axes.axvline(0, color="0.4", linewidth=0.7, zorder=0)
    first = sum(kind == OWN for (kind, *_), _ in groups)
    if 0 < first < len(groups):
        axes.axhline(first - 0.5, color="0.7", linewidth=0.6)
    axes.set_xlabel(
        r"$\ln(\mathrm{Diff}(F)$ of FT over that of LP-FT$)$: right of 0, FT moves more"
    )
    seeds = seed_count(table["seed"], table["rates"], table["set"])
    percent = f"{100 * figure.confidence:g} %"
    title = f"dots: {seeds}; bars: mean with {percent} t interval"
    legend_below(drawing, [], title)
    return drawing


def _draw_row(axes: "Axes", rows: "pd.DataFrame", place: int) -> None:
    colour = method_style("ft").colour
    first = rows.iloc[0]
    axes.scatter(rows["value"], [place] * len(rows), s=10, color=colour, alpha=0.55, linewidths=0)
    axes.plot([first["lower"], first["upper"]], [place, place], color="0.1", linewidth=1.2)
    axes.plot([first["mean"]], [place], "|", color="0.1", markersize=9, markeredgewidth=1.6)
