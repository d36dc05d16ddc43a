"""Exponents and accuracy of all models as they were trained."""

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from replication.study import Measured
from transformer_dynamics.recurrent_attention.figures.conditions import OfConditions, called

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

SPLIT = "out of distribution"
"""Which boards."""
EXPONENTS = {
    "max_exponent": "Largest exponent",
    "mean_leading": "Leading exponents, mean",
    "mean_nonnull": "Non-null exponents, mean",
}
"""Columns and what their axes are called."""


class ExponentAccuracy(OfConditions):
    """Accuracy against exponents, a dot per seed."""

    metrics: ClassVar[tuple[str, ...]] = ("exponents", "accuracy")
    title: ClassVar[str] = "Recurrent attention: exponents and accuracy of trained models"
    columns: ClassVar[tuple[str, ...]] = (
        "model", "seed", "loops", *EXPONENTS, "accuracy",
    )  # fmt: skip
    drawing: Literal["exponent_accuracy"]
    """Which drawing."""
    loops: int
    """T of accuracy."""


def table(figure: ExponentAccuracy, *measured: Measured[Any]) -> "pd.DataFrame":
    """A row per condition and seed: means over boards, and accuracy in [0, 1]."""
    import pandas as pd

    parts = []
    for index, name in enumerate(figure.conditions):
        exponents, accuracy = (each.table for each in measured[2 * index : 2 * index + 2])
        solved = accuracy[(accuracy["split"] == SPLIT) & (accuracy["loops"] == figure.loops)]
        means = exponents.groupby("seed", as_index=False)[["max", "leading", "nonnull"]].mean()
        parts.append(means.merge(solved, on="seed", validate="one_to_one").assign(model=name))
    names = {
        "max": "max_exponent", "leading": "mean_leading", "nonnull": "mean_nonnull",
        "solved": "accuracy",
    }  # fmt: skip
    found = pd.concat(parts, ignore_index=True).rename(columns=names)
    return found[list(figure.columns)]


def draw(figure: ExponentAccuracy, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """A panel per exponent, a dot per seed."""
    import matplotlib.pyplot as plt

    from replication.drawing import WIDTH, category_styles

    drawing, panels = plt.subplots(
        1, len(EXPONENTS), figsize=(WIDTH, 2.7), sharey=True, layout="constrained"
    )
    for axes, (column, label) in zip(panels, EXPONENTS.items(), strict=True):
        for model, style in category_styles(table["model"].unique()):
            rows = table[table["model"] == model]
            axes.scatter(
                rows[column], rows["accuracy"], s=12, color=style.colour, marker=style.marker,
                alpha=0.75, linewidths=0, label=called(model),
            )  # fmt: skip
        axes.axvline(0, color="0.5", linewidth=0.6, zorder=0)
        axes.set_xlabel(label)
    panels[0].set_ylabel(f"Solved boards, out of\ndistribution, $T={figure.loops}$")
    drawing.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", frameon=False, ncols=4
    )
    return drawing
