"""Figure 6: choice of rates."""

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from replication.base.strict import REMOVABLE
from replication.figures.panels import set_plain_ticks, wrap_panels
from replication.study.contract import Figure, Measured
from transformer_dynamics.gradient_heterogeneity.settings.experiments import Grid
from transformer_dynamics.gradient_heterogeneity.settings.metrics import MetricJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

TITLES = {
    "tuning_vision": "Fashion-MNIST, ViT-S",
    "tuning_constant": "CoLA, constant schedule",
}
"""Titles of experiments whose one case is named as that of another experiment."""
KEYS = ["tuning", "case", "optimiser", "epsilon", "exponent", "block_rates", "schedule"]
"""Columns that tell apart the trainings for which a rate is chosen."""


class Fig6(Figure):
    """Losses of the tuning seed against rates."""

    title: ClassVar[str] = "Gradient heterogeneity, Figure 6: choice of rates"
    columns: ClassVar[tuple[str, ...]] = (
        "tuning", "case", "optimiser", "rate", "clip", "schedule", "epsilon", "exponent",
        "block_rates", "seed", "endpoint", "training_loss", "is_best", "is_used",
    )  # fmt: skip
    uses: ClassVar[tuple[str, ...]] = ("experiments",)
    kind: Literal["fig6", "later_rates"]
    """Kind of the figure."""
    tried: Annotated[dict[str, str], REMOVABLE] = {
        "tuning_text": "optimisers_text",
        "tuning_images": "optimisers_images",
        "tuning_full_batch": "full_batch",
        "tuning_adam": "adam_as_sign",
        "tuning_reparametrised": "reparametrised",
    }
    """Experiment that uses rates, by the one that tries them; `null` in an overlay removes one."""

    def sources(self) -> list[tuple[str, str]]:
        """Return the endpoints of the experiments that try rates."""
        return [(name, "endpoint") for name in self.tried]


def table(
    figure: Fig6, *measured: Measured[MetricJob], experiments: dict[str, Grid]
) -> "pd.DataFrame":
    """Collect a row per rate, which says whether the rate is the best and whether it is used.

    The best rate has the least training loss. A rate is used if seeds that count train with it.
    Lost training has no number.
    """
    import pandas as pd

    parts = []
    for (name, used), each in zip(figure.tried.items(), measured, strict=True):
        ends = each.table[each.table["is_last"]].assign(tuning=name)
        cases = experiments[used].cases
        is_used = [
            case in cases and rate in cases[case].rates.get(optimiser, ())
            for case, optimiser, rate in ends[["case", "optimiser", "rate"]].itertuples(index=False)
        ]
        parts.append(ends.assign(is_used=is_used))
    found = pd.concat(parts, ignore_index=True)
    least = found.groupby(KEYS, dropna=False)["training_loss"].transform("min")
    found = found.assign(is_best=found["training_loss"] == least)
    return found[list(figure.columns)]


def draw(figure: Fig6, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw a panel per case, losses on a logarithmic axis; full are rates that are used."""
    from replication.figures.typeset import seed_count
    from transformer_dynamics.gradient_heterogeneity.figures.labels import (
        add_optimiser_legend,
        optimiser_styles,
    )

    panels = list(table.groupby(["tuning", "case"], sort=False))
    columns = 3 if len(panels) > 4 else 2
    drawing, grid = wrap_panels(len(panels), columns, 1.55, 0.5)
    for axes, ((tuning, name), own) in zip(grid.flat, panels, strict=False):
        for optimiser, style in optimiser_styles().items():
            curve = own[own["optimiser"] == optimiser].sort_values("rate")
            look = {"color": style.colour, "marker": "o", "markersize": 3.5}
            axes.plot(
                curve["rate"], curve["training_loss"], linestyle=style.line,
                markerfacecolor="white", **look,
            )  # fmt: skip
            used = curve[curve["is_used"]]
            axes.plot(used["rate"], used["training_loss"], linestyle="none", **look)
        axes.set(xscale="log", yscale="log", title=case_title(str(tuning), str(name), own))
        set_plain_ticks(axes.yaxis, (1, 1.5, 2, 3, 5, 7))
        axes.margins(0.1)
    for line in grid:
        line[0].set_ylabel("training loss (nats)")
    for axes in grid.flat[max(len(panels) - columns, 0) : len(panels)]:
        axes.set_xlabel("learning rate")
    lost = int(table["training_loss"].isna().sum())
    title = f"{seed_count(table['seed'])}; full: rates that are used; {lost} runs were lost"
    add_optimiser_legend(drawing, table["optimiser"], title)
    return drawing


def case_title(tuning: str, name: str, rows: "pd.DataFrame") -> str:
    """Return the title of a case of an experiment, which has these rows."""
    from transformer_dynamics.gradient_heterogeneity.figures.labels import case_label

    if tuning in TITLES:
        return TITLES[tuning]
    if tuning == "tuning_full_batch":
        return case_label("full_batch")
    if tuning == "tuning_adam":
        return rf"Adam, $\epsilon={rows['epsilon'].iloc[0]:g}$"
    if tuning in {"tuning_reparametrised", "tuning_coordinates"}:
        is_split = bool(rows["block_rates"].iloc[0])
        return (
            "a rate by block"
            if is_split
            else rf"blocks times $e^{{\pm q}}$, $q={rows['exponent'].iloc[0]:g}$"
        )
    return case_label(name)
