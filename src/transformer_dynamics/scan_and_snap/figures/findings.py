"""Findings A, B and C: premises of the paper that do not hold."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from replication.base.strict import Count, Positive
from replication.figures.panels import make_panels
from replication.study.contract import ExperimentFigure, Measured
from transformer_dynamics.scan_and_snap.figures.elements import (
    Size,
    draw_dodged_points,
    mean_and_std,
)
from transformer_dynamics.scan_and_snap.settings.metrics import MetricJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing


UPDATES = {"true (7)": False, "modified (26)": True}
"""Names of the updates of the decoder, and whether it is the modified one."""
EIGENVALUE, LIMIT = r"$|\lambda_1(E)|$", "limit $1/K$"


class Findings(ExperimentFigure):
    """Premises of the paper that do not hold: findings A, B and C."""

    metrics: ClassVar[tuple[str, ...]] = ("entropy",)
    title: ClassVar[str] = "Scan and Snap: findings A, B and C"
    columns: ClassVar[tuple[str, ...]] = (
        "panel", "curve", "parameter", "x", "y", "y_std", "n_seeds",
    )  # fmt: skip
    kind: Literal["findings"]
    """Kind of the figure."""
    num_classes: int = Field(ge=2, le=1000)
    """Number K of sequence classes of finding A."""
    vocabulary_size: Size
    """Vocabulary size M of finding A."""
    correlations: list[Annotated[float, Field(gt=0, lt=1)]] = Field(min_length=1)
    """Correlations rho = f_n.f_n' of finding A, equal for all pairs."""
    passes: int = Field(ge=1, le=100_000)
    """Length of finding A, in updates of each class at eta_Y = 1."""
    num_last: list[Annotated[int, Field(ge=1, le=1000)]] = Field(min_length=1)
    """Numbers of query tokens of finding B, two next tokens each."""
    eta_z: Positive
    """Learning rate of Z of the runs shown for finding C."""
    first_update: Count = 100
    """Update at which finding C begins: the paper's number of updates."""


def table(figure: Findings, measured: Measured[MetricJob]) -> "pd.DataFrame":
    """Return findings A, B and C as curves.

    The parameter is rho in panel A and the ratio of the rates in C; only C has seeds.
    """
    import pandas as pd

    tables = [
        *_update_curves(figure),
        _eigenvalue_curves(figure, measured.job),
        _length_curves(figure, measured),
    ]
    return pd.concat(tables, ignore_index=True)[list(figure.columns)]


def _update_curves(figure: Findings) -> Iterator["pd.DataFrame"]:
    """Yield A: xi_n of the true (7) and the modified (26) decoder, against eta_Y t/K."""
    import numpy as np

    from transformer_dynamics.scan_and_snap.theory.updates import equal_correlations, frozen_flow

    x = np.linspace(0, figure.passes, 251)
    for rho in figure.correlations:
        e = equal_correlations(figure.num_classes, rho)
        for name, modified in UPDATES.items():
            times = x * figure.num_classes
            xi = frozen_flow(e, figure.vocabulary_size, 1.0, times, modified=modified)
            yield _curve("A", name, x, xi[:, 0], parameter=rho)


def _eigenvalue_curves(figure: Findings, job: MetricJob) -> "pd.DataFrame":
    """Return B: largest eigenvalue of E at Z = 0 and its limit 1/K, for the paper's mixtures."""
    import pandas as pd

    from transformer_dynamics.scan_and_snap.theory.assumptions import assumption_2
    from transformer_dynamics.scan_and_snap.theory.coupling import initial_correlations
    from transformer_dynamics.scan_and_snap.theory.sequence_classes import sequence_classes

    (mixture,) = job.mixtures.values()
    checks = []
    for num_last in figure.num_last:
        classes = sequence_classes(mixture.model_copy(update={"num_last": num_last}))
        checks.append(assumption_2(initial_correlations(classes), classes.vocabulary_size))
    x = [num_last * mixture.next_tokens_per_query for num_last in figure.num_last]
    largest = _curve("B", EIGENVALUE, x, [check.largest for check in checks])
    limit = _curve("B", LIMIT, x, [check.largest_limit for check in checks])
    return pd.concat([largest, limit])


