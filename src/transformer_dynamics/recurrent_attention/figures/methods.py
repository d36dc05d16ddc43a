"""Accuracy against the number of loops, by method: Figures 5 and S.3."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.study.contract import Figure, Measured
from transformer_dynamics.recurrent_attention.figures.conditions import Label
from transformer_dynamics.recurrent_attention.figures.fig4 import (
    DRAWN,
    accuracy_along_loops,
    draw_pair,
    subplot_pairs,
)
from transformer_dynamics.recurrent_attention.settings.metrics import IN, OUT, Accuracy, MetricJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing


class Methods(Figure):
    """Accuracy against T in and out of distribution, a curve per method."""

    title: ClassVar[str] = "Recurrent attention, Figures 5 and S.3: accuracy of six methods"
    columns: ClassVar[tuple[str, ...]] = ("method", "N", "lambda", *DRAWN)
    kind: Literal["fig5", "figS3"]
    """Kind of the figure."""
    methods: dict[Label, str]
    """Condition by name of its method."""

    def sources(self) -> list[tuple[str, str]]:
        """Return the accuracy of all methods."""
        return [(condition, "accuracy") for condition in self.methods.values()]


def table(figure: Methods, *measured: Measured[MetricJob[Accuracy]]) -> "pd.DataFrame":
    """Return the accuracy of every seed; lambda is 0 where there is no regulariser."""
    import pandas as pd

    tables = []
    for method, each in zip(figure.methods, measured, strict=True):
        train = each.job.train
        strength = train.penalty.strength if train.penalty else 0.0
        tables.append(
            accuracy_along_loops(each).assign(
                method=method, N=train.model.block, **{"lambda": strength}
            )
        )
    return pd.concat(tables, ignore_index=True)[list(figure.columns)]


def draw(figure: Methods, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw accuracy in distribution on the left, out of it on the right."""
    from replication.figures.style import category_styles

    drawing, pairs = subplot_pairs(2, 3.2)
    for pair, split in zip(pairs, (IN, OUT), strict=True):
        rows = table[table["split"] == split]
        curves = []
        for name, style in category_styles(table["method"].unique()):
            own = rows[rows["method"] == name]
            curves.append((f"{name}, $N={own['N'].iloc[0]}$", style, own))
        draw_pair(pair, split.capitalize(), curves)
        pair[1].tick_params(axis="x", rotation=90)
    pairs[0][0].set_ylabel("Accuracy")
    return drawing
