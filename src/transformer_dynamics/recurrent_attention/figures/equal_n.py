"""AKOrN against ItrSA at equal N."""

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from replication.figures.panels import legend_below, make_panels
from replication.study.contract import Figure, Measured
from transformer_dynamics.recurrent_attention.figures.conditions import Names
from transformer_dynamics.recurrent_attention.settings.metrics import OUT, Accuracy, MetricJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

Share = Annotated[float, Field(gt=0, lt=1)]


class EqualN(Figure):
    """Accuracy of AKOrN minus that of ItrSA, a row per N."""

    title: ClassVar[str] = "Recurrent attention: AKOrN against ItrSA at equal N"
    columns: ClassVar[tuple[str, ...]] = (
        "N", "T", "seed", "akorn", "itrsa", "value", "mean", "lower", "upper",
    )  # fmt: skip
    kind: Literal["equal_n"]
    """Kind of the figure."""
    akorn: Names
    """Conditions of AKOrN, of ascending N."""
    itrsa: Names
    """Conditions of ItrSA, of the same N."""
    margin: Share = 0.05
    """Smallest difference that matters, as in claims about accuracy."""
    confidence: Share = 0.95
    """Confidence of the intervals."""

    def sources(self) -> list[tuple[str, str]]:
        """Return the accuracy of AKOrN, then that of ItrSA."""
        return [(name, "accuracy") for name in (*self.akorn, *self.itrsa)]


def table(figure: EqualN, *measured: Measured[MetricJob[Accuracy]]) -> "pd.DataFrame":
    """Return accuracies out of distribution after the most loops, and differences, by N and seed.

    A mean and its t interval are those of the difference over seeds.
    """
    import pandas as pd

    from replication.judge.statistics import add_intervals

    count = len(figure.akorn)
    solved = {
        name: pd.concat([_last(each) for each in tables])
        for name, tables in (("akorn", measured[:count]), ("itrsa", measured[count:]))
    }
    rows = solved["akorn"].rename(columns={"solved": "akorn"})
    both = rows.merge(solved["itrsa"].rename(columns={"solved": "itrsa"}), on=["N", "T", "seed"])
    both = both.assign(value=both["akorn"] - both["itrsa"]).sort_values("N", kind="stable")
    return add_intervals(both, ["N"], figure.confidence)[list(figure.columns)]


def _last(measured: Measured[MetricJob[Accuracy]]) -> "pd.DataFrame":
    """Return N, T, seed and the solved share after the most loops."""
    rows = measured.table[measured.table["split"] == OUT]
    rows = rows[rows["loops"] == rows["loops"].max()].rename(columns={"loops": "T"})
    sized: pd.DataFrame = rows.assign(N=measured.job.train.model.block)
    return sized[["N", "T", "seed", "solved"]]


def draw(figure: EqualN, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw both models left, and their difference right, a row per N."""
    from replication.figures.typeset import seed_count
    from transformer_dynamics.recurrent_attention.figures.conditions import (
        SOLVED_OUT,
        condition_label,
        condition_styles,
    )

    sizes = sorted({*table["N"]})
    drawing, [[left, right]] = make_panels(1, 2, 1.2 + 0.28 * len(sizes), sharey=True)
    styles = condition_styles(["akorn", "itrsa"])
    for place, size in enumerate(sizes):
        own = table[table["N"] == size]
        for shift, (model, style) in zip((-0.2, 0.2), styles.items(), strict=True):
            left.scatter(
                own[model], [round(place + shift, 1)] * len(own), s=9, color=style.colour,
                alpha=0.7, marker=style.marker, linewidths=0,
                label=None if place else condition_label(model),
            )  # fmt: skip
        right.scatter(own["value"], [place] * len(own), s=8, color="0.35", alpha=0.6, linewidths=0)
        right.hlines(place, *own[["lower", "upper"]].iloc[0], color="0.1", linewidth=1.2)
        right.plot(own["mean"].iloc[:1], [place], "|", color="0.1", markersize=8, mew=1.6)
    right.axvline(0, color="0.4", linewidth=0.7, zorder=0)
    right.axvspan(-figure.margin, figure.margin, color="0.9", linewidth=0, zorder=-1)
    left.set_yticks(range(len(sizes)), [f"$N={size}$" for size in sizes])
    left.set_ylim(len(sizes) - 0.5, -0.5)
    left.set(xlabel=f"{SOLVED_OUT}, $T={table['T'].iloc[0]}$", xlim=(0, 1))
    right.set_xlabel("AKOrN minus ItrSA, by seed")
    seeds, percent = seed_count(table["seed"]), f"{100 * figure.confidence:g} %"
    title = (
        f"marks: {seeds}; bars: mean with {percent} t interval; shaded: less than the"
        f" {figure.margin:g} that matters"
    )
    legend_below(drawing, title=title)
    return drawing
