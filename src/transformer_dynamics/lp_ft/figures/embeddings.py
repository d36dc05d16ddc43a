"""Figures 5 and 6: features of test samples and rows of the head in the plane, by t-SNE."""

from itertools import cycle
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from replication.base.strict import refuse_repeated
from replication.figures.panels import legend_below, make_panels
from replication.study.contract import ExperimentFigure, Measured
from transformer_dynamics.lp_ft.figures.rows import select_rows
from transformer_dynamics.lp_ft.figures.styles import CLASS_COLOURS
from transformer_dynamics.lp_ft.settings.labels import METHOD_LABELS, set_label
from transformer_dynamics.lp_ft.settings.metrics import TsneMetricJob
from transformer_dynamics.lp_ft.settings.runs import Method

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing


COINCIDING = 0.01
"""Distance of points that cannot be told apart, over the extent of a plane."""


class Embeddings(ExperimentFigure):
    """A panel per method, points of samples and stars of the head's rows, coloured by class."""

    metrics: ClassVar[tuple[str, ...]] = ("tsne",)
    title: ClassVar[str] = "LP-FT, Figures 5 and 6: features and heads by t-SNE"
    columns: ClassVar[tuple[str, ...]] = (
        "set", "method", "seed", "kind", "label", "class_name", "x", "y",
    )  # fmt: skip
    kind: Literal["fig5", "fig6"]
    """Kind of the figure."""
    experiment: str = "main"
    """Experiment of the runs."""
    methods: Annotated[list[Method], Field(min_length=1), AfterValidator(refuse_repeated)]
    """Methods from left to right."""


def table(figure: Embeddings, measured: Measured[TsneMetricJob]) -> "pd.DataFrame":
    """Return samples and rows of heads of one seed; each method has a plane of its own."""
    import pandas as pd

    own = [select_rows(measured.table, figure.kind, method=method) for method in figure.methods]
    name = measured.job.texts
    return pd.concat(own, ignore_index=True).assign(set=name)[list(figure.columns)]


def draw(figure: Embeddings, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw the head's rows above the samples."""
    from matplotlib.lines import Line2D

    drawing, panels = make_panels(1, len(figure.methods), 0.7 + 5.2 / len(figure.methods))
    for axes, method in zip(panels[0], figure.methods, strict=True):
        own = table[table["method"] == method]
        _draw_plane(axes, own)
        axes.set_title(f"{METHOD_LABELS[method]}, {set_label(own['set'].iloc[0])}")
    handles, _ = panels[0, 0].get_legend_handles_labels()
    star = Line2D(
        [], [], marker="*", markersize=9, linestyle="none", markerfacecolor="white",
        markeredgecolor="black", markeredgewidth=0.7, label="row of the head",
    )  # fmt: skip
    title = f"seed {table['seed'].iloc[0]} alone; a plane per method, its axes mean nothing"
    legend_below(drawing, [*handles, star], title, handlelength=1.5)
    return drawing


def _draw_plane(axes: "Axes", rows: "pd.DataFrame") -> None:
    from replication.figures.style import MARKERS

    classes = rows.sort_values("label")["class_name"].unique().tolist()
    looks = zip(classes, cycle(CLASS_COLOURS), cycle(MARKERS), strict=False)
    for class_name, colour, marker in looks:
        own = rows[rows["class_name"] == class_name]
        samples, heads = (own[own["kind"] == kind] for kind in ("sample", "head"))
        axes.scatter(
            samples["x"], samples["y"], s=14, color=colour, marker=marker, linewidths=0,
            alpha=0.75, label=class_name,
        )  # fmt: skip
        axes.scatter(
            heads["x"], heads["y"], s=110, color=colour, marker="*", edgecolors="black",
            linewidths=0.7, zorder=3,
        )  # fmt: skip
    axes.set(xticks=[], yticks=[], aspect="equal", adjustable="datalim")
    _tell_coinciding(axes, rows)


def _tell_coinciding(axes: "Axes", rows: "pd.DataFrame") -> None:
    """Say how many rows of the head lie at one place, where one star hides the others."""
    places = rows[["x", "y"]]
    near = COINCIDING * float((places.max() - places.min()).max())
    heads = rows[rows["kind"] == "head"]
    for number, (x, y) in enumerate(zip(heads["x"], heads["y"], strict=True)):
        close = ((heads["x"] - x).abs() < near) & ((heads["y"] - y).abs() < near)
        if close.sum() > 1 and close.to_list().index(True) == number:
            axes.annotate(
                f"{close.sum()} rows coincide", (x, y), xytext=(8, -1), textcoords="offset points",
                va="center", fontsize=7,
            )  # fmt: skip
