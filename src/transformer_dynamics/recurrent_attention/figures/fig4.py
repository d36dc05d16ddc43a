"""Accuracy against the number of loops: Figure 4, by size of the oscillators."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.figures.panels import legend_below, make_panels
from replication.study.contract import Figure, Measured
from transformer_dynamics.recurrent_attention.figures.conditions import SOLVED_OUT, Label
from transformer_dynamics.recurrent_attention.settings.metrics import OUT, Accuracy, MetricJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from replication.figures.style import Style

    Rows = pd.DataFrame

DRAWN = (
    "T", "split", "seed", "accuracy", "accuracy_mean", "accuracy_std", "T_train",
    "accuracy_lower", "accuracy_upper",
)  # fmt: skip
"""Columns of accuracy: that of a seed, its mean and standard deviation over seeds, and the ends of
its bar, which are shares, too."""
SHIFT = 0.4
"""Distance of the seeds' dots from their mean; columns are 1 apart."""


def accuracy_along_loops(measured: Measured[MetricJob[Accuracy]]) -> "pd.DataFrame":
    """Return the accuracy of every seed against T: columns `DRAWN`."""
    found = measured.table.rename(columns={"loops": "T", "solved": "accuracy"})
    same = found.groupby(["split", "T"])["accuracy"]
    mean, std = same.transform("mean"), same.transform("std")
    found = found.assign(
        accuracy_mean=mean,
        accuracy_std=std,
        # A bar is one standard deviation, but no share is below 0 or above 1.
        accuracy_lower=(mean - std).clip(0, 1),
        accuracy_upper=(mean + std).clip(0, 1),
        T_train=measured.job.train.training.loops,
    )
    return found[list(DRAWN)]


def subplot_pairs(count: int, height: float) -> "tuple[Drawing, list[tuple[Axes, Axes]]]":
    """Return pairs of axes for `draw_pair`, on one scale of accuracy; the height is in inches."""
    drawing, [axes] = make_panels(1, 2 * count, height, sharey=True, width_ratios=[1.5, 1] * count)
    return drawing, list(zip(axes[::2], axes[1::2], strict=True))


def draw_pair(
    pair: "tuple[Axes, Axes]", title: str, curves: "list[tuple[str, Style, Rows]]"
) -> None:
    """Draw means over seeds against T on the left, all seeds at the largest T on the right.

    Curves, of one split, are name, style and rows of each. On the right every curve has a column
    with its name and a bar.
    """
    left, right = pair
    for place, (_, style, rows) in enumerate(curves):
        mean = rows.drop_duplicates("T")
        left.plot(mean["T"], mean["accuracy_mean"], **style.look, markersize=3, linewidth=1)
        left.axvline(mean["T_train"].iloc[0], color="0.6", linewidth=0.6, linestyle=":", zorder=0)
        last = rows[rows["T"] == rows["T"].max()]
        right.scatter(
            [place + SHIFT] * len(last), last["accuracy"], s=7, color=style.colour, alpha=0.5,
            linewidths=0,
        )  # fmt: skip
        ends = last[["accuracy_lower", "accuracy_upper"]].iloc[0].tolist()
        right.vlines(place, *ends, color=style.colour, linewidth=0.9)
        right.plot([place], last["accuracy_mean"].iloc[:1], **style.look, markersize=3.5)
    ticks = sorted({int(each) for _, _, rows in curves for each in rows["T"]})
    left.set_xscale("log", base=2)
    left.set_xticks(ticks[::3], [str(each) for each in ticks[::3]])
    left.set_xticks(ticks, [], minor=True)
    left.set(xlabel="Loops $T$", ylim=(-0.03, 1.03), title=title)
    right.set_xticks(range(len(curves)), [name for name, _, _ in curves])
    right.set_xlim(-0.6, len(curves) - 1 + 2 * SHIFT)
    right.set_title(f"$T={ticks[-1]}$")
    right.tick_params(axis="y", length=0)
    for tick, (_, style, _) in zip(right.get_xticklabels(), curves, strict=True):
        tick.set_color(style.colour)


def bars_note(table: "pd.DataFrame") -> str:
    """Return the note that names dots, bars and the dotted line of `draw_pair`."""
    from replication.figures.typeset import seed_count

    seeds = seed_count(table["seed"])
    return f"means of {seeds} (dots); bars: \N{PLUS-MINUS SIGN}1 sd; dotted: $T$ of training"


class Fig4(Figure):
    """Accuracy out of distribution against T for every N, a panel per model."""

    title: ClassVar[str] = "Recurrent attention, Figure 4: accuracy against loops for every N"
    columns: ClassVar[tuple[str, ...]] = ("model", "N", *DRAWN)
    kind: Literal["fig4"]
    """Kind of the figure."""
    panels: dict[Label, list[str]]
    """Conditions by title of their panel, of ascending N."""

    def sources(self) -> list[tuple[str, str]]:
        """Return the accuracy of all conditions, panel by panel."""
        return [(name, "accuracy") for names in self.panels.values() for name in names]


def table(figure: Fig4, *measured: Measured[MetricJob[Accuracy]]) -> "pd.DataFrame":
    """Return the accuracy out of distribution of every seed."""
    import pandas as pd

    titles = [title for title, names in figure.panels.items() for _ in names]
    tables = [
        accuracy_along_loops(each).assign(model=title, N=each.job.train.model.block)
        for title, each in zip(titles, measured, strict=True)
    ]
    found = pd.concat(tables, ignore_index=True)
    return found.loc[found["split"] == OUT, list(figure.columns)].reset_index(drop=True)


def draw(figure: Fig4, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw a pair of panels per model, a curve per N, darker for larger ones."""
    from replication.figures.style import curve_styles

    sizes = sorted(table["N"].unique().tolist())
    drawing, pairs = subplot_pairs(len(figure.panels), 2.7)
    for pair, title in zip(pairs, figure.panels, strict=True):
        rows = table[table["model"] == title]
        curves = [
            (str(size), style, rows[rows["N"] == size])
            for size, style in curve_styles(sizes)
            if (rows["N"] == size).any()
        ]
        draw_pair(pair, title, curves)
        pair[1].set_xlabel("$N$")
    pairs[0][0].set_ylabel(SOLVED_OUT)
    legend_below(drawing, [], bars_note(table))
    return drawing
