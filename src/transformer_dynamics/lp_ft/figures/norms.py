"""Figures 1 and 4: the norm of the head and accuracy along training, and the norm after it."""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from replication.base.strict import Count, Strict, refuse_repeated
from replication.figures.panels import set_plain_ticks
from replication.study.contract import ExperimentFigure, Measured
from transformer_dynamics.encoders.settings import TextName
from transformer_dynamics.lp_ft.figures.rows import check_one_run, select_rows
from transformer_dynamics.lp_ft.figures.styles import method_style
from transformer_dynamics.lp_ft.settings.labels import METHOD_LABELS, set_label
from transformer_dynamics.lp_ft.settings.metrics import MetricJob
from transformer_dynamics.lp_ft.settings.runs import Method

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

ALONG, AFTER = "along training", "after training"
"""Parts of the table."""
ROWS = {"norm": r"Norm $\Vert V\Vert_F$", "accuracy": "Training accuracy"}
"""Columns that are drawn along training, and their axes."""


class Curve(Strict):
    """One panel along training."""

    texts: TextName
    """Set of the runs."""
    method: Method
    """Method of the runs."""


class Norms(ExperimentFigure):
    """Norm of the head and accuracy by step, and the norm that methods end with."""

    metrics: ClassVar[tuple[str, ...]] = ("norm", "features")
    title: ClassVar[str] = "LP-FT, Figures 1 and 4: the norm of the head"
    columns: ClassVar[tuple[str, ...]] = (
        "part", "set", "method", "seed", "step", "norm", "norm_mean", "accuracy", "accuracy_mean",
        "start_norm", "start_norm_mean", "norm_median", "accuracy_median", "start_norm_median",
        "start_accuracy", "start_accuracy_median",
    )  # fmt: skip
    kind: Literal["fig1", "fig4"]
    """Kind of the figure."""
    experiment: str = "main"
    """Experiment of the runs."""
    curves: Annotated[list[Curve], Field(min_length=1)]
    """Curves along training, from left to right."""
    bars: TextName
    """Set of the bars."""
    methods: Annotated[list[Method], Field(min_length=1), AfterValidator(refuse_repeated)]
    """Methods of the bars."""
    window: Count = 10
    """Number of batches of which one accuracy is the mean; LP's is that of all training samples."""


def table(figure: Norms, along: Measured[MetricJob], after: Measured[MetricJob]) -> "pd.DataFrame":
    """Return rows along training, then rows of the heads that are kept.

    The step of a row along training is that of its norm.

    Means and medians are over seeds. `start_norm` is the norm before training, and `start_accuracy`
    that of the random head on all training samples, from which LP sets out, too.
    """
    import pandas as pd

    tables = []
    for curve in figure.curves:
        own = select_rows(along.table, figure.kind, texts=curve.texts, method=curve.method)
        if curve.method != "lp":
            own = pd.concat(
                [_average_windows(run, figure.window) for _, run in own.groupby("seed")]
            )
        check_one_run(own, figure.kind, "seed", "step")
        own = own.assign(part=ALONG, start_norm=own.groupby("seed")["norm"].transform("first"))
        tables.append(_add_means(own, "step"))
    for method in figure.methods:
        own = select_rows(after.table, figure.kind, texts=figure.bars, method=method, split="test")
        check_one_run(own, figure.kind, "seed")
        own = own.assign(part=AFTER, step=float("nan"), accuracy=float("nan"))
        tables.append(_add_means(own, "method"))
    found = pd.concat(tables, ignore_index=True).rename(columns={"texts": "set"})
    return add_medians(found, along.table)[list(figure.columns)]


def add_medians(rows: "pd.DataFrame", along: "pd.DataFrame") -> "pd.DataFrame":
    """Add medians over seeds, and the accuracy of the random head where LP was trained.

    `along` is the metric along training of all sets and methods.
    """
    first = along[(along["method"] == "lp") & (along["step"] == 0)]
    known = first.drop_duplicates(["texts", "seed"]).set_index(["texts", "seed"])["accuracy"]
    starts = known.reindex([*zip(rows["set"], rows["seed"], strict=True)]).to_numpy()
    rows = rows.assign(start_accuracy=starts)
    same = rows.groupby(["part", "set", "method", "step"], dropna=False)
    names = ("norm", "accuracy", "start_norm", "start_accuracy")
    medians: dict[str, Any] = {f"{name}_median": same[name].transform("median") for name in names}
    return rows.assign(**medians)


def _average_windows(run: "pd.DataFrame", window: int) -> "pd.DataFrame":
    """Return norms after each window of steps, with the mean accuracy of its batches."""
    run = run.sort_values("step")
    # The accuracy of a row is that of the batch after it.
    since = run["accuracy"].rolling(window).mean().shift(1)
    return run.assign(accuracy=since)[run["step"] % window == 0]


def _add_means(rows: "pd.DataFrame", by: str) -> "pd.DataFrame":
    same = rows.groupby(by)
    names = ("norm", "accuracy", "start_norm")
    means: dict[str, Any] = {f"{name}_mean": same[name].transform("mean") for name in names}
    return rows.assign(**means)


