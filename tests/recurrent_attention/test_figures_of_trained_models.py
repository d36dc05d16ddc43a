"""Figures of trained models and of norms: what their tables add, and that it is drawn."""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PathCollection
from tables import accuracy

from replication.marks import unknown_marks
from replication.study import Measured
from transformer_dynamics.recurrent_attention.figures import (
    clouds,
    fig1,
    fig2c,
    fig4,
    figS5,
    methods,
    tuning,
)

TRAIN = SimpleNamespace(
    model=SimpleNamespace(normalised=True, width=3),
    training=SimpleNamespace(updates=7),
    boards=SimpleNamespace(cells=16),
)


def spectrum(re, im, normalised):
    """Eigenvalues of seed 1 on board 0."""
    rows = {"seed": 1, "board": 0, "normalised": normalised, "re": re, "im": im}
    return pd.DataFrame(rows)


@pytest.fixture
def spectra():
    seen = spectrum([0.5, -0.25, 2.0], [0.0, 1.2, 0.0], True)
    # To the left, above and to the right of the view.
    far = spectrum([-9.5, 0.5, 2.2, 1.0], [0.0, 1.4, 0.0, 0.0], False)
    return Measured(pd.concat([seen, far]), SimpleNamespace(train=TRAIN))


def test_eigenvalues_that_cannot_be_seen_are_counted(spectra):
    figure = fig2c.Fig2c(drawing="fig2c", conditions=["itrsa"], seed=1)
    assert set(fig2c.table(figure, spectra)["outside"]) == {0}
    figure = clouds.Clouds(drawing="clouds", normalised="a", unnormalised="b", seed=1)
    table = clouds.table(figure, spectra, spectra)
    assert table.groupby("normalised")["outside"].unique().map(list).tolist() == [[3], [0]]
    drawing = clouds.draw(figure, table)
    assert not list(unknown_marks(drawing, [table]))
    assert [axes.get_title().splitlines()[-1][0] for axes in drawing.axes] == ["0", "3", "3"]
    plt.close(drawing)


def test_trajectories_are_compared_with_rounding():
    rows = pd.DataFrame(
        [
            (kind, 1, run, t, 0.0 if kind == "original" else 0.3 / (t + 1), 0.123 + 0.01 * run)
            for kind, run in (("original", 0), ("spread", 1), ("spread", 2), ("small", 3))
            for t in (0, 1, 2, 3, 40, 77)
        ],
        columns=["kind", "seed", "run", "t", "distance", "coordinate"],
    )
    how = SimpleNamespace(spread=1e-3, small=1e-8, early=3)
    figure = figS5.FigS5(drawing="figS5", condition="itrsa", seed=1)
    table = figS5.table(figure, Measured(rows, SimpleNamespace(train=TRAIN, how=how)))
    assert table.columns.tolist() == list(figure.columns)
    # 48 coordinates near 1, each off by half a unit in the last place.
    assert set(table["rounding"]) == {48 * np.finfo(np.float64).eps / 2}
    drawing = figS5.draw(figure, table)
    assert not list(unknown_marks(drawing, [table]))
    assert [len(axes.lines) for axes in drawing.axes] == [4, 3, 2, 2]
    (legend,) = drawing.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names == ["run 1, $10^{-3}$", "run 2, $10^{-3}$", "run 3, $10^{-8}$"]
    plt.close(drawing)


def test_the_paper_s_norms_stand_where_its_curve_ends():
    rows = pd.DataFrame(
        [
            (reading, "xavier", 1, tokens, seed, 0.3 * tokens + seed)
            for reading in fig1.LABELS
            for tokens in (20, 34, 100)
            for seed in (1, 2)
        ],
        columns=["reading", "initialisation", "heads", "tokens", "seed", "norm"],
    )
    figure = fig1.Fig1(drawing="fig1")
    table = fig1.table(figure, Measured(rows, SimpleNamespace()))
    assert table.groupby("S")["paper_without"].first().dropna().to_dict() == {20: 700, 100: 2500}
    assert set(table["paper_with"]) == {0.017}
    drawing = fig1.draw(figure, table)
    assert not list(unknown_marks(drawing, [table]))
    assert [text.get_text() for text in drawing.axes[0].texts] == ["paper, without", "paper, with"]
    plt.close(drawing)


@pytest.mark.parametrize("module", [fig4, methods])
def test_every_seed_stands_beside_its_curve(module):
    names = ["itrsa", "akorn", "itrsa_spectral"]
    measured = [accuracy(name, 0.2, 0.4 + 0.1 * place) for place, name in enumerate(names)]
    if module is fig4:
        figure = fig4.Fig4(drawing="fig4", panels={"one": names[:1], "two": names[1:2]})
        measured = measured[:2]
    else:
        figure = methods.Methods(drawing="fig5", methods=dict(zip("abc", names, strict=True)))
    table = module.table(figure, *measured)
    drawing = module.draw(figure, table)
    assert not list(unknown_marks(drawing, [table]))
    last = table[(table["T"] == table["T"].max()) & (table["split"] == "out of distribution")]
    marks = [item for axes in drawing.axes[1::2] for item in axes.collections]
    shown = [
        value
        for item in marks
        if isinstance(item, PathCollection)
        for value in np.asarray(item.get_offsets())[:, 1]
    ]
    assert set(last["accuracy"]) <= set(shown)
    plt.close(drawing)


def test_what_is_chosen_is_filled_whatever_its_marker():
    names = [f"condition_{place}" for place in range(8)]
    table = pd.DataFrame(
        [
            (name, "learning_rate", value, 0, 16, 0.1, 0.2, value == 0.02)
            for name in names
            for value in (0.01, 0.02)
        ],
        columns=list(tuning.TuningFigure.columns),
    )
    drawing = tuning.draw(tuning.TuningFigure(drawing="tuning"), table)
    left, _ = drawing.axes
    tried, best = left.lines[::2], left.lines[1::2]
    assert {line.get_markerfacecolor() for line in tried} == {"none"}
    assert len({line.get_marker() for line in best}) == len(names)
    assert len({line.get_color() for line in best}) == len(names)
    assert all(line.get_markerfacecolor() == line.get_color() for line in best)
    plt.close(drawing)
