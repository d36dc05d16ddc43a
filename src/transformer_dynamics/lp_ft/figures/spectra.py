"""Figures 2 and 7: singular values of P and of F of four methods."""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from replication.base.strict import REMOVABLE, Count
from replication.figures.panels import legend_below, make_panels
from replication.study.contract import Figure, Measured
from transformer_dynamics.encoders.settings import TextName
from transformer_dynamics.lp_ft.figures.rows import check_set_names
from transformer_dynamics.lp_ft.figures.styles import kernel_label, method_style
from transformer_dynamics.lp_ft.metrics.start.drawn_indices import (
    FIRST_INDICES,
    INDEX_STEP,
    drawn_mask,
)
from transformer_dynamics.lp_ft.settings.labels import METHOD_LABELS, PRETRAINED, set_label

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing


class Spectra(Figure):
    """Singular values over the largest against their index, a panel per set."""

    title: ClassVar[str] = "LP-FT, Figures 2 and 7: singular values of kernels"
    columns: ClassVar[tuple[str, ...]] = (
        "set", "method", "kernel", "seed", "index", "value", "value_median", "cap",
    )  # fmt: skip
    kind: Literal["fig2", "fig7"]
    """Kind of the figure."""
    kernels: Annotated[dict[TextName, str], Field(min_length=1), REMOVABLE]
    """Experiment by set."""
    every: Count = INDEX_STEP
    """Distance of the indices that are drawn, beyond the first ones."""
    first: Count = FIRST_INDICES
    """Number of first indices, which are all drawn."""
    lowest: Annotated[float, Field(gt=0, lt=1)] = 1e-6
    """End of the axis; lower values are hardly above rounding in float32."""

    def sources(self) -> list[tuple[str, str]]:
        """Return experiment and metric of all sets: singular values, then their possible ranks."""
        metrics = ("kernel_spectra", "kernel_sizes")
        return [(name, metric) for metric in metrics for name in self.kernels.values()]


def table(figure: Spectra, *measured: Measured[Any]) -> "pd.DataFrame":
    """Return singular values of every seed and their median; `cap` is the largest possible rank.

    P is that of the method `pretrained`.
    """
    import pandas as pd

    tables = []
    count = len(figure.kernels)
    check_set_names(figure.kind, dict(zip(figure.kernels, measured[:count], strict=True)))
    keys = ["seed", "method", "kernel"]
    both = zip(figure.kernels, measured[:count], measured[count:], strict=True)
    for name, spectra, sizes in both:
        rows = spectra.table[spectra.table["kernel"] != "NTK"]
        index = rows["index"]
        is_last = index == rows.groupby(keys)["index"].transform("max")
        shown = drawn_mask(index, figure.first, figure.every) | is_last
        caps = sizes.table[[*keys, "cap"]]
        tables.append(rows[shown].merge(caps, on=keys, validate="many_to_one").assign(set=name))
    found = pd.concat(tables, ignore_index=True).replace({"method": {"all": PRETRAINED}})
    median = found.groupby(["set", "method", "index"])["value"].transform("median")
    return found.assign(value_median=median)[list(figure.columns)]


def draw(figure: Spectra, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw a faint line per seed, and their median; dotted where a rank must end."""
    from matplotlib.ticker import LogLocator, NullLocator

    from replication.figures.typeset import count_in_words

    drawing, panels = make_panels(1, len(figure.kernels), 3.2, sharey=True)
    for axes, name in zip(panels[0], figure.kernels, strict=True):
        rows = table[table["set"] == name]
        for method in [method for method in METHOD_LABELS if method in set(rows["method"])]:
            _draw_spectrum(axes, rows[rows["method"] == method], method)
        _mark_caps(axes, rows)
        axes.set(
            yscale="log", ylim=(figure.lowest, 2), xlabel="Index", xlim=(0, None),
            title=set_label(name),
        )  # fmt: skip
        axes.yaxis.set_major_locator(LogLocator(numticks=6))
        axes.yaxis.set_minor_locator(NullLocator())
    panels[0, 0].set_ylabel("Singular value over the largest")
    draws = count_in_words([table["seed"].nunique()], "draw")
    legend_below(drawing, title=f"medians over {draws} of samples (faint)", handlelength=2.8)
    return drawing


def _draw_spectrum(axes: "Axes", rows: "pd.DataFrame", method: str) -> None:
    look = method_style(method)
    for _, run in rows.groupby("seed"):
        axes.plot(run["index"], run["value"], color=look.colour, alpha=0.3, linewidth=0.5)
    median = rows.drop_duplicates("index").sort_values("index")
    axes.plot(
        median["index"], median["value_median"], color=look.colour, linestyle=look.line,
        linewidth=1.5, label=kernel_label(method),
    )  # fmt: skip


def _mark_caps(axes: "Axes", rows: "pd.DataFrame") -> None:
    """Draw a dotted line at every rank that a kernel cannot exceed and others can."""
    caps = rows.loc[rows["kernel"] == "F", "cap"]
    for cap in sorted(set(caps[caps < rows["index"].max()].tolist())):
        axes.axvline(cap, color="0.4", linewidth=0.7, linestyle=":", zorder=0)
        axes.annotate(
            f"rank of $F$ after LP at most {cap:.0f}", (cap, 0.93), xytext=(4, 0),
            xycoords=("data", "axes fraction"), textcoords="offset points", va="center", fontsize=7,
        )  # fmt: skip
