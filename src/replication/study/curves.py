"""The figure of curves: the seeds of experiments along an axis, a panel for each experiment."""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from replication.base.errors import InputError
from replication.base.strict import refuse_repeated, unknown_key
from replication.figures.panels import wrap_panels
from replication.figures.typeset import seed_count
from replication.study.contract import Figure, Measured

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing


class Curves(Figure):
    """Curves of a metric, one for each seed and their mean, in a panel for each experiment."""

    title: ClassVar[str] = "Curves of every seed and their mean"
    columns: ClassVar[tuple[str, ...]] = ("experiment", "curve", "axis", "seed", "value", "mean")
    kind: Literal["curves"]
    experiments: Annotated[list[str], Field(min_length=1), AfterValidator(refuse_repeated)]
    metric: str
    axis: str
    """Column of the metric along which curves run, such as the number of updates."""
    value: str
    """Column of the metric with the values."""
    curve: str | None = None
    """Column of the metric that tells curves of a seed apart, if it has several."""
    logarithmic: bool = False
    """True if the axis of values is logarithmic."""

    def sources(self) -> list[tuple[str, str]]:
        """Return the metric of every experiment."""
        return [(name, self.metric) for name in self.experiments]


def table(figure: Curves, *measured: Measured[Any]) -> "pd.DataFrame":
    """Return every seed's values, and their mean over seeds, however seeds were cut into jobs.

    Where a seed has no finite value, as after it diverged, the mean has none either. An
    `InputError` if the metric lacks a column, or has several values in one place.
    """
    import pandas as pd

    names = {"curve": figure.curve, "axis": figure.axis, "value": figure.value, "seed": "seed"}
    columns = {name: column for name, column in names.items() if column}
    found = []
    for experiment, (rows, _) in zip(figure.experiments, measured, strict=True):
        for column in columns.values():
            if column not in rows:
                known = unknown_key(column, [*map(str, rows.columns)])
                raise InputError(f"metric {figure.metric} of {experiment}: {known}")
        part = pd.DataFrame({name: rows[column] for name, column in columns.items()})
        part = pd.DataFrame({"experiment": experiment, "curve": figure.value} | dict(part))
        found.append(part.sort_values(["curve", "axis", "seed"]))
    whole = pd.concat(found, ignore_index=True)
    place = ["experiment", "curve", "axis"]
    if whole.duplicated([*place, "seed"]).any():
        raise InputError(
            f"metric {figure.metric}: a seed has several values of {figure.value} at one"
            f" {figure.axis}; name the column that tells them apart as `curve`"
        )
    means = whole.groupby(place)["value"].agg(lambda values: values.mean(skipna=False))
    return whole.join(means.rename("mean"), place)[list(figure.columns)]


def draw(figure: Curves, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw a thin line for each seed and a thick one for the mean; the panels share their axes."""
    from replication.figures.style import curve_styles

    panels = table.groupby("experiment", sort=False)
    drawing, grid = wrap_panels(len(panels), min(len(panels), 3), 2.1, sharex=True, sharey=True)
    styles = dict(curve_styles(table["curve"].unique()))
    for axes, (name, panel) in zip(grid.flat, panels, strict=False):
        axes.set_title(f"{name}, {seed_count(panel['seed'])}")
        for curve, lines in panel.groupby("curve", sort=False):
            style = styles[curve]
            seeds = lines.pivot(index="axis", columns="seed", values="value")
            axes.plot(seeds.index, seeds, color=style.colour, linewidth=0.4, alpha=0.5)
            mean = lines.drop_duplicates("axis")
            label = f"{figure.curve} {curve}" if figure.curve else "mean"
            look = {"linestyle": style.line, "color": style.colour, "label": label}
            axes.plot(mean["axis"], mean["mean"], **look)
    grid[0, 0].legend(frameon=False)
    if figure.logarithmic:
        grid[0, 0].set_yscale("log")
    drawing.supxlabel(figure.axis.replace("_", " "))
    drawing.supylabel(figure.value.replace("_", " "))
    return drawing
