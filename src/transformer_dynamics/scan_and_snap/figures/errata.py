"""Findings A, B and C: where the paper's premises do not hold."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from replication.study import Measured
from transformer_dynamics.scan_and_snap.figures.base import OfRuns, Size
from transformer_dynamics.scan_and_snap.measure_settings import MeasureJob, Metric
from transformer_dynamics.scan_and_snap.settings import Positive

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing


class Errata(OfRuns):
    """Where the paper's premises do not hold: findings A, B and C."""

    metric: ClassVar[Metric] = "entropy"
    title: ClassVar[str] = "Scan and Snap: findings A, B and C"
    columns: ClassVar[tuple[str, ...]] = ("panel", "curve", "x", "y", "y_std", "n_seeds")
    drawing: Literal["errata"]
    """Which drawing."""
    num_classes: int = Field(ge=2, le=1000)
    """K of finding A."""
    vocabulary_size: Size
    """M of finding A."""
    correlations: list[Annotated[float, Field(gt=0, lt=1)]] = Field(min_length=1)
    """rho = f_n.f_n' of finding A, equal for all pairs."""
    passes: int = Field(ge=1, le=100_000)
    """Length of finding A, in updates of each class at eta_Y = 1."""
    num_last: list[Annotated[int, Field(ge=1, le=1000)]] = Field(min_length=1)
    """Numbers of query tokens of finding B, two next tokens each."""
    eta_z: Positive
    """Learning rate of Z of the runs shown for finding C."""
    first_update: int = Field(default=100, ge=1)
    """Where finding C begins: the paper's number of updates."""


def table(figure: Errata, measured: Measured[MeasureJob]) -> "pd.DataFrame":
    """Findings A, B and C as curves.

    Args:
        figure: the figure's settings.
        measured: entropy of the long training runs; one mixture.

    Returns:
        Columns panel, curve, x, y, y_std, n_seeds; only panel C has several seeds.
    """
    import pandas as pd

    tables = [
        *_modified_dynamics(figure),
        _assumption_2(figure, measured.job),
        _length(figure, measured),
    ]
    return pd.concat(tables, ignore_index=True)


def _modified_dynamics(figure: Errata) -> Iterator["pd.DataFrame"]:
    """A: xi_n of the true (7) and the modified (26) decoder, against eta_Y t/K."""
    import numpy as np

    from transformer_dynamics.scan_and_snap.theory.frozen import frozen_flow
    from transformer_dynamics.scan_and_snap.theory.updates import equal_correlations

    x = np.linspace(0, figure.passes, 251)
    for rho in figure.correlations:
        e = equal_correlations(figure.num_classes, rho)
        for name, modified in (("true (7)", False), ("modified (26)", True)):
            times = x * figure.num_classes
            xi = frozen_flow(e, figure.vocabulary_size, 1.0, times, modified=modified)
            yield _curve("A", rf"{name}, $\rho={rho:g}$", x, xi[:, 0])


def _assumption_2(figure: Errata, job: MeasureJob) -> "pd.DataFrame":
    """B: largest eigenvalue of E at Z = 0 against its limit 1/K, for the paper's own mixtures."""
    import pandas as pd

    from transformer_dynamics.scan_and_snap.sequence_classes import sequence_classes
    from transformer_dynamics.scan_and_snap.theory.assumptions import assumption_2
    from transformer_dynamics.scan_and_snap.theory.coupling import initial_correlations

    (mixture,) = job.mixtures.values()
    checks = []
    for num_last in figure.num_last:
        classes = sequence_classes(mixture.model_copy(update={"num_last": num_last}))
        checks.append(assumption_2(initial_correlations(classes), classes.vocabulary_size))
    x = [num_last * mixture.next_tokens_per_query for num_last in figure.num_last]
    largest = _curve("B", r"$|\lambda_1(E)|$", x, [check.largest for check in checks])
    limit = _curve("B", "limit $1/K$", x, [check.largest_limit for check in checks])
    return pd.concat([largest, limit])


def _length(figure: Errata, measured: Measured[MeasureJob]) -> "pd.DataFrame":
    """C: entropy on distinct tokens against the number of updates."""
    import pandas as pd

    from transformer_dynamics.scan_and_snap.tables import mean_and_std

    metrics = measured.table
    chosen = metrics[metrics["eta_z"] == figure.eta_z]
    means = mean_and_std(chosen, ["ratio", "iteration"], measured.job)
    return pd.DataFrame(
        {
            "panel": "C",
            "curve": [rf"$\eta_Y/\eta_Z={ratio:g}$" for ratio in means["ratio"]],
            "x": means["iteration"],
            "y": means["entropy_mean"],
            "y_std": means["entropy_std"],
            "n_seeds": means["n_seeds"],
        }
    )


def _curve(panel: str, name: str, x: object, y: object) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame({"panel": panel, "curve": name, "x": x, "y": y, "n_seeds": 0})


def draw(
    figure: Errata, table: "pd.DataFrame", published: "pd.DataFrame | None" = None
) -> "Drawing":
    """Left A, middle B, right C; bars of C are standard deviations over seeds."""
    import matplotlib.pyplot as plt

    drawing, (a, b, c) = plt.subplots(1, 3, figsize=(11.5, 3.3), layout="constrained")
    parts = {panel: table[table["panel"] == panel] for panel in "ABC"}
    _curves(a, parts["A"], markers=False)
    a.set(
        xlabel=r"$\eta_Y t/K$",
        ylabel=r"$\xi_n(t)$",
        yscale="log",
        ylim=(parts["A"]["y"].max() * 1e-5, None),
        title=f"A: true and modified decoder\n$K={figure.num_classes}$,"
        f" $M={figure.vocabulary_size}$, Z fixed",
    )
    _curves(b, parts["B"], markers=True)
    b.set(
        xlabel="$K$ (number of classes)",
        ylabel="eigenvalue",
        yscale="log",
        title="B: Assumption 2 on Syn-Medium, $Z=0$",
    )
    _curves(c, parts["C"], markers=True)
    seeds = parts["C"]["n_seeds"].max()
    c.set(
        xlabel="updates",
        ylabel="entropy on distinct tokens (nats)",
        xscale="log",
        title=rf"C: training length, $\eta_Z={figure.eta_z:g}$, {seeds} seeds",
    )
    c.axvline(figure.first_update, color="black", linestyle="--", linewidth=0.5)
    return drawing


def _curves(axes: "Axes", table: "pd.DataFrame", *, markers: bool) -> None:
    from replication.drawing import curve_styles

    for name, (colour, line, marker) in curve_styles(table["curve"].unique()):
        rows = table[table["curve"] == name]
        axes.errorbar(
            rows["x"],
            rows["y"],
            rows["y_std"] if rows["y_std"].notna().any() else None,
            color=colour,
            linestyle=line,
            marker=marker if markers else None,
            markersize=4,
            capsize=2,
            label=name,
        )
    axes.legend(frameon=False, fontsize="small")