def draw(figure: Norms, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw norms above on one axis, accuracy below, a column per curve; right the kept heads."""
    import matplotlib.pyplot as plt

    from replication.figures.style import WIDTH

    count = len(figure.curves)
    drawing = plt.figure(figsize=(WIDTH, 3.3), layout="constrained")
    grid = drawing.add_gridspec(2, count + 1, width_ratios=[1.0] * count + [1.1 + 0.08 * count])
    along, after = (table[table["part"] == part] for part in (ALONG, AFTER))
    kept = drawing.add_subplot(grid[0, count])
    for column, curve in enumerate(figure.curves):
        rows = along[(along["set"] == curve.texts) & (along["method"] == curve.method)]
        above = drawing.add_subplot(grid[0, column], sharey=kept)
        below = drawing.add_subplot(grid[1, column], sharex=above)
        for axes, name in zip((above, below), ROWS, strict=True):
            _draw_curves(axes, rows, name, curve.method)
            axes.tick_params(labelleft=column == 0)
            if column == 0:
                axes.set_ylabel(ROWS[name])
        above.tick_params(labelbottom=False)
        above.set_title(_panel_title(column, METHOD_LABELS[curve.method], curve.texts))
        below.set(xlabel="Step", ylim=(-0.03, 1.03), yticks=(0, 0.5, 1))
        if curve.method == "lp":
            _set_logarithmic_steps(below, rows["step"].max())
    _draw_kept(kept, after)
    kept.set_title(_panel_title(count, "heads that are kept", figure.bars))
    key = drawing.add_subplot(grid[1, count])
    key.axis("off")
    key.text(0.5, 0.4, _key(table), ha="center", va="center", fontsize=7, linespacing=1.3)
    return drawing


def _key(table: "pd.DataFrame") -> str:
    """Return the text that says what lines and dots are."""
    from replication.figures.typeset import seed_count

    return (
        f"thin lines and dots:\n{seed_count(table['seed'])}; bold: median\n"
        "dotted: random head\nat the start\n(a): gradient descent;\nkept LP: the optimum"
    )


def _panel_title(place: int, text: str, name: str) -> str:
    return f"({chr(ord('a') + place)}) {text}\n{set_label(name)}"


def _set_logarithmic_steps(axes: "Axes", last: float) -> None:
    """Make an axis of steps logarithmic beyond the first."""
    from replication.figures.typeset import power_of_ten

    axes.set_xscale("symlog", linthresh=1)
    axes.set_xlim(-0.3, 1.5 * last)
    axes.set_xticks([0, 1, 10, 100, 1000][: 2 + max(len(str(int(last))) - 1, 0)])
    # Names of neighbours would meet in a narrow panel.
    named = {0: "0", 10: power_of_ten(10), 1000: power_of_ten(1000)}
    axes.set_xticklabels([named.get(int(tick), "") for tick in axes.get_xticks()])


def _draw_curves(axes: "Axes", rows: "pd.DataFrame", name: str, method: str) -> None:
    """Draw a thin line per seed, their median, and the random head at the start."""
    look = method_style(method)
    for _, run in rows.groupby("seed"):
        axes.plot(run["step"], run[name], color=look.colour, alpha=0.35, linewidth=0.6)
    median = rows.drop_duplicates("step")
    axes.plot(median["step"], median[f"{name}_median"], color=look.colour, linewidth=1.5)
    _mark_start(axes, rows, name)


def _mark_start(axes: "Axes", rows: "pd.DataFrame", name: str) -> None:
    start = rows[f"start_{name}_median"].iloc[0]
    axes.axhline(start, color="0.4", linestyle=":", linewidth=0.9, zorder=0)


def _draw_kept(axes: "Axes", rows: "pd.DataFrame") -> None:
    """Draw the norms of seeds on a logarithmic axis, a column per method, with their median."""
    from replication.figures.typeset import number

    medians = rows.drop_duplicates("method")
    methods = medians["method"].tolist()
    for place, (method, median) in enumerate(zip(methods, medians["norm_median"], strict=True)):
        look, own = method_style(method), rows[rows["method"] == method]
        axes.scatter(
            [place] * len(own), own["norm"], s=9, color=look.colour, alpha=0.7, linewidths=0
        )
        axes.scatter([place], [median], s=110, color=look.colour, marker="_", linewidths=1.6)
        axes.annotate(
            number(median, 2), (place, median), xytext=(8, 0), textcoords="offset points",
            va="center", fontsize=6.5,
        )  # fmt: skip
    _mark_start(axes, rows, "norm")
    axes.set_yscale("log")
    set_plain_ticks(axes.yaxis)
    axes.set_xticks(range(len(methods)), [METHOD_LABELS[method] for method in methods])
    axes.set_xlim(-0.5, len(methods) + 0.1)
    axes.tick_params(axis="x", length=0)
    axes.tick_params(labelleft=False)
