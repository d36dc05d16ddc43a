"""What the settings of several figures share."""

from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field

from replication.study.contract import Figure
from transformer_dynamics.scan_and_snap.measure_settings import Metric

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing
    from numpy.typing import ArrayLike

Points = Annotated[int, Field(ge=2, le=100_000)]
Size = Annotated[int, Field(ge=4, le=10**9)]
SequenceClass = Annotated[int, Field(ge=1)]
CELL = ["num_last", "eta_z", "ratio"]
"""Columns that tell the values of one seed of a sweep apart."""
TOKEN_STYLES = {"common": ("#e69f00", "//////"), "distinct": ("#0072b2", "")}
"""Kind of token to colour and hatch of its bars."""


class OfRuns(Figure):
    """A figure that shows one metric of an experiment."""

    metric: ClassVar[Metric]
    experiment: str
    """Name of the experiment that is drawn."""

    def sources(self) -> list[tuple[str, str]]:
        """The one table."""
        return [(self.experiment, self.metric)]


class OfSweep(OfRuns):
    """A figure with panels by the number of query tokens."""

    next_tokens_per_query: int = Field(default=2, ge=1)
    """Of every mixture of the experiment, for the titles of the panels."""


def token_bars(
    axes: "Axes",
    kind: str,
    at: "ArrayLike",
    heights: "ArrayLike",
    label: str,
    *,
    filled: bool = True,
) -> None:
    """Bars of common or distinct tokens, filled or only framed."""
    colour, hatch = TOKEN_STYLES[kind]
    face, edge = (colour, "black") if filled else ("white", colour)
    axes.bar(at, heights, color=face, edgecolor=edge, hatch=hatch, linewidth=0.3, label=label)


def dodged(
    axes: "Axes", x: "ArrayLike", mean: "ArrayLike", std: "ArrayLike | None",
    place: tuple[int, int], apart: float = 2, **style: Any,
) -> None:  # fmt: skip
    """Points with bars, moved aside on paper, so that those of several curves can be seen.

    The data stay what they are.

    Args:
        axes: where to draw.
        x: [N] where the points belong.
        mean: [N] the points.
        std: [N] half the lengths of the bars; NaN where there is none, None for points only.
        place: which of how many curves it is.
        apart: how far it is to the next, in points on paper; on a logarithmic axis a factor.
        style: as `errorbar` takes it.
    """
    import numpy as np
    from matplotlib.transforms import ScaledTranslation

    index, count = place
    points = apart * (index - (count - 1) / 2)
    aside = ScaledTranslation(points / 72, 0, axes.figure.dpi_scale_trans)
    axes.errorbar(x, mean, std, transform=axes.transData + aside, **style)
    # What is moved does not count for the limits.
    middle = np.asarray(mean, np.float64)
    spread = np.nan_to_num(np.zeros_like(middle) if std is None else np.asarray(std, np.float64))
    for end in (middle - spread, middle + spread):
        axes.update_datalim(np.column_stack([x, end]))
    axes.margins(x=0.1)


def legend_below(drawing: "Drawing", columns: int | None = None) -> None:
    """One legend for all panels, with every label once, in so many columns or one row."""
    entries = (zip(*axes.get_legend_handles_labels(), strict=True) for axes in drawing.axes)
    named = {label: handle for handle, label in chain.from_iterable(entries)}
    drawing.legend(
        list(named.values()), list(named), loc="outside lower center",
        ncols=columns or len(named), frameon=False,
    )  # fmt: skip
