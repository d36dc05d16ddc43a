"""Exponents and accuracy of all models as they were trained."""

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from replication.study.contract import Measured
from transformer_dynamics.recurrent_attention.figures.conditions import (
    EXPONENT_COLUMNS,
    EXPONENTS,
    SOLVED_OUT,
    ConditionsFigure,
    draw_against_exponents,
)
from transformer_dynamics.recurrent_attention.settings.metrics import OUT

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing


class ExponentAccuracy(ConditionsFigure):
    """Accuracy against exponents, a dot per seed."""

    metrics: ClassVar[tuple[str, ...]] = ("exponents", "accuracy")
    title: ClassVar[str] = "Recurrent attention: exponents and accuracy of trained models"
    columns: ClassVar[tuple[str, ...]] = (
        "model", "seed", "loops", *EXPONENTS, "accuracy",
    )  # fmt: skip
    kind: Literal["exponent_accuracy"]
    """Kind of the figure."""
    loops: int
    """Number T of loops of accuracy."""


def table(figure: ExponentAccuracy, *measured: Measured[Any]) -> "pd.DataFrame":
    """Return means over boards and accuracy in [0, 1], a row per condition and seed."""
    import pandas as pd

    parts = []
    for index, name in enumerate(figure.conditions):
        exponents, accuracy = (each.table for each in measured[2 * index : 2 * index + 2])
        solved = accuracy[(accuracy["split"] == OUT) & (accuracy["loops"] == figure.loops)]
        means = exponents.groupby("seed", as_index=False)[[*EXPONENT_COLUMNS]].mean(skipna=False)
        parts.append(means.merge(solved, on="seed", validate="one_to_one").assign(model=name))
    found = pd.concat(parts, ignore_index=True).rename(
        columns={**EXPONENT_COLUMNS, "solved": "accuracy"}
    )
    return found[list(figure.columns)]


def draw(figure: ExponentAccuracy, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw a panel per exponent, a dot per seed."""
    solved = f"{SOLVED_OUT},\n$T={figure.loops}$"
    return draw_against_exponents(table, EXPONENTS, solved)
