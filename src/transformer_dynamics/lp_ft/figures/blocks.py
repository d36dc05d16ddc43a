"""Figures 8 and 9: trace norms of the blocks of kernels, with samples ordered by class."""

from itertools import product
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from replication.base.strict import REMOVABLE, Count, refuse_repeated
from replication.figures.panels import make_panels
from replication.study.contract import Figure, Measured
from transformer_dynamics.encoders.settings import TextName
from transformer_dynamics.lp_ft.figures.rows import check_set_names
from transformer_dynamics.lp_ft.figures.styles import kernel_label
from transformer_dynamics.lp_ft.settings.labels import PRETRAINED, class_labels, set_label

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

COLOURS = "viridis"
"""Map of colours, from nothing to the largest trace norm of a map."""
LARGEST = 1.75
"""Largest side of a map, in inches."""
KernelMethod = Literal["pretrained", "ft", "lora", "lp_ft", "lp_lora"]


class Blocks(Figure):
    """Heat maps, a row per set and a column per kernel, each over its largest trace norm."""

    picture: ClassVar[str] = "png"
    title: ClassVar[str] = "LP-FT, Figures 8 and 9: trace norms of the blocks of kernels"
    columns: ClassVar[tuple[str, ...]] = (
        "set", "method", "kernel", "seed", "i", "j", "class_i", "class_j", "trace_norm",
    )  # fmt: skip
    kind: Literal["fig8", "fig9"]
    """Kind of the figure."""
    kernels: Annotated[dict[TextName, str], Field(min_length=1), REMOVABLE]
    """Experiment by set."""
    methods: Annotated[list[KernelMethod], Field(min_length=1), AfterValidator(refuse_repeated)]
    """Methods whose F is drawn; P for `pretrained`."""
    every: Count = 2
    """Distance of the samples that are drawn, in their order."""

    def sources(self) -> list[tuple[str, str]]:
        """Return experiment and metric of the trace norms of each set."""
        return [(name, "kernel_blocks") for name in self.kernels.values()]


def table(figure: Blocks, *measured: Measured[Any]) -> "pd.DataFrame":
    """Return blocks of one seed with i at most j; the order of two samples changes no norm."""
    import pandas as pd

    check_set_names(figure.kind, dict(zip(figure.kernels, measured, strict=True)))
    tables = []
    for name, each in zip(figure.kernels, measured, strict=True):
        rows = each.table.replace({"method": {"all": PRETRAINED}}).assign(set=name)
        shown = (rows["i"] % figure.every == 0) & (rows["j"] % figure.every == 0)
        rows = rows[shown & (rows["i"] <= rows["j"])]
        tables += [rows[rows["method"] == method] for method in figure.methods]
    return pd.concat(tables, ignore_index=True)[list(figure.columns)]


def draw(figure: Blocks, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw maps with lines between classes; the largest trace norm stands above its map."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    maps = list(product(figure.kernels, figure.methods))
    lines, columns = len(figure.kernels), len(figure.methods)
    side = min(4.2 / columns, LARGEST)
    drawing, panels = make_panels(lines, columns, lines * (0.45 + side), layout="compressed")
    for axes, (name, method) in zip(panels.flat, maps, strict=True):
        own = table[(table["set"] == name) & (table["method"] == method)]
        _draw_map(axes, own, method)
        if method == figure.methods[0]:
            _name_classes(axes, own, name)
    drawing.align_ylabels(panels[:, 0])
    shares = ScalarMappable(Normalize(0, 1), COLOURS)
    label = f"Share of the largest; draw of seed {table['seed'].iloc[0]}"
    drawing.colorbar(shares, ax=panels, label=label, ticks=[0, 0.5, 1], pad=0.02)
    return drawing


def _draw_map(axes: "Axes", rows: "pd.DataFrame", method: str) -> None:
    import numpy as np

    from replication.figures.typeset import number

    half = rows.pivot(index="i", columns="j", values="trace_norm").to_numpy()
    # The other half is the same.
    axes.imshow(
        np.where(np.isnan(half), half.T, half), cmap=COLOURS, vmin=0, interpolation="nearest",
        extent=(0, len(half), len(half), 0),
    )  # fmt: skip
    for edge in _class_edges(rows):
        axes.axhline(edge, color="white", linewidth=0.7)
        axes.axvline(edge, color="white", linewidth=0.7)
    axes.set_title(
        f"{kernel_label(method)}\nlargest {number(rows['trace_norm'].max(), 2)}", fontsize=7.5
    )
    axes.set(xticks=[], yticks=[])


def _sample_classes(rows: "pd.DataFrame") -> "pd.Series":
    """Return the class of every sample in the order of the map."""
    return rows.drop_duplicates("i").sort_values("i")["class_i"].reset_index(drop=True)


def _class_edges(rows: "pd.DataFrame") -> list[int]:
    """Return the first sample of every class but the first one."""
    classes = _sample_classes(rows)
    return [int(place) for place in classes.index[classes.diff() > 0]]


def _name_classes(axes: "Axes", rows: "pd.DataFrame", name: str) -> None:
    """Write the names of classes left of a map, each in the middle of its class."""
    classes = _sample_classes(rows)
    places = classes.groupby(classes).apply(lambda own: own.index.to_numpy().mean() + 0.5)
    names = class_labels(name, [int(label) for label in places.index])
    axes.set_yticks(places.tolist(), names, fontsize=7)
    axes.tick_params(axis="y", length=0)
    axes.set_ylabel(set_label(name))
