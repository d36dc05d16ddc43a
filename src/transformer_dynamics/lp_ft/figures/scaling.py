"""Figures 3, 10 and 11, and by optimiser: change of features against the norm of the head."""

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from replication.base.strict import Strict
from replication.figures.panels import make_panels
from replication.study.contract import Figure, Measured
from transformer_dynamics.encoders.settings import TextName
from transformer_dynamics.lp_ft.figures.rows import check_one_run, select_rows
from transformer_dynamics.lp_ft.figures.styles import CHANGE_AXIS, add_legend, method_style
from transformer_dynamics.lp_ft.settings.labels import METHOD_LABELS, ordered_methods, set_label
from transformer_dynamics.lp_ft.settings.metrics import MetricJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

OPTIMISERS = {"adamw": "AdamW", "sgd": "SGD"}
"""Names of optimisers."""


class Panel(Strict):
    """Runs that are drawn beside each other."""

    experiment: str
    """Experiment of runs whose head was multiplied."""
    texts: TextName
    """Set that the runs were trained on."""
    test: TextName | None = None
    """Test set, if it is another one."""
    clip: Annotated[float, Field(ge=0)] | None = None
    """Largest norm of the gradient, 0 for any; all runs if left out."""


class Scaling(Figure):
    """Feature change against the norm of the head before fine-tuning, with standard errors."""

    title: ClassVar[str] = "LP-FT, Figures 3, 10 and 11: change of features and norm of the head"
    columns: ClassVar[tuple[str, ...]] = (
        "panel", "trained_on", "set", "method", "optimiser", "clip", "rate", "factor", "seed",
        "norm", "difference", "norm_mean", "difference_mean", "difference_error", "finite_seeds",
    )  # fmt: skip
    kind: Literal["fig3", "fig10", "fig11", "scale_test"]
    """Kind of the figure."""
    panels: Annotated[list[Panel], Field(min_length=1)]
    """Panels from left to right."""

    def sources(self) -> list[tuple[str, str]]:
        """Return each experiment with the metric of features."""
        names = dict.fromkeys(panel.experiment for panel in self.panels)
        return [(name, "features") for name in names]


def table(figure: Scaling, *measured: Measured[MetricJob]) -> "pd.DataFrame":
    """Return every run; means and standard errors are over seeds whose features are finite.

    Means of norms are geometric, as they are drawn on a logarithmic axis and vary by factors.
    `norm` is that of the head before fine-tuning, `clip` 0 where gradients are not clipped, and a
    run that diverged has no `difference`.
    """
    import pandas as pd
    from scipy.stats import gmean

    names = [name for name, _ in figure.sources()]
    known = dict(zip(names, measured, strict=True))
    tables = []
    for place, panel in enumerate(figure.panels):
        clip = {} if panel.clip is None else {"clip": panel.clip}
        rows = select_rows(
            known[panel.experiment].table, figure.kind, texts=panel.texts,
            split=panel.test or "test", **clip,
        )  # fmt: skip
        rows = rows.rename(columns={"norm": "end", "start_norm": "norm"}).assign(
            panel=chr(ord("a") + place), trained_on=panel.texts, set=panel.test or panel.texts
        )
        check_one_run(rows, figure.kind, "method", "factor", "seed")
        same = rows.groupby(["method", "factor"])
        tables.append(
            rows.assign(
                norm_mean=same["norm"].transform(gmean),
                difference_mean=same["difference"].transform("mean"),
                difference_error=same["difference"].transform("sem"),
                finite_seeds=same["difference"].transform("count"),
            ).sort_values(["method", "factor", "seed"])
        )
    return pd.concat(tables, ignore_index=True)[list(figure.columns)]


def draw(figure: Scaling, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw a line per method through its means; dashed the norm that is not scaled."""
    from replication.figures.typeset import seed_count

    letters = table["panel"].unique().tolist()
    count = len(letters)
    # Optimisers differ so much in how far they go that one axis would hide what a head does.
    drawing, panels = make_panels(1, count, 3.0, sharey=figure.kind != "scale_test")
    for axes, letter in zip(panels[0], letters, strict=True):
        rows = table[table["panel"] == letter]
        for method in ordered_methods(rows["method"]):
            _draw_curve(axes, rows[rows["method"] == method], method)
        axes.set(xscale="log", xlabel=r"Norm $\Vert V\Vert_F$ before fine-tuning")
        axes.set_ylim(0, None)
        name = _panel_title(figure, rows)
        axes.set_title(f"({letter}) {name}" if count > 1 else name)
    panels[0, 0].set_ylabel(CHANGE_AXIS)
    seeds = seed_count(table["seed"])
    bars = "bars: \N{PLUS-MINUS SIGN}1 standard error"
    title = f"means of {seeds} (dots), {bars}; dashed: not multiplied"
    if (table["finite_seeds"] < table["seed"].nunique()).any():
        title += "; open: a seed diverged"
    add_legend(drawing, table["method"], title)
    return drawing


def _panel_title(figure: Scaling, rows: "pd.DataFrame") -> str:
    first = rows.iloc[0]
    trained_on, name = set_label(first["trained_on"]), set_label(first["set"])
    if figure.kind == "scale_test":
        clipped = f"clipped at {first['clip']:g}" if first["clip"] else "not clipped"
        return f"{OPTIMISERS.get(first['optimiser'], first['optimiser'])}, {clipped}"
    return name if name == trained_on else f"{name}, from {trained_on}"


def _draw_curve(axes: "Axes", rows: "pd.DataFrame", method: str) -> None:
    look = method_style(method)
    axes.scatter(rows["norm"], rows["difference"], s=5, color=look.colour, alpha=0.3, linewidths=0)
    means = rows.drop_duplicates("factor").sort_values("factor")
    axes.errorbar(
        means["norm_mean"], means["difference_mean"], means["difference_error"], **look.look,
        label=METHOD_LABELS[method], capsize=2, elinewidth=0.8,
    )  # fmt: skip
    # Hollow where a seed is missing.
    partial = means[means["finite_seeds"] < rows["seed"].nunique()]
    axes.plot(
        partial["norm_mean"], partial["difference_mean"], linestyle="none", color=look.colour,
        marker=look.marker, markerfacecolor="white", zorder=4,
    )  # fmt: skip
    unscaled = means.loc[means["factor"] == 1, "norm_mean"]
    if len(unscaled):
        axes.axvline(
            unscaled.iloc[0], color=look.colour, linestyle="--", linewidth=0.8, alpha=0.7, zorder=0
        )
