"""What figures share that show several conditions beside each other."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from replication.base.strict import refuse_repeated
from replication.study.contract import Figure, Measured

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

Names = Annotated[list[str], Field(min_length=1), AfterValidator(refuse_repeated)]
CALLED = {
    "itrsa": "ItrSA",
    "itrsa_unnormalised": "ItrSA w/o normalization",
    "akorn": "AKOrN",
    "symmetric": "symmetric SA",
    "energy_single": "E-single",
    "energy_multi": "E-multi",
    "itrsa_spectral": "ItrSA + Spec",
    "akorn_spectral": "AKOrN + Spec",
}
"""Names of conditions in legends."""
EXPONENTS = {
    "max_exponent": "Largest exponent",
    "mean_leading": "Leading exponents, mean",
    "mean_nonnull": "Non-null exponents, mean",
}
"""Columns of exponents, and what their axes are called."""
RENAMED = dict(zip(("max", "leading", "nonnull"), EXPONENTS, strict=True))
"""Those of metrics to those of figures."""

VIEW = (-1.3, 2.1, -1.3, 1.3)
"""What is seen of the complex plane: the least and the largest real part, then imaginary part.
Single eigenvalues without normalisation are so far that nothing could be seen of the others."""


class OfConditions(Figure):
    """A figure that shows the same metrics of several conditions."""

    metrics: ClassVar[tuple[str, ...]]
    """Their names."""
    conditions: Names
    """Names of the conditions."""

    def sources(self) -> list[tuple[str, str]]:
        """Every metric of the first condition, then of the next."""
        return [(name, metric) for name in self.conditions for metric in self.metrics]


def called(condition: str) -> str:
    """What a condition is called in a legend."""
    return CALLED.get(condition, condition.replace("_", " "))


def beside(figure: OfConditions, measured: Sequence[Measured[Any]]) -> "pd.DataFrame":
    """The tables of a figure with one metric, after each other, with a column `model` first."""
    import pandas as pd

    named = zip(figure.conditions, measured, strict=True)
    found = pd.concat([each.table.assign(model=name) for name, each in named], ignore_index=True)
    return found[["model", *found.columns.drop("model")]]


def against_exponents(table: "pd.DataFrame", columns: Iterable[str], solved: str) -> "Drawing":
    """Accuracy, a panel per column of exponents and a dot per row.

    Args:
        table: columns model, accuracy and those of exponents.
        columns: some of `EXPONENTS`.
        solved: what the axis of accuracy is called.
    """
    import matplotlib.pyplot as plt

    from replication.figures.style import WIDTH, category_styles

    columns = list(columns)
    drawing, panels = plt.subplots(
        1, len(columns), figsize=(WIDTH, 2.8), sharey=True, layout="constrained"
    )
    for axes, column in zip(panels, columns, strict=True):
        for model, style in category_styles(table["model"].unique()):
            rows = table[table["model"] == model]
            axes.scatter(
                rows[column], rows["accuracy"], s=10, color=style.colour, marker=style.marker,
                alpha=0.65, linewidths=0, label=called(model),
            )  # fmt: skip
        axes.axvline(0, color="0.5", linewidth=0.6, zorder=0)
        axes.set_xlabel(EXPONENTS[column])
    panels[0].set_ylabel(solved)
    drawing.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", frameon=False, ncols=4
    )
    return drawing


def cloud(axes: "Axes", rows: "pd.DataFrame", title: str, colour: Any) -> None:
    """Eigenvalues in `VIEW`, how many are outside, and the unit circle."""
    from matplotlib.patches import Circle

    axes.add_patch(Circle((0, 0), 1, fill=False, edgecolor="0.4", linewidth=0.7, linestyle="--"))
    axes.scatter(
        rows["re"], rows["im"], s=5, color=colour, alpha=0.5, linewidths=0, rasterized=True
    )
    outside = int(rows["outside"].iloc[0])
    axes.set(title=f"{title}\n{outside} of {len(rows)} outside this view", aspect="equal")
    axes.set(xlim=VIEW[:2], ylim=VIEW[2:], xlabel=r"$\mathrm{Re}\,\lambda$")
    axes.set(xticks=range(-1, 3), yticks=range(-1, 2))


def outside(re: "pd.Series", im: "pd.Series") -> int:
    """How many eigenvalues are not in `VIEW`."""
    return int((~(re.between(*VIEW[:2]) & im.between(*VIEW[2:]))).sum())


def clouds(parts: Sequence[tuple[str, "pd.DataFrame"]]) -> "Drawing":
    """A panel per part, all on one scale.

    Args:
        parts: title and rows (columns re, im and outside) of each.
    """
    import matplotlib.pyplot as plt

    from replication.figures.style import WIDTH, category_styles

    drawing, panels = plt.subplots(
        1, len(parts), figsize=(WIDTH, 0.7 + 0.8 * WIDTH / len(parts)), sharex=True, sharey=True,
        squeeze=False, layout="constrained",
    )  # fmt: skip
    for axes, ((title, rows), style) in zip(panels.flat, category_styles(parts), strict=True):
        cloud(axes, rows, title, style.colour)
    panels[0, 0].set_ylabel(r"$\mathrm{Im}\,\lambda$")
    return drawing
