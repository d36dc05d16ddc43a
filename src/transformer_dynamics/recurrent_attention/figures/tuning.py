"""Rates and strengths that were tried."""

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from replication.figures.panels import legend_below, make_panels
from replication.study.contract import ExperimentFigure, Measured
from transformer_dynamics.recurrent_attention.figures.conditions import (
    SOLVED,
    condition_label,
    condition_styles,
    explain_penalties,
)
from transformer_dynamics.recurrent_attention.settings.tuning import TuningJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

AXES = {"learning_rate": "Learning rate", "strength": r"Strength $\lambda$"}
"""Labels of the quantities that are tried."""


class TuningFigure(ExperimentFigure):
    """Solved validation boards against rates and strengths."""

    metrics: ClassVar[tuple[str, ...]] = ("solved",)
    title: ClassVar[str] = "Recurrent attention: learning rates and strengths that were tried"
    columns: ClassVar[tuple[str, ...]] = (
        "condition", "quantity", "value", "seed", "loops", "solved", "cells", "is_best",
    )  # fmt: skip
    kind: Literal["tuning", "tuning_seeds"]
    """Kind of the figure."""
    experiment: str = Field(default="tuning", exclude_if=lambda name: name == "tuning")
    """Name of the experiment that tries the candidates."""


def table(figure: TuningFigure, measured: Measured[TuningJob]) -> "pd.DataFrame":
    """Return every candidate at the T of the choice and at that of training.

    The best of a condition's rates, or of its strengths, solves most boards at the T of the choice,
    in the mean over seeds; of equal ones that which solves most at the T of training, then that
    with most right blanks, then the smaller value.
    """
    import pandas as pd

    chosen_at = measured.job.loops
    keys = ["condition", "quantity", "value"]
    wide = measured.table.pivot_table(index=keys, columns="loops", values=["solved", "cells"])
    wide.columns = ["{}_{}".format(*column) for column in wide.columns]
    trained_at = min(measured.table["loops"])
    order = [f"solved_{chosen_at}", f"solved_{trained_at}", f"cells_{chosen_at}"]
    ranked = wide.sort_values(order, ascending=False, kind="stable")
    best = set(
        ranked.reset_index().drop_duplicates(["condition", "quantity"]).set_index(keys).index
    )
    rows = measured.table.set_index(keys)
    found = pd.Series([key in best for key in rows.index], rows.index)
    return rows.assign(is_best=found.to_numpy()).reset_index()[list(figure.columns)]


def draw(figure: TuningFigure, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw a line of means per condition over rates and over strengths; the best is filled.

    Dots are seeds, if there are several.
    """
    from matplotlib.lines import Line2D

    from replication.figures.typeset import seed_count

    last = table[table["loops"] == table["loops"].max()]
    has_seeds = last["seed"].min() < last["seed"].max()
    keys = ["condition", "quantity", "value", "is_best", "loops"]
    rows = last.groupby(keys, sort=False, as_index=False)["solved"].mean()
    styles = [*condition_styles(rows["condition"].unique()).items()]
    labels = {name: label for name, label in AXES.items() if name in {*rows["quantity"]}}
    drawing, panels = make_panels(1, len(labels), 3.4, sharey=True)
    for axes, (quantity, label) in zip(panels[0], labels.items(), strict=True):
        for name, style in styles:
            tried, seeds = (
                part[(part["quantity"] == quantity) & (part["condition"] == name)]
                for part in (rows, last)
            )
            best = tried[tried["is_best"]]
            if has_seeds:
                axes.scatter(seeds["value"], seeds["solved"], s=6, color=style.colour, alpha=0.5)
            look = style.look | {"markersize": 4.5}
            hollow = {"markerfacecolor": "none", "linewidth": 0.8}
            axes.plot(tried["value"], tried["solved"], **look, **hollow)
            axes.plot(best["value"], best["solved"], **look | {"linestyle": "none"}, zorder=3)
        axes.set(xscale="log", xlabel=label)
    panels[0, 0].set_ylabel(f"{SOLVED} of validation, $T={rows['loops'].iloc[0]}$")
    handles = [
        Line2D([], [], **style.look, markersize=4, label=condition_label(name))
        for name, style in styles
    ]
    title = f"{seed_count(table['seed'])} for tuning; full: chosen, open: tried"
    title += "; dots: seeds" if has_seeds else ""
    title = explain_penalties(title, rows["condition"].unique())
    legend_below(drawing, handles, title, ncols=4)
    return drawing
