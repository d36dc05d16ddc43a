"""B_n(t), relative gain and growth factor: theory, population flow and training on one axis."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.figures.panels import legend_below, make_panels, set_plain_ticks
from replication.study.contract import ExperimentFigure, Measured
from transformer_dynamics.scan_and_snap.figures.elements import mean_and_std, spread_note
from transformer_dynamics.scan_and_snap.settings.metrics import MetricJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from transformer_dynamics.scan_and_snap.theory.sequence_classes import Floats, SequenceClasses

QUANTITIES = {
    "exponent": "$B_n(t)$",
    "relative_gain": r"relative gain $r_{l_0/l|n}(t)$",
    "growth_factor": r"growth factor $\chi_{l_0}(t)$",
}
PREDICTIONS = (
    "population flow", "population flow, modified", "Eq. 10, sampled", "Eq. 10", "Theorem 4",
)  # fmt: skip
LEAST_SHOWN = 0.01
"""Least B_n on its logarithmic axis: less is below the noise of sampling."""
POINTS = 14
"""Most points of training that are shown, about evenly spaced on the logarithmic axis."""


class TheoryVsTraining(ExperimentFigure):
    """B_n(t), relative gain and growth factor: theory, population flow and training."""

    metrics: ClassVar[tuple[str, ...]] = ("growth",)
    title: ClassVar[str] = "Scan and Snap: theory against training"
    columns: ClassVar[tuple[str, ...]] = (
        "eta_y", "eta_z", "source", "quantity", "t", "value_mean", "value_std", "n_seeds",
    )  # fmt: skip
    kind: Literal["theory_vs_training"]
    """Kind of the figure, which has one column per ratio."""


def table(figure: TheoryVsTraining, measured: Measured[MetricJob]) -> "pd.DataFrame":
    """Return the exponent B_n(t), relative gain and growth factor of every cell, from every source.

    Sources other than training have no std.
    """
    import numpy as np
    import pandas as pd

    from transformer_dynamics.scan_and_snap.metrics.growth import GROWTH
    from transformer_dynamics.scan_and_snap.theory.sequence_classes import sequence_classes

    job = measured.job
    (mixture,) = job.mixtures.values()
    classes = sequence_classes(mixture)
    times = np.array(job.recorded, dtype=np.float64)
    keys = ["eta_z", "ratio", "quantity", "iteration"]
    runs = mean_and_std(measured.table, keys, job)
    runs = runs.rename(
        columns={"iteration": "t", "growth_mean": "value_mean", "growth_std": "value_std"}
    )
    tables = [runs.assign(eta_y=runs["eta_z"] * runs["ratio"], source="training")]
    for eta_z, ratio in job.training.cells:
        for source, values in _theory_values(classes, eta_z * ratio, eta_z, times).items():
            drawn = {
                "eta_y": eta_z * ratio,
                "eta_z": eta_z,
                "source": source,
                "quantity": np.repeat(GROWTH, len(times)),
                "t": np.tile(times, len(GROWTH)),
                "value_mean": values.T.ravel(),
                "n_seeds": 0,
            }
            tables.append(pd.DataFrame(drawn))
    columns = list(figure.columns)
    table = pd.concat(tables, ignore_index=True)[columns].dropna(subset="value_mean")
    return table.sort_values(columns[:5], ignore_index=True)


def _theory_values(
    classes: "SequenceClasses", eta_y: float, eta_z: float, times: "Floats"
) -> "dict[str, Floats]":
    """Return [T, 3] values of `GROWTH` from both population flows, (10) and Theorem 4."""
    import numpy as np

    from transformer_dynamics.scan_and_snap.metrics.growth import GROWTH, growth
    from transformer_dynamics.scan_and_snap.theory.attention_flow import attention_flow
    from transformer_dynamics.scan_and_snap.theory.growth import exponent, theorem4_setting
    from transformer_dynamics.scan_and_snap.theory.population import population_flow

    given = classes, eta_y, eta_z, times
    logits = {
        "population flow": population_flow(*given).attention_logits,
        "population flow, modified": population_flow(*given, modified=True).attention_logits,
        "Eq. 10": attention_flow(*given).attention_logits,
        "Eq. 10, sampled": attention_flow(*given, sampled=True).attention_logits,
    }
    closed = np.full((len(times), len(GROWTH)), np.nan)
    closed[:, 0] = exponent(theorem4_setting(classes, eta_y, eta_z), times)
    values = {name: growth(classes, z) for name, z in logits.items()}
    return values | {"Theorem 4": closed}


def draw(figure: TheoryVsTraining, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw one row per quantity, one column per pair of rates; bars are standard deviations."""
    cells = table[["eta_y", "eta_z"]].drop_duplicates().to_numpy()
    drawing, panels = make_panels(
        len(QUANTITIES), len(cells), 0.7 + 1.5 * len(QUANTITIES), sharex=True, sharey="row"
    )
    for (quantity, label), row in zip(QUANTITIES.items(), panels, strict=True):
        for (eta_y, eta_z), axes in zip(cells, row, strict=True):
            chosen = (table["eta_y"] == eta_y) & (table["eta_z"] == eta_z)
            _draw_panel(axes, table[chosen & (table["quantity"] == quantity) & (table["t"] > 0)])
        row[0].set_ylabel(label)
    for axes, (eta_y, eta_z) in zip(panels[0], cells, strict=True):
        axes.set_title(rf"$\eta_Y={eta_y:g}$, $\eta_Z={eta_z:g}$")
        axes.set_ylim(bottom=LEAST_SHOWN)
    for axes in panels[1:].flat:
        set_plain_ticks(axes.yaxis)
    for axes in panels[-1]:
        axes.set_xlabel("Time $t$ (updates)")
    legend_below(drawing, title=f"training: means, {spread_note(table)}", ncols=3)
    return drawing


def _draw_panel(axes: "Axes", table: "pd.DataFrame") -> None:
    from replication.figures.style import category_styles

    for source, style in category_styles(PREDICTIONS):
        rows = table[table["source"] == source]
        axes.plot(
            rows["t"], rows["value_mean"], color=style.colour, linestyle=style.line, label=source
        )
    runs = _thin_rows(table[table["source"] == "training"])
    axes.errorbar(
        runs["t"], runs["value_mean"], runs["value_std"], fmt="o", color="black", markersize=2.5,
        elinewidth=0.8, label="training", zorder=3,
    )  # fmt: skip
    axes.set(xscale="log", yscale="log")


def _thin_rows(rows: "pd.DataFrame") -> "pd.DataFrame":
    """Return the rows whose times are closest to evenly spaced ones, on a logarithmic axis."""
    import numpy as np

    wanted = np.geomspace(rows["t"].min(), rows["t"].max(), POINTS)
    distance = np.abs(np.log(rows["t"].to_numpy()[:, None] / wanted))
    return rows.iloc[np.unique(distance.argmin(axis=0))]