def _length_curves(figure: Findings, measured: Measured[MetricJob]) -> "pd.DataFrame":
    """Return C: entropy on distinct tokens against the number of updates."""
    import pandas as pd

    metrics = measured.table
    chosen = metrics[metrics["eta_z"] == figure.eta_z]
    means = mean_and_std(chosen, ["ratio", "iteration"], measured.job)
    return pd.DataFrame(
        {
            "panel": "C",
            "curve": "training",
            "parameter": means["ratio"],
            "x": means["iteration"],
            "y": means["entropy_mean"],
            "y_std": means["entropy_std"],
            "n_seeds": means["n_seeds"],
        }
    )


def _curve(
    panel: str, name: str, x: object, y: object, parameter: float | None = None
) -> "pd.DataFrame":
    import pandas as pd

    columns = {"panel": panel, "curve": name, "parameter": parameter, "x": x, "y": y, "n_seeds": 0}
    return pd.DataFrame(columns)


def draw(
    figure: Findings, table: "pd.DataFrame", published: "pd.DataFrame | None" = None
) -> "Drawing":
    """Draw A, B and C from left to right; bars of C are standard deviations over seeds."""
    from replication.figures.typeset import count_in_words

    drawing, [row] = make_panels(1, 3, 2.9)
    titles = ("A: decoder update", "B: Assumption 2", "C: training length")
    notes = (
        "",
        "",
        f"{count_in_words([table['n_seeds'].max()], 'seed')}; bars: one\nstandard deviation",
    )
    for axes, panel, title, note, show in zip(
        row, "ABC", titles, notes, (_draw_updates, _draw_assumption_2, _draw_length), strict=True
    ):
        show(axes, table[table["panel"] == panel], figure)
        axes.set_title(title)
        axes.legend(
            frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.25), title=note or None
        )
    return drawing


def _draw_updates(axes: "Axes", table: "pd.DataFrame", figure: Findings) -> None:
    """Draw finding A; colours are correlations, dashes the modified update."""
    from replication.figures.style import curve_styles

    for rho, style in curve_styles(sorted(table["parameter"].unique())):
        for name, line in zip(UPDATES, ("-", "--"), strict=True):
            rows = table[(table["parameter"] == rho) & (table["curve"] == name)]
            label = rf"{name}, $\rho={rho:g}$"
            axes.plot(rows["x"], rows["y"], line, color=style.colour, label=label)
    axes.set(
        xlabel=r"$\eta_Y t/K$",
        ylabel=r"$\xi_n(t)$",
        yscale="log",
        ylim=(table["y"].max() * 1e-4, None),
    )


def _draw_assumption_2(axes: "Axes", table: "pd.DataFrame", figure: Findings) -> None:
    from replication.figures.style import category_styles

    for name, style in category_styles((EIGENVALUE, LIMIT)):
        rows = table[table["curve"] == name]
        axes.plot(rows["x"], rows["y"], **style.look, label=name)
    axes.set(xlabel="number of classes $K$", ylabel="eigenvalue of $E$ at $Z=0$", yscale="log")


def _draw_length(axes: "Axes", table: "pd.DataFrame", figure: Findings) -> None:
    from replication.figures.style import curve_styles

    styles = curve_styles(sorted(table["parameter"].unique()))
    for index, (ratio, style) in enumerate(styles):
        rows = table[table["parameter"] == ratio]
        draw_dodged_points(
            axes, rows["x"], rows["y"], rows["y_std"], (index, len(styles)), apart=0.8,
            **style.look, markersize=3, linewidth=0.8, label=rf"$\eta_Y/\eta_Z={ratio:g}$",
        )  # fmt: skip
    axes.axvline(figure.first_update, color="black", linestyle="--", linewidth=0.8, zorder=0)
    axes.set(xlabel="updates", ylabel="entropy on distinct\ntokens (nats)", xscale="log")
