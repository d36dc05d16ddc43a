"""Parts that figures of trained conditions share: names, styles, sources, scatter plots, clouds."""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from replication.base.strict import refuse_repeated
from replication.figures.panels import legend_below, make_panels
from replication.study.contract import Figure, Measured
from transformer_dynamics.recurrent_attention.settings.metrics import NEAR_ZERO

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from replication.figures.style import Style

Label = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9 .-]*$")]
"""Label of a curve, a panel or a level."""
Names = Annotated[list[str], Field(min_length=1), AfterValidator(refuse_repeated)]
LEGEND_NAMES = {
    "akorn": "AKOrN",
    "itrsa": "ItrSA",
    "itrsa_unnormalised": "ItrSA without normalisation",
    "symmetric": "symmetric SA",
    "energy_single": "E-single",
    "energy_multi": "E-multi",
    "itrsa_spectral": "ItrSA + Spec",
    "akorn_spectral": "AKOrN + Spec",
}
"""Names of conditions in legends, in the order of their styles."""
PENALTIES = {
    "energy": r"E: penalty that holds $W^VW^O$ symmetric, with a single head or multiple ones",
    "spectral": "Spec: penalty that holds largest singular values near 1; strengths chosen here",
}
"""Explanations of penalties in the names of conditions."""
MARKERS = "os^Dv<>h"
"""Markers of conditions, whose filled and open forms differ."""
SOLVED, SOLVED_OUT = "Solved boards", "Solved boards, out of distribution"
"""Labels of the share of boards that are solved."""
EXPONENTS = {
    "max_exponent": "Largest exponent\nper loop",
    "mean_leading": "Mean of the leading\nexponents, per loop",
    "mean_nonnull": "Mean of the non-null\nexponents, per loop",
}
"""Labels of the axes of exponents, by column."""
EXPONENT_COLUMNS = dict(zip(("max", "leading", "nonnull"), EXPONENTS, strict=True))
"""Columns of exponents in figures, by that in metrics."""

VIEW = (-1.3, 2.1, -1.3, 1.3)
"""Visible part of the complex plane: least and largest real part, then imaginary part. Single
eigenvalues without normalisation are so far that nothing could be seen of the others."""


class ConditionFigure(Figure):
    """A figure that shows one metric of one condition."""

    metric: ClassVar[str]
    """Name of the metric."""
    condition: str
    """Name of the condition that is drawn."""

    def sources(self) -> list[tuple[str, str]]:
        """Return the one metric that the figure shows."""
        return [(self.condition, self.metric)]


class ConditionsFigure(Figure):
    """A figure that shows the same metrics of several conditions."""

    metrics: ClassVar[tuple[str, ...]]
    """Names of the metrics."""
    conditions: Names
    """Names of the conditions."""

    def sources(self) -> list[tuple[str, str]]:
        """Return every metric of the first condition, then of the next."""
        return [(name, metric) for name in self.conditions for metric in self.metrics]


def condition_label(condition: str) -> str:
    """Return the name of a condition in legends, without its N and without that it was retuned."""
    return LEGEND_NAMES.get(_base_name(condition), condition.replace("_", " "))


def condition_styles(conditions: Iterable[str]) -> "dict[str, Style]":
    """Return a style per condition, the same in all figures whatever its N."""
    from itertools import cycle

    from matplotlib.colors import to_rgb

    from replication.figures.style import CATEGORIES, LINES, Style

    names = list(conditions)
    # More conditions than colours: the one that is left is black.
    colours = map(to_rgb, (*CATEGORIES, "black"))
    known = dict(zip(LEGEND_NAMES, map(Style, colours, cycle(LINES), MARKERS), strict=True))
    given = {_base_name(name) for name in names}
    free = cycle([style for name, style in known.items() if name not in given] or known.values())
    return {name: known.get(_base_name(name)) or next(free) for name in names}


def explain_penalties(text: str, conditions: Iterable[str]) -> str:
    """Return a text with a line for every penalty that conditions have."""
    given = " ".join(conditions)
    return "\n".join([text, *(line for name, line in PENALTIES.items() if name in given)])


def condition_place(condition: str) -> int:
    """Return the place of a condition in the order of their styles; unknown ones stand last."""
    names = list(LEGEND_NAMES)
    base = _base_name(condition)
    return names.index(base) if base in names else len(names)


def _base_name(condition: str) -> str:
    return re.sub(r"_n\d+|_tuned$", "", condition)


def join_tables(figure: ConditionsFigure, measured: Sequence[Measured[Any]]) -> "pd.DataFrame":
    """Join the tables of a figure with one metric, with a column `model` first."""
    import pandas as pd

    named = zip(figure.conditions, measured, strict=True)
    found = pd.concat([each.table.assign(model=name) for name, each in named], ignore_index=True)
    return found[["model", *found.columns.drop("model")]]


def draw_against_exponents(
    table: "pd.DataFrame", columns: Iterable[str], solved: str, note: str = ""
) -> "Drawing":
    """Draw accuracy, a panel per column of exponents, some of `EXPONENTS`, and a dot per row.

    `solved` is the label of accuracy; `note` goes on after the number of seeds, from its comma.
    """
    from replication.figures.typeset import seed_count

    columns = list(columns)
    drawing, [panels] = make_panels(1, len(columns), 3.0, sharey=True)
    styles = condition_styles(table["model"].unique())
    for axes, column in zip(panels, columns, strict=True):
        for place, (model, style) in enumerate(styles.items()):
            rows = table[table["model"] == model]
            axes.scatter(
                rows[column], rows["accuracy"], s=10, color=style.colour, marker=style.marker,
                alpha=0.65, linewidths=0, label=condition_label(model), zorder=3 - place / 10,
            )  # fmt: skip
        axes.axvspan(-NEAR_ZERO, NEAR_ZERO, color="0.93", zorder=0)
        axes.axvline(0, color="0.5", linewidth=0.6, zorder=0)
        axes.set_xlabel(EXPONENTS[column])
    panels[0].set_ylabel(solved)
    shade = f"\nshade: near zero, |exponent| at most {NEAR_ZERO}"
    title = explain_penalties(f"{seed_count(table['seed'])} of each model{note}{shade}", styles)
    legend_below(drawing, title=title, ncols=4)
    return drawing


def draw_cloud(axes: "Axes", rows: "pd.DataFrame", title: str, colour: Any) -> None:
    """Draw eigenvalues in `VIEW`, the number of those outside, and the unit circle."""
    from matplotlib.patches import Circle

    axes.add_patch(Circle((0, 0), 1, fill=False, edgecolor="0.4", linewidth=0.7, linestyle="--"))
    axes.scatter(
        rows["re"], rows["im"], s=5, color=colour, alpha=0.5, linewidths=0, rasterized=True
    )
    outside = int(rows["outside"].iloc[0])
    axes.set(title=f"{title}\n{outside} of {len(rows)} outside this view", aspect="equal")
    axes.set(xlim=VIEW[:2], ylim=VIEW[2:])
    axes.set(xlabel=r"$\mathrm{Re}\,\lambda$", ylabel=r"$\mathrm{Im}\,\lambda$")
    axes.set(xticks=range(-1, 3), yticks=range(-1, 2))


def count_outside(re: "pd.Series", im: "pd.Series") -> int:
    """Return the number of eigenvalues that are not in `VIEW`."""
    return int((~(re.between(*VIEW[:2]) & im.between(*VIEW[2:]))).sum())
