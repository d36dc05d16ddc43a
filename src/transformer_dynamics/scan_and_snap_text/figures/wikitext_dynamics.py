"""Keys that the lowest layer attends to along training on WikiText."""

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from replication.figures.panels import legend_below, make_panels
from replication.study.contract import Figure
from transformer_dynamics.scan_and_snap_text.settings.training import Names

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from replication.figures.style import Style
    from replication.study.contract import Measured

CURVES = {
    "entropy_share": ("(a) Entropy of attention over\nthat of uniform attention", 1.0),
    "change": ("(b) Attention that has moved\nwithin 100 updates (share)", None),
    "distinctness": (
        "(c) Rank correlation of attention and\nwhat the key tells of the next word",
        0.0,
    ),
}
"""Columns that are drawn along training, what they are, and what uniform attention gives."""
SHARES = {
    "diagonal": "the query\nitself",
    "first": "first\nposition",
    "function_words": "function\nwords",
    "rare_words": "rare\nwords",
}
"""Columns of attention over that of uniform attention, and the keys that it is spent on."""
PANELS = ("entropy_share", "change", *SHARES, "distinctness")
"""Columns that are drawn."""
MODELS = (
    "one_layer", "three_layers", "no_positions", "no_feed_forward", "no_residual", "attention_only",
)  # fmt: skip
"""Models with a colour that is the same in every figure."""
ROOM = 1.85
"""Length of the axis of updates, with room for dots and labels, over that of training."""
LABELS_APART = 0.085
"""Distance of two labels, as a part of the axis."""
KEY = ("corpus", "model", "learning_rate", "seed", "iteration")


class WikitextDynamics(Figure):
    """Keys that the lowest layer attends to along training."""

    title: ClassVar[str] = "Scan and Snap: what attention is spent on along training on WikiText"
    columns: ClassVar[tuple[str, ...]] = (
        *KEY, "entropy", *PANELS, *(f"{column}_mean" for column in PANELS),
    )  # fmt: skip
    kind: Literal["wikitext_dynamics", "wikitext_switches"]
    """Kind of the figure: of whole models, or of models that lack a part beside a whole one."""
    experiments: Names
    """Names of the experiments that are drawn."""
    models: Names
    """Names of the experiments' models that are drawn, in the order of the curves."""

    def sources(self) -> list[tuple[str, str]]:
        """Return the dynamics of each experiment."""
        return [(name, "dynamics") for name in self.experiments]


def table(figure: WikitextDynamics, *measured: "Measured[Any]") -> "pd.DataFrame":
    """Return one row per run and update that all models reached, with means over seeds."""
    import pandas as pd

    rows = pd.concat([item.table for item in measured], ignore_index=True)
    rows = rows[rows["model"].isin(figure.models)]
    rows = rows[rows["iteration"] <= rows.groupby("model")["iteration"].max().min()]
    rows = rows.sort_values(
        "model", key=lambda names: names.map(figure.models.index), kind="stable"
    )
    of_a_model = rows.groupby(["model", "iteration"])
    means = {f"{column}_mean": of_a_model[column].transform("mean") for column in PANELS}
    found: pd.DataFrame = rows.assign(**means)[list(figure.columns)]
    return found.reset_index(drop=True)


