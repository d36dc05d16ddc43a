"""Figure 8: sure and actual decreases on quadratics."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.base.strict import Count
from replication.figures.panels import make_panels
from replication.study.contract import Figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

METHODS = {"gradient": "along the gradient (SGD)", "sign": "along signs (SignSGD)"}
"""Labels of directions of steps."""


class Fig8(Figure):
    """One step, and whole descents."""

    title: ClassVar[str] = "Gradient heterogeneity, Figure 8: bounds on quadratics"
    columns: ClassVar[tuple[str, ...]] = ("part", "draw", "method", "bound", "actual")
    kind: Literal["fig8"]
    """Kind of the figure."""
    draws: Count = 300
    """Number of draws of one step."""
    descents: Count = 100
    """Number of whole descents."""


def table(figure: Fig8) -> "pd.DataFrame":
    """Compute parts `step`, sure and actual decrease at the best rate over ||g||^2, and others.

    Part `steps`: steps to the target and their bound. Part `equal` has the ends of the lines where
    both are the same.
    """
    import pandas as pd

    from replication.base.random_streams import generator
    from transformer_dynamics.gradient_heterogeneity.claims.quadratics import (
        TARGET,
        numbered_quadratic,
    )
    from transformer_dynamics.gradient_heterogeneity.theory import quadratics

    rows: list[tuple[str, int, str, float, float]] = []
    for number in range(figure.draws):
        quadratic = numbered_quadratic(number)
        square = float(quadratic.gradient @ quadratic.gradient)
        for method in quadratics.METHODS:
            d = quadratic.direction(method)
            if quadratics.curvature_along(quadratic, d) > 0:
                eta = quadratics.best_rate(quadratic, d)
                sure = quadratics.sure_decrease(quadratic, d, eta)
                actual = quadratic.decrease(-eta * d)
                rows.append(("step", number, method, sure / square, actual / square))
    for number in range(figure.descents):
        random = generator(number, "definite quadratic of blocks")
        quadratic = quadratics.draw_quadratic(random, coupled=number % 2 == 0, definite=True)
        for method in quadratics.METHODS:
            descent = quadratics.descend(quadratic, method, TARGET)
            if descent.steps:
                rows.append(("steps", number, method, descent.bound, float(descent.steps)))
    found = pd.DataFrame(rows, columns=list(figure.columns))
    for part, own in found.groupby("part"):
        # As far as both reach.
        low, high = own[["bound", "actual"]].min().min(), own[["bound", "actual"]].max().min()
        ends = [(f"equal {part}", -1, "", end, end) for end in (low, high)]
        found = pd.concat([found, pd.DataFrame(ends, columns=found.columns)], ignore_index=True)
    return found


def draw(figure: Fig8, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw decreases left, above the line; steps right, below it."""
    from transformer_dynamics.gradient_heterogeneity.figures.labels import (
        add_legend,
        direction_styles,
        marker_handle,
    )

    drawing, [row] = make_panels(1, 2, 3.1)
    styles = direction_styles(METHODS)
    for axes, part in zip(row, ("step", "steps"), strict=True):
        equal = table[table["part"] == f"equal {part}"]
        axes.plot(equal["bound"], equal["actual"], color="0.3", linewidth=0.8)
        for method, style in styles.items():
            own = table[(table["part"] == part) & (table["method"] == method)]
            axes.scatter(
                own["bound"], own["actual"], s=5, color=style.colour, marker=style.marker,
                alpha=0.5, linewidths=0,
            )  # fmt: skip
        axes.set(xscale="log", yscale="log")
    row[0].set(
        title="one step", xlabel=r"guaranteed decrease / $\Vert g\Vert^2$",
        ylabel=r"decrease / $\Vert g\Vert^2$",
    )  # fmt: skip
    row[1].set(title="whole descents", xlabel="largest number by the bound", ylabel="steps")
    handles = [marker_handle(METHODS[method], style) for method, style in styles.items()]
    sizes = [table.loc[table["part"] == part, "draw"].nunique() for part in ("step", "steps")]
    title = f"a dot per random quadratic, {sizes[0]} left, {sizes[1]} right; line: both equal"
    add_legend(drawing, handles, title)
    return drawing
