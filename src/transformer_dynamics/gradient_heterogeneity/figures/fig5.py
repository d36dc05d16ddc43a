"""Figure 5: loss along training."""

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from replication.figures.panels import wrap_panels
from replication.study.contract import Figure, Measured
from transformer_dynamics.gradient_heterogeneity.settings.metrics import MetricJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

WINDOW = 15
"""Number of batches before and after a step whose losses are averaged."""
EVERY = 10
"""Number of steps between points of a curve."""
COLUMNS = 3
"""Number of panels in a row."""


class Fig5(Figure):
    """Curves of all optimisers at their chosen rates."""

    title: ClassVar[str] = "Gradient heterogeneity, Figure 5: training"
    columns: ClassVar[tuple[str, ...]] = (
        "case", "optimiser", "rate", "clip", "schedule", "batch", "step", "n_seeds", "loss",
        "lower", "upper", "grad_norm", "centre",
    )  # fmt: skip
    kind: Literal["fig5"]
    """Kind of the figure."""
    experiments: Annotated[list[str], Field(min_length=1)] = [
        "optimisers_text",
        "optimisers_images",
        "full_batch",
    ]
    """Experiments of the runs."""

    def sources(self) -> list[tuple[str, str]]:
        """Return the curves of all runs."""
        return [(name, "curves") for name in self.experiments]


def table(figure: Fig5, *measured: Measured[MetricJob]) -> "pd.DataFrame":
    """Compute means over seeds of losses that are averaged along training, plus and minus one sd.

    A window is cut at both ends of training; `centre` is the middle of the steps that are averaged.
    Without noise of batches nothing is averaged.
    """
    import pandas as pd

    rows = pd.concat(
        [
            each.table.assign(case=name if name == "full_batch" else each.table["case"])
            for name, each in zip(figure.experiments, measured, strict=True)
        ],
        ignore_index=True,
    )
    keys = ["case", "optimiser", "rate", "clip", "schedule", "batch"]
    smooth = pd.concat([_smooth_curve(own) for _, own in rows.groupby([*keys, "seed"], sort=False)])
    same = smooth.groupby([*keys, "step"], sort=False)
    found = same.agg(
        loss=("loss", "mean"), sd=("loss", "std"), n_seeds=("seed", "nunique"),
        grad_norm=("grad_norm", "mean"), centre=("centre", "first"),
    ).reset_index()  # fmt: skip
    sd = found["sd"].fillna(0.0)
    found = found.assign(lower=found["loss"] - sd, upper=found["loss"] + sd)
    return found[list(figure.columns)]


def _smooth_curve(rows: "pd.DataFrame") -> "pd.DataFrame":
    """Smooth one run, and keep every `EVERY`th step at most."""
    width = 1 if (rows["batch"] == 0).all() else 2 * WINDOW + 1
    rows = rows.sort_values("step")
    means = rows[["loss", "grad_norm"]].rolling(width, center=True, min_periods=1).mean()
    every = max(min(EVERY, len(rows) // 4), 1)
    centre = rows["step"].rolling(width, center=True, min_periods=1).mean()
    return rows.assign(**means, centre=centre).iloc[::every]


def draw(figure: Fig5, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw a panel per case; a mean stands in the middle of its window."""
    from replication.figures.typeset import count_in_words
    from transformer_dynamics.gradient_heterogeneity.figures.labels import (
        add_optimiser_legend,
        case_label,
        optimiser_styles,
    )

    cases = list(dict.fromkeys(table["case"]))
    drawing, grid = wrap_panels(len(cases), COLUMNS, 1.9, 0.4)
    for axes, name in zip(grid.flat, cases, strict=False):
        own = table[table["case"] == name]
        for optimiser, style in optimiser_styles().items():
            curve = own[own["optimiser"] == optimiser]
            axes.fill_between(
                curve["centre"], curve["lower"], curve["upper"], color=style.colour, alpha=0.15,
                linewidth=0,
            )  # fmt: skip
            axes.plot(curve["centre"], curve["loss"], color=style.colour, linestyle=style.line)
        axes.set(title=case_label(name), xlabel="step", xlim=(0, None))
        # One optimiser that diverges must not hide the others.
        axes.set_ylim(0, 1.15 * own.groupby("optimiser")["loss"].max().median())
    for line in grid:
        line[0].set_ylabel("training loss (nats)")
    title = (
        f"means of {count_in_words(table['n_seeds'], 'seed')} over\n"
        f"windows of {2 * WINDOW + 1} steps,\ncut at the ends;\n"
        "bands: \N{PLUS-MINUS SIGN}1 sd over seeds"
    )
    add_optimiser_legend(drawing, table["optimiser"], title, beside=grid.flat[len(cases) :][-1:])
    return drawing