def draw(figure: WikitextDynamics, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw three panels of means along training, and one of attention by key at the end.

    Dots are seeds after the last update; each model is named beside its curve.
    """
    drawing, grid = make_panels(2, 2, 4.9)
    styles = _model_styles(table)
    for axes, (column, (label, uniform)) in zip(grid.flat, CURVES.items(), strict=False):
        _draw_curves(axes, table, column, styles)
        axes.set(title=label, xlabel="update")
        axes.spines[["top", "right"]].set_visible(False)
        if uniform is not None:
            ends = [0, table["iteration"].max()]
            axes.plot(ends, [uniform, uniform], color="black", linestyle=":", linewidth=0.8)
    _draw_shares(grid[1, 1], table[table["iteration"] == table["iteration"].max()], styles)
    _draw_legend(drawing, table)
    return drawing


def _model_styles(table: "pd.DataFrame") -> dict[str, "Style"]:
    """Return the style of each model, in the order of the table."""
    from replication.figures.style import category_styles

    shown = table["model"].unique()
    styles = dict(category_styles(dict.fromkeys([*MODELS, *shown])))
    return {model: styles[model] for model in shown}


def _draw_curves(
    axes: "Axes", table: "pd.DataFrame", column: str, styles: dict[str, "Style"]
) -> None:
    """Draw the mean of each model along training, its seeds at the end, and its name."""
    last = table["iteration"].max()
    ends = {}
    for place, (model, style) in enumerate(styles.items()):
        rows = table[table["model"] == model]
        mean = rows.drop_duplicates("iteration")
        axes.plot(
            mean["iteration"], mean[f"{column}_mean"], color=style.colour, linestyle=style.line,
            linewidth=1.4,
        )  # fmt: skip
        seeds = rows[rows["iteration"] == last]
        _draw_seeds(axes, seeds["iteration"], seeds[column], style, 3 + 3 * place)
        ends[model] = float(seeds[f"{column}_mean"].iloc[0])
    axes.set_xlim(0, ROOM * last)
    axes.set_xticks([0, last / 2, last], [f"{update:,.0f}" for update in (0, last / 2, last)])
    low, high = axes.get_ylim()
    for model, at in _spread({name: (y - low) / (high - low) for name, y in ends.items()}).items():
        axes.annotate(
            model.replace("_", " "), (1 / ROOM, at), (4 + 3 * len(styles), 0),
            xycoords="axes fraction", textcoords="offset points", fontsize=6.5, va="center",
            color=styles[model].colour,
        )  # fmt: skip


def _draw_seeds(
    axes: "Axes", x: "pd.Series", y: "pd.Series", style: "Style", points: float
) -> None:
    """Draw a dot per seed, moved to the right on paper by a number of points."""
    from matplotlib.transforms import ScaledTranslation

    aside = ScaledTranslation(points / 72, 0, axes.figure.dpi_scale_trans)
    axes.plot(
        x, y, "o", color=style.colour, markersize=2.6, markeredgewidth=0, alpha=0.75,
        transform=axes.transData + aside,
    )  # fmt: skip
    # What is moved does not count for the limits.
    axes.update_datalim(list(zip(x, y, strict=True)))
    axes.autoscale_view()


def _spread(places: dict[str, float]) -> dict[str, float]:
    """Return places in their order, so far apart that labels do not touch."""
    found: dict[str, float] = {}
    least = 0.03
    for name in sorted(places, key=places.__getitem__):
        found[name] = max(places[name], least)
        least = found[name] + LABELS_APART
    most = 0.97
    for name in reversed(found):
        found[name] = min(found[name], most)
        most = found[name] - LABELS_APART
    return found


def _draw_shares(axes: "Axes", table: "pd.DataFrame", styles: dict[str, "Style"]) -> None:
    """Draw what attention is spent on at the end, a dot per seed."""
    from replication.figures.typeset import number

    for place, column in enumerate(SHARES):
        for index, (model, style) in enumerate(styles.items()):
            rows = table[table["model"] == model]
            points = 4.6 * (index - (len(styles) - 1) / 2)
            _draw_seeds(axes, rows["seed"] * 0 + place, rows[column], style, points)
    axes.set(
        yscale="log", xlim=(-0.5, len(SHARES) - 0.5),
        title=f"(d) Attention over uniform attention,\nafter update {table['iteration'].max():,}",
    )  # fmt: skip
    axes.axhline(1, color="black", linestyle=":", linewidth=0.8)
    axes.set_xticks(range(len(SHARES)), list(SHARES.values()))
    axes.tick_params(axis="x", length=0)
    ticks = [tick for tick in (0.2, 0.5, 1, 2, 5) if _is_inside(axes, tick)]
    axes.set_yticks(ticks, [number(tick) for tick in ticks])
    axes.set_yticks([], minor=True)


def _is_inside(axes: "Axes", value: float) -> bool:
    low, high = axes.get_ylim()
    return low <= value <= high


def _draw_legend(drawing: "Drawing", table: "pd.DataFrame") -> None:
    from matplotlib.lines import Line2D

    from replication.figures.typeset import count_in_words

    last, seeds = table["iteration"].max(), table.groupby("model")["seed"].nunique().max()
    entries: dict[str, dict[str, Any]] = {
        f"mean over {count_in_words([seeds], 'seed')}": {},
        f"a seed, after update {last:,}": {"marker": "o", "linestyle": "none", "markersize": 2.6},
        "uniform attention": {"linestyle": ":", "linewidth": 0.8},
    }
    handles = [
        Line2D([], [], color="black", label=label, **style) for label, style in entries.items()
    ]
    legend_below(drawing, handles)
