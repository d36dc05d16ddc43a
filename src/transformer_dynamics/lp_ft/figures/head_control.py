"""Direction and norm of the head apart: FT ratio, its P term, and how far features then move."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from replication.base.strict import REMOVABLE
from replication.figures.panels import legend_below, make_panels
from replication.study.contract import Figure, Measured
from transformer_dynamics.encoders.settings import TextName
from transformer_dynamics.lp_ft.figures.rows import check_one_run, check_set_names
from transformer_dynamics.lp_ft.figures.styles import CHANGE_AXIS, method_style
from transformer_dynamics.lp_ft.settings.labels import set_label

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

HEADS = [
    ("random", "random"),
    ("random", "probe"),
    ("probe", "random"),
    ("probe", "probe"),
]
"""Direction and norm of the heads, from left to right."""
OF_DIRECTION = {"random": "ft", "probe": "lp_ft"}
"""Method that starts from a direction."""
ROWS = {
    "ft_ratio": "FT ratio",
    "p_term": "Length of the $P$ term",
    "difference": CHANGE_AXIS,
}
"""Axis of each quantity that is drawn."""
STARTS = ["ft_ratio", "p_term", "f_term", "feature_change"]
"""Quantities of the start of fine-tuning."""
BESIDE = 0.2
"""Distance of dots of all samples and of a subset from the middle."""


class HeadControl(Figure):
    """FT ratio, P term and change of features for heads by direction and norm."""

    title: ClassVar[str] = "LP-FT: direction and norm of the head"
    columns: ClassVar[tuple[str, ...]] = (
        "set", "direction", "norm", "samples", "seed", "head_norm", "quantity", "value", "mean",
        "median",
    )  # fmt: skip
    kind: Literal["head_control"]
    """Kind of the figure."""
    starts: Annotated[dict[TextName, str], Field(min_length=1), REMOVABLE]
    """Experiment at the start of fine-tuning by set, from left to right."""
    trained: str
    """Experiment with trained runs from heads of either norm."""

    def sources(self) -> list[tuple[str, str]]:
        """Return experiment and metric of the starts of all sets, then of the trained runs."""
        starts = [(name, "head_control") for name in self.starts.values()]
        return [*starts, (self.trained, "features")]


def table(figure: HeadControl, *measured: Measured[Any]) -> "pd.DataFrame":
    """Return every seed, and means and medians over those whose value is finite.

    `samples` are those of the sums over i, all of the probe's or a subset. `feature_change` is that
    of one step of gradient descent with eta = 1, `difference` that of training.
    """
    import pandas as pd

    *starts, trained = measured
    check_set_names(figure.kind, dict(zip(figure.starts, starts, strict=True)))
    tables = []
    for name, each in zip(figure.starts, starts, strict=True):
        keys = ["direction", "norm", "samples", "seed", "head_norm"]
        long = each.table.melt(id_vars=keys, value_vars=STARTS, var_name="quantity")
        tables.append(long.assign(set=name))
    rows = trained.table
    rows = rows[rows["split"] == "test"]
    check_one_run(rows, figure.kind, "texts", "method", "norm_of", "seed")
    direction = rows["method"].map({method: name for name, method in OF_DIRECTION.items()})
    moved = rows.assign(
        set=rows["texts"], direction=direction, head_norm=rows["start_norm"], norm=rows["norm_of"],
        samples="all", quantity="difference", value=rows["difference"],
    )  # fmt: skip
    found = pd.concat([*tables, moved], ignore_index=True)
    same = found.groupby(["set", "direction", "norm", "samples", "quantity"])["value"]
    found = found.assign(mean=same.transform("mean"), median=same.transform("median"))
    return found[list(figure.columns)]


def draw(figure: HeadControl, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw a column per set, a row per quantity; dots are seeds, hollow those of a subset."""
    from replication.figures.typeset import seed_count

    trained = table.loc[table["quantity"] == "difference", "set"].unique().tolist()
    # What was not trained stands last, above the legend.
    names = sorted(figure.starts, key=lambda name: name not in trained)
    drawing, panels = make_panels(len(ROWS), len(names), 4.7, sharey="row", sharex=True)
    for (quantity, label), row in zip(ROWS.items(), panels, strict=True):
        for axes, name in zip(row, names, strict=True):
            own = table[(table["set"] == name) & (table["quantity"] == quantity)]
            if own.empty:
                axes.axis("off")
                continue
            _heads(axes, own)
        row[0].set_ylabel(label)
    for axes, name in zip(panels[0], names, strict=True):
        axes.set_title(set_label(name))
    ratios = table.loc[table["quantity"] == "ft_ratio", "value"]
    panels[0, 0].set_ylim(0, max(1.08, 1.05 * ratios.max()))
    panels[1, 0].set_yscale("log")
    panels[2, 0].set_ylim(0, None)
    _name_heads(panels, trained, names)
    handles = _legend_handles()
    title = f"dots: {seed_count(table['seed'])}"
    if len(trained) < len(names):
        panels[2, -1].legend(handles=handles, title=title, loc="center", frameon=False)
    else:
        legend_below(drawing, handles, title, ncols=2)
    return drawing


def _heads(axes: "Axes", rows: "pd.DataFrame") -> None:
    """Draw the seeds of every head, and a bar at their median; means may lie where no seed does."""
    beside = BESIDE if "subset" in set(rows["samples"]) else 0.0
    for place, (direction, norm) in enumerate(HEADS):
        colour = method_style(OF_DIRECTION[direction]).colour
        for samples, side in (("all", -1), ("subset", 1)):
            own = rows[
                (rows["direction"] == direction)
                & (rows["norm"] == norm)
                & (rows["samples"] == samples)
            ]
            if own.empty:
                continue
            x = place + side * beside
            axes.scatter(
                [x] * len(own), own["value"], s=11, color=colour, linewidths=0.8, alpha=0.8,
                facecolors=colour if samples == "all" else "none",
            )  # fmt: skip
            ends = [round(x - 0.1, 1), round(x + 0.1, 1)]
            axes.plot(ends, [own["median"].iloc[0]] * 2, color="black", linewidth=1.1)


def _name_heads(panels: Any, trained: Sequence[str], names: Sequence[str]) -> None:
    """Write the norms of heads below the last panel of every column; colours are directions."""
    labels = [norm for _, norm in HEADS]
    for column, name in enumerate(names):
        axes = panels[2 if name in trained else 1, column]
        axes.set_xticks(range(len(HEADS)), labels)
        axes.set_xlim(-0.5, len(HEADS) - 0.5)
        axes.tick_params(axis="x", length=0, labelbottom=True)
        axes.set_xlabel("norm of the head")


def _legend_handles() -> list[Any]:
    from matplotlib.lines import Line2D

    def dot(text: str, **look: Any) -> Line2D:
        return Line2D([], [], marker="o", linestyle="none", markersize=4, label=text, **look)

    colours = {name: method_style(method).colour for name, method in OF_DIRECTION.items()}
    return [
        *(dot(f"{name} direction", color=colour) for name, colour in colours.items()),
        dot("full: over all samples of LP", color="0.3"),
        dot("open: over a subset", color="0.3", markerfacecolor="none"),
        Line2D([], [], color="black", linewidth=1.1, label="median"),
    ]
