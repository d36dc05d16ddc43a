"""Table S.3: |gamma| and max|gamma| of ItrSA against N, as printed and as trained here."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.figures.panels import legend_below, make_panels
from replication.study.contract import Figure, Measured
from transformer_dynamics.recurrent_attention.settings.metrics import WeightsJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

GAMMA_INIT = 1.0
"""Value of every entry of gamma before training."""
NORMS = {"gamma_norm": r"$\Vert\gamma\Vert_2$", "gamma_max": r"$\max|\gamma_j|$"}
"""Labels of the norms."""


class TabS3(Figure):
    """Norms of gamma against N."""

    title: ClassVar[str] = "Recurrent attention, Table S.3: norms of gamma"
    columns: ClassVar[tuple[str, ...]] = (
        "N", "seed", "gamma_init", "gamma_norm", "gamma_max", "gamma_norm_mean", "gamma_max_mean",
        "largest_claimed",
    )  # fmt: skip
    published_columns: ClassVar[tuple[str, ...]] = ("N", "gamma_norm", "gamma_max")
    kind: Literal["tabS3"]
    """Kind of the figure."""
    conditions: list[str]
    """Names of conditions of ItrSA, of ascending N."""

    def sources(self) -> list[tuple[str, str]]:
        """Return the weights of all conditions."""
        return [(name, "weights") for name in self.conditions]


def table(figure: TabS3, *measured: Measured[WeightsJob]) -> "pd.DataFrame":
    """Return norms of every seed and their means; `largest_claimed` is the paper's bound of max."""
    import pandas as pd

    found = pd.concat(
        [each.table.assign(N=each.job.train.model.block) for each in measured], ignore_index=True
    )
    means = {f"{name}_mean": found.groupby("N")[name].transform("mean") for name in NORMS}
    found = found.assign(gamma_init=GAMMA_INIT, largest_claimed=1.0, **means)
    return found[list(figure.columns)]


def draw(
    figure: TabS3, table: "pd.DataFrame", published: "pd.DataFrame | None" = None
) -> "Drawing":
    """Draw the printed norms beside those of here; name a printed norm that is impossible."""
    from replication.figures.style import category_styles
    from replication.figures.typeset import seed_count

    count = 1 if published is None else 2
    # Not on one scale: seeds differ by far less than the printed norms.
    drawing, [row] = make_panels(1, count, 2.8)
    styles = dict(category_styles(NORMS))
    for axes in row:
        axes.axhline(table["largest_claimed"].iloc[0], color="0.6", linewidth=0.6, linestyle=":")
    if published is not None:
        for name, style in styles.items():
            # Hollow and large under small: where both are equal, both are seen.
            large = name == "gamma_norm"
            size, face = (7, "none") if large else (3.5, style.colour)
            look = style.look | {"markersize": size, "markerfacecolor": face}
            row[0].plot(published["N"], published[name], linewidth=0.8, **look)
        _mark_impossible(row[0], published)
        row[0].set_title("As printed")
    own = row[-1]
    for name, style in styles.items():
        mean = table.drop_duplicates("N")
        look = style.look | {"markersize": 3.5, "markerfacecolor": "none"}
        own.plot(mean["N"], mean[f"{name}_mean"], **look | {"marker": ""}, linewidth=0.8)
        own.plot([], [], label=NORMS[name], **look)
        own.plot(table["N"], table[name], **look | {"linestyle": "none"}, markeredgewidth=0.7)
    own.set_title("Trained here")
    _set_sizes(own, table["N"])
    for axes in row:
        axes.set_yscale("log")
        axes.margins(y=0.12)
    row[0].set_ylabel(r"Norm of $\gamma$")
    seeds = seed_count(table["seed"])
    legend_below(drawing, title=f"right: marks are {seeds}, lines their means")
    return drawing


def _mark_impossible(axes: "Axes", published: "pd.DataFrame") -> None:
    """Write beside each printed 2-norm below the largest entry that it cannot be."""
    for row in published[published["gamma_norm"] < published["gamma_max"]].itertuples():
        axes.annotate(
            r"$\Vert\gamma\Vert_2<\max|\gamma_j|$," "\nwhich cannot be",
            (row.N, row.gamma_norm), xytext=(24, 0), textcoords="offset points", va="center",
            fontsize=7,
            arrowprops={"arrowstyle": "-", "color": "0.3", "linewidth": 0.6, "shrinkB": 4},
        )  # fmt: skip
    _set_sizes(axes, published["N"])


def _set_sizes(axes: "Axes", sizes: "pd.Series") -> None:
    """Make the axis of N logarithmic, with a tick for each."""
    ticks = sorted(set(sizes.tolist()))
    axes.set_xscale("log", base=2)
    axes.set_xticks(ticks, [str(each) for each in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("$N$")
