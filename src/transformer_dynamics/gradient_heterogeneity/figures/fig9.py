"""Figure 9: gradients made more unequal, and rates by curvature."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.figures.panels import draw_seeds, make_panels
from replication.study.contract import ExperimentFigure, Measured
from transformer_dynamics.gradient_heterogeneity.settings.metrics import MetricJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

METHODS = {"sgd": "sgd", "signsgd": "signsgd", "sgd, a rate by block": "block_rates"}
"""Optimiser in whose style a method is drawn."""
LAMBDAS = {"lambda_g": "sgd", "lambda_p": "signsgd"}
"""Optimiser whose steps see a curvature."""


class Fig9(ExperimentFigure):
    """Endpoints and curvatures against q."""

    metrics: ClassVar[tuple[str, ...]] = ("endpoint", "coordinates")
    title: ClassVar[str] = "Gradient heterogeneity, Figure 9: coordinates and rates of blocks"
    columns: ClassVar[tuple[str, ...]] = (
        "part", "method", "q", "seed", "value", "mean",
    )  # fmt: skip
    kind: Literal["fig9"]
    """Kind of the figure."""
    experiment: str = "reparametrised"
    """Experiment of the runs."""


def table(
    figure: Fig9, endpoint: Measured[MetricJob], coordinates: Measured[MetricJob]
) -> "pd.DataFrame":
    """Collect part `endpoint`: loss of the slice in the end (nats), by method, q and seed.

    Part `curvature`: Lambda_G and Lambda_P before training, of SGD's runs, where measured.
    """
    import pandas as pd

    ends = endpoint.table[endpoint.table["is_last"]]
    method = ends["optimiser"] + ends["block_rates"].map({True: ", a rate by block", False: ""})
    losses = ends.assign(part="endpoint", method=method, value=ends["endpoint"])
    rows = coordinates.table.query("optimiser == 'sgd' and not block_rates")
    sizes = (
        rows.melt(["exponent", "seed"], [*LAMBDAS], "method")
        .assign(part="curvature")
        .dropna(subset="value")
    )
    found = pd.concat([losses, sizes], ignore_index=True).rename(columns={"exponent": "q"})
    means = found.groupby(["part", "method", "q"])["value"].transform("mean")
    return found.assign(mean=means)[list(figure.columns)]


def draw(figure: Fig9, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw losses left, curvatures that steps see right; a thin line is a seed."""
    from replication.figures.typeset import seed_count
    from transformer_dynamics.gradient_heterogeneity.figures.labels import (
        FINAL_LOSS,
        add_optimiser_legend,
        optimiser_styles,
    )

    parts = {"endpoint": METHODS, "curvature": LAMBDAS}
    parts = {part: names for part, names in parts.items() if part in {*table["part"]}}
    drawing, [row] = make_panels(1, len(parts), 3.0)
    styles = optimiser_styles()
    for axes, (part, names) in zip(row, parts.items(), strict=True):
        for method, optimiser in names.items():
            own = table[(table["part"] == part) & (table["method"] == method)]
            draw_seeds(axes, own, "q", styles[optimiser])
        axes.set_xlabel("$q$: blocks are scaled by $e^{\\pm q}$")
        axes.set_xticks(sorted(table["q"].unique()))
        axes.margins(x=0.3)
    row[0].set_ylabel(FINAL_LOSS)
    for axes in row[1:]:
        axes.set(
            ylabel=r"curvature that steps see, $\Lambda_G$ (SGD)" "\n" r"or $\Lambda_P$ (SignSGD)",
            yscale="log",
        )
    shown = [METHODS[method] for method in table["method"] if method in METHODS]
    title = f"a thin line per seed, {seed_count(table['seed'])}; marks are means"
    add_optimiser_legend(drawing, shown, title, markers=True)
    return drawing
