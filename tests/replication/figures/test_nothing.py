"""Panels and curves without a finite value say so."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from replication.figures.style import NOTHING, tell_nothing
from replication.study import curves
from replication.study.contract import Measured

DIVERGED = [2.0, np.nan, np.inf]


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def words(figure) -> list[list[str]]:
    """The texts within each panel."""
    tell_nothing(figure)
    figure.canvas.draw()
    return [[text.get_text() for text in axes.texts] for axes in figure.axes if axes.has_data()]


def measured(losses) -> Measured:
    return Measured(pd.DataFrame({"seed": 1, "update": range(3), "loss": losses}), None)


@pytest.mark.parametrize("logarithmic", [True, False])
def test_a_panel_of_runs_that_diverged_says_so(logarithmic):
    figure = curves.Curves(
        kind="curves", experiments=["small", "large"], metric="loss", axis="update", value="loss",
        logarithmic=logarithmic,
    )  # fmt: skip
    table = curves.table(figure, measured([3.0, 2.0, 1.0]), measured([np.nan] * 3))
    assert words(curves.draw(figure, table)) == [[], [NOTHING]]


@pytest.mark.parametrize(
    "draw",
    [
        lambda axes: axes.plot([0, 1], [np.nan] * 2),
        lambda axes: axes.scatter([0, 1], [np.nan] * 2),
        lambda axes: axes.errorbar([0, 1], [np.nan] * 2, [np.nan] * 2),
        lambda axes: axes.bar([0, 1], [np.nan] * 2),
    ],
)
def test_a_line_of_reference_is_no_value(draw):
    figure, (empty, other) = plt.subplots(1, 2)
    for axes in (empty, other):
        draw(axes)
        axes.axhline(1)
    other.plot([0, 1, 2], DIVERGED)
    assert words(figure) == [[NOTHING], []]


def test_a_panel_of_words_or_nothing_stays_as_it_is():
    figure, (own, _) = plt.subplots(1, 2)
    own.text(0, 0, "own")
    tell_nothing(figure)
    assert [[text.get_text() for text in axes.texts] for axes in figure.axes] == [["own"], []]
