"""Figure 9: gradients made more unequal, and rates by curvature."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.study.contract import Figure, Measured
from transformer_dynamics.gradient_heterogeneity.settings.metrics import MetricJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

METHODS = {"sgd": "SGD", "signsgd": "SignSGD", "sgd, a rate by block": "SGD, a rate by block"}
LAMBDAS = {"lambda_g": r"$\Lambda_G$", "lambda_p": r"$\Lambda_P$"}


class Fig9(Figure):
    """Endpoints and curvatures against q."""

    title: ClassVar[str] = "Gradient heterogeneity, Figure 9: coordinates and rates of blocks"
    columns: ClassVar[tuple[str, ...]] = (
        "part", "method", "q", "seed", "value", "mean",
    )  # fmt: skip
    kind: Literal["fig9"]
    """Kind of the figure."""
    experiment: str = "reparametrised"
    """Experiment of the runs."""

    def sources(self) -> list[tuple[str, str]]:
        """Return the losses, and the gradients and curvatures in coordinates."""
        return [(self.experiment, "endpoint"), (self.experiment, "coordinates")]


def table(
    figure: Fig9, endpoint: Measured[MetricJob], coordinates: Measured[MetricJob]
) -> "pd.DataFrame":
    """Collect part `endpoint`: loss of the slice in the end (nats), by method, q and seed.

    Part `curvature`: Lambda_G and Lambda_P before training, of SGD's runs.
    """
    import pandas as pd

    ends = endpoint.table[endpoint.table["is_last"]]
    method = ends["optimiser"] + ends["block_rates"].map({True: ", a rate by block", False: ""})
    losses = ends.assign(part="endpoint", method=method, value=ends["endpoint"])
    rows = coordinates.table.query("optimiser == 'sgd' and not block_rates")
    sizes = rows.melt(["exponent", "seed"], [*LAMBDAS], "method").assign(part="curvature")
    found = pd.concat([losses, sizes], ignore_index=True).rename(columns={"exponent": "q"})
    means = found.groupby(["part", "method", "q"])["value"].transform("mean")
    return found.assign(mean=means)[list(figure.columns)]


def draw(figure: Fig9, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw losses left, curvatures that steps see right; dots are seeds."""
    import matplotlib.pyplot as plt

    from replication.figures.style import WIDTH, category_styles

    drawing, row = plt.subplots(1, 2, figsize=(WIDTH, 2.7), layout="constrained")
    for axes, part, names in zip(row, ("endpoint", "curvature"), (METHODS, LAMBDAS), strict=True):
        for method, style in category_styles(names):
            own = table[(table["part"] == part) & (table["method"] == method)]
            axes.scatter(own["q"], own["value"], s=6, color=style.colour, alpha=0.4, linewidths=0)
            mean = own.drop_duplicates("q").sort_values("q")
            axes.plot(
                mean["q"], mean["mean"], color=style.colour, linestyle=style.line,
                marker=style.marker, label=names[method],
            )  # fmt: skip
        axes.set_xlabel("$q$: blocks are scaled by $e^{\\pm q}$")
        axes.set_xticks(sorted(table["q"].unique()))
        axes.legend(frameon=False)
    row[0].set_ylabel("loss of the slice (nats)")
    row[1].set(ylabel="curvature", yscale="log")
    return drawing
