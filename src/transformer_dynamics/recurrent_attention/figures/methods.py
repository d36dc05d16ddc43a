"""Accuracy against the number of loops, by method: Figures 5 and S.3."""

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from replication.base.strict import REMOVABLE
from replication.figures.panels import legend_below
from replication.study.contract import Figure, Measured
from transformer_dynamics.recurrent_attention.figures.conditions import (
    SOLVED,
    Label,
    condition_label,
    condition_place,
    condition_styles,
    explain_penalties,
)
from transformer_dynamics.recurrent_attention.figures.fig4 import (
    DRAWN,
    accuracy_along_loops,
    bars_note,
    draw_pair,
    subplot_pairs,
)
from transformer_dynamics.recurrent_attention.settings.metrics import IN, OUT, Accuracy, MetricJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing


class Methods(Figure):
    """Accuracy against T in and out of distribution, a curve per method."""

    title: ClassVar[str] = "Recurrent attention, Figures 5 and S.3: accuracy by method at equal N"
    columns: ClassVar[tuple[str, ...]] = ("method", "N", "lambda", *DRAWN)
    kind: Literal["fig5", "figS3"]
    """Kind of the figure."""
    methods: dict[Label, str]
    """Condition by name of its method."""
    others: Annotated[dict[Label, str], REMOVABLE] = {}
    """Conditions that let every N have both models, by their names; out of distribution alone."""

    def sources(self) -> list[tuple[str, str]]:
        """Return the accuracy of all methods."""
        return [(condition, "accuracy") for condition in self.conditions.values()]

    @property
    def conditions(self) -> dict[str, str]:
        """Condition by name, of methods and others."""
        return {**self.methods, **self.others}


def table(figure: Methods, *measured: Measured[MetricJob[Accuracy]]) -> "pd.DataFrame":
    """Return the accuracy of every seed; lambda is 0 where there is no regulariser."""
    import pandas as pd

    tables = []
    for method, each in zip(figure.conditions, measured, strict=True):
        train = each.job.train
        strength = train.penalty.strength if train.penalty else 0.0
        rows = accuracy_along_loops(each)
        if method in figure.others:
            rows = rows[rows["split"] == OUT]
        tables.append(rows.assign(method=method, N=train.model.block, **{"lambda": strength}))
    return pd.concat(tables, ignore_index=True)[list(figure.columns)]


def draw(figure: Methods, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw accuracy in distribution on the left, out of it on the right; methods of one N together.

    Lines of the largest N are dashed where there are several.
    """
    drawing, pairs = subplot_pairs(2, 3.9)
    styles = condition_styles(figure.conditions.values())
    sizes = table.drop_duplicates("method").set_index("method")["N"]
    for pair, split in zip(pairs, (IN, OUT), strict=True):
        rows = table[table["split"] == split]
        shown = [(sizes[name], figure.conditions[name], name) for name in rows["method"].unique()]
        curves = []
        for size, condition, name in sorted(
            shown, key=lambda one: (one[0], condition_place(one[1]))
        ):
            dashed = size == sizes.max() > sizes.min()
            style = styles[condition]._replace(line="--" if dashed else "-")
            label = f"{condition_label(condition)}, $N={size}$"
            curves.append((label, style, rows[rows["method"] == name]))
        draw_pair(pair, split.capitalize(), curves)
        pair[1].tick_params(axis="x", rotation=90)
        below = [size for size, *_ in shown if size < sizes.max()]
        if 0 < len(below) < len(shown):
            pair[1].axvline(len(below) - 0.3, color="0.6", linewidth=0.6)
    pairs[0][0].set_ylabel(SOLVED)
    title = explain_penalties(bars_note(table), figure.conditions.values())
    legend_below(drawing, [], title)
    return drawing
