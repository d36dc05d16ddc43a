"""Figures 1 and 4: the norm of the head and accuracy along training, and the norm after it."""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from replication.base.strict import Count, Strict, refuse_repeated
from replication.study.contract import Figure, Measured
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


class Norms(Figure):
    """Norm of the head and accuracy by step, and the norm that methods end with."""

    title: ClassVar[str] = "LP-FT, Figures 1 and 4: the norm of the head"
    columns: ClassVar[tuple[str, ...]] = (
        "part", "set", "method", "seed", "step", "norm", "norm_mean", "accuracy", "accuracy_mean",
        "start_norm", "start_norm_mean",
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
    """Batches of which one accuracy is the mean; LP's is that of all training samples."""

    def sources(self) -> list[tuple[str, str]]:
        """Return metrics along training and after it."""
        return [(self.experiment, "norm"), (self.experiment, "features")]


def table(figure: Norms, along: Measured[MetricJob], after: Measured[MetricJob]) -> "pd.DataFrame":
    """Return rows along training, whose step is that of the norm, then of the head that is kept.

    A mean is over seeds. `start_norm` is the norm before training.
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
    return found[list(figure.columns)]


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
    """Draw the norm above, accuracy below, a column per curve; right the norms after training."""
    import matplotlib.pyplot as plt

    from replication.figures.style import WIDTH

    count = len(figure.curves)
    drawing = plt.figure(figsize=(WIDTH, 2.9), layout="constrained")
    grid = drawing.add_gridspec(2, count + 1, width_ratios=[1.0] * count + [1.0 + 0.08 * count])
    along, after = (table[table["part"] == part] for part in (ALONG, AFTER))
    for column, curve in enumerate(figure.curves):
        rows = along[(along["set"] == curve.texts) & (along["method"] == curve.method)]
        above = drawing.add_subplot(grid[0, column])
        below = drawing.add_subplot(grid[1, column], sharex=above)
        for axes, name in zip((above, below), ROWS, strict=True):
            _draw_curves(axes, rows, name, curve.method)
            if column == 0:
                axes.set_ylabel(ROWS[name])
        above.tick_params(labelbottom=False)
        above.set_title(_panel_title(column, METHOD_LABELS[curve.method], curve.texts))
        below.set(xlabel="Step", ylim=(-0.03, 1.03), yticks=(0, 0.5, 1))
        below.tick_params(labelleft=column == 0)
        if curve.method == "lp":
            _set_logarithmic_steps(below, rows["step"].max())
    bars = drawing.add_subplot(grid[:, count])
    _draw_bars(bars, after)
    bars.set_title(_panel_title(count, "After training", figure.bars))
    return drawing


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
    """Draw a faint line per seed, and their mean."""
    look = method_style(method)
    for _, run in rows.groupby("seed"):
        axes.plot(run["step"], run[name], color=look.colour, alpha=0.35, linewidth=0.6)
    mean = rows.drop_duplicates("step")
    axes.plot(mean["step"], mean[f"{name}_mean"], color=look.colour, linewidth=1.5)


def _draw_bars(axes: "Axes", rows: "pd.DataFrame") -> None:
    """Draw a bar per method at the mean, and a dot per seed."""
    from replication.figures.typeset import number

    means = rows.drop_duplicates("method")
    methods = means["method"].tolist()
    for place, (method, mean) in enumerate(zip(methods, means["norm_mean"], strict=True)):
        look = method_style(method)
        axes.bar([place], [mean], width=0.7, color=look.colour, alpha=0.55, linewidth=0)
        own = rows[rows["method"] == method]
        axes.scatter(
            [place] * len(own), own["norm"], s=7, color=look.colour, linewidths=0, zorder=3
        )
        axes.annotate(
            number(mean, 2), (place, own["norm"].max()), xytext=(0, 4), textcoords="offset points",
            ha="center", fontsize=7,
        )  # fmt: skip
    axes.set_xticks(range(len(methods)), [METHOD_LABELS[method] for method in methods])
    axes.set_ylim(0, 1.15 * rows["norm"].max())
    axes.tick_params(axis="x", length=0)
