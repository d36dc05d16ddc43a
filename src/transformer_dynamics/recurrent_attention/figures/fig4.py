"""Accuracy against the number of loops: Figure 4, by size of the oscillators."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.study import Figure, Measured
from transformer_dynamics.recurrent_attention.labels import Label
from transformer_dynamics.recurrent_attention.measure_settings import Accuracy, MeasureJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from replication.drawing import Style

SPLITS = ("in distribution", "out of distribution")
"""As the metric `accuracy` calls them."""
DRAWN = ("T", "split", "seed", "accuracy", "accuracy_mean", "accuracy_std", "T_train")
"""Columns of accuracy: of a seed, and its mean and standard deviation over seeds."""


def along_loops(measured: Measured[MeasureJob[Accuracy]]) -> "pd.DataFrame":
    """Accuracy of every seed against T: columns `DRAWN`."""
    found = measured.table.rename(columns={"loops": "T", "solved": "accuracy"})
    same = found.groupby(["split", "T"])["accuracy"]
    found = found.assign(
        accuracy_mean=same.transform("mean"),
        accuracy_std=same.transform("std"),
        T_train=measured.job.train.training.loops,
    )
    return found[list(DRAWN)]


def panel(axes: "Axes", curves: "list[tuple[str, Style, pd.DataFrame]]") -> None:
    """Mean over seeds with a band of one standard deviation, and thin lines of the seeds.

    Args:
        axes: where to draw.
        curves: label, style and rows of each, of one split.
    """
    for label, style, rows in curves:
        for _, own in rows.groupby("seed"):
            axes.plot(own["T"], own["accuracy"], color=style.colour, linewidth=0.4, alpha=0.3)
        mean = rows.drop_duplicates("T")
        low, high = (mean["accuracy_mean"] + sign * mean["accuracy_std"] for sign in (-1, 1))
        axes.fill_between(mean["T"], low, high, color=style.colour, alpha=0.1, linewidth=0)
        axes.plot(
            mean["T"], mean["accuracy_mean"], color=style.colour, linestyle=style.line,
            marker=style.marker, markersize=3, label=label, zorder=3,
        )  # fmt: skip
        axes.axvline(mean["T_train"].iloc[0], color="0.6", linewidth=0.6, linestyle=":", zorder=0)
    ticks = sorted({int(each) for _, _, rows in curves for each in rows["T"]})
    axes.set_xscale("log", base=2)
    axes.set_xticks(ticks[::2], [str(each) for each in ticks[::2]])
    axes.set_xticks(ticks[1::2], [], minor=True)
    axes.set(xlabel="Loops $T$", ylim=(-0.03, 1.03))


class Fig4(Figure):
    """Accuracy out of distribution against T for every N, a panel per model."""

    title: ClassVar[str] = "Recurrent attention, Figure 4: accuracy against loops for every N"
    columns: ClassVar[tuple[str, ...]] = ("model", "N", *DRAWN)
    drawing: Literal["fig4"]
    """Which drawing."""
    panels: dict[Label, list[str]]
    """Conditions by title of their panel, of ascending N."""

    def sources(self) -> list[tuple[str, str]]:
        """Accuracy of all conditions, panel by panel."""
        return [(name, "accuracy") for names in self.panels.values() for name in names]


def table(figure: Fig4, *measured: Measured[MeasureJob[Accuracy]]) -> "pd.DataFrame":
    """Accuracy out of distribution of every seed."""
    import pandas as pd

    titles = [title for title, names in figure.panels.items() for _ in names]
    tables = [
        along_loops(each).assign(model=title, N=each.job.train.model.block)
        for title, each in zip(titles, measured, strict=True)
    ]
    found = pd.concat(tables, ignore_index=True)
    return found.loc[found["split"] == SPLITS[1], list(figure.columns)].reset_index(drop=True)


def draw(figure: Fig4, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """A panel per model, a curve per N, darker for larger ones."""
    import matplotlib.pyplot as plt

    from replication.drawing import WIDTH, curve_styles

    sizes = sorted(table["N"].unique().tolist())
    drawing, panels = plt.subplots(
        1, len(figure.panels), figsize=(WIDTH, 2.7), sharey=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for axes, title in zip(panels[0], figure.panels, strict=True):
        rows = table[table["model"] == title]
        curves = [
            (f"$N={size}$", style, rows[rows["N"] == size])
            for size, style in curve_styles(sizes)
            if (rows["N"] == size).any()
        ]
        panel(axes, curves)
        axes.set_title(title)
    panels[0, 0].set_ylabel("Accuracy out of distribution")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    drawing.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return drawing
