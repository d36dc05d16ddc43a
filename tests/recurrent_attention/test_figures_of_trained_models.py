"""Figures of trained models and of norms: what their tables add, and that it is drawn."""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PathCollection
from tables import SETTINGS, STUDY, T_MAX, accuracy, exponents

from replication.base.storage import read_csv
from replication.documents.texts import cite_figure
from replication.figures.drawn_numbers import unknown_marks
from replication.plan.configuration import configure
from replication.plan.jobs import Jobs
from replication.study.contract import Measured
from transformer_dynamics.recurrent_attention.figures import (
    clouds,
    conditions,
    equal_n,
    exponent_accuracy,
    fig1,
    fig2a,
    fig2c,
    fig4,
    figS5,
    levels,
    methods,
    tuning,
)

REFERENCE = "results/reference/recurrent_attention/figures"

TRAIN = SimpleNamespace(
    model=SimpleNamespace(normalised=True, width=3),
    training=SimpleNamespace(updates=7),
    boards=SimpleNamespace(cells=16),
    rows=48,
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
    return Measured(
        pd.concat([seen, far]), SimpleNamespace(train=TRAIN, settings=SimpleNamespace(largest=None))
    )


def test_eigenvalues_that_cannot_be_seen_are_counted(spectra):
    figure = fig2c.Fig2c(kind="fig2c", conditions=["itrsa"], seed=1)
    assert set(fig2c.table(figure, spectra)["outside"]) == {0}
    figure = clouds.Clouds(kind="clouds", normalised="a", unnormalised="b", seed=1)
    table = clouds.table(figure, spectra, spectra)
    assert table.groupby("normalised")["outside"].unique().map(list).tolist() == [[3], [0]]
    drawing = clouds.draw(figure, table)
    assert not list(unknown_marks(drawing, [table]))
    assert drawing.axes[0].get_title().splitlines()[-1][0] == "3"
    # Moduli show those, too.
    assert len(drawing.axes[1].lines) == 4
    plt.close(drawing)


def test_every_model_shows_its_own_step(spectra):
    """Of one that is normalised the step without it is in the table, too, and is not shown."""
    plain = SimpleNamespace(
        model=SimpleNamespace(normalised=False), training=SimpleNamespace(updates=9)
    )
    other = Measured(spectra.table.assign(board=0), SimpleNamespace(train=plain))
    figure = fig2c.Fig2c(kind="fig2c", conditions=["with", "without"], seed=1)
    found = fig2c.table(figure, spectra, other).groupby("model", sort=False)
    assert found["re"].agg(list).tolist() == [[0.5, -0.25, 2.0], [-9.5, 0.5, 2.2, 1.0]]
    assert found["training"].first().tolist() == [7, 9]


def test_exponents_of_a_step_size_are_means_over_seeds():
    rows = pd.DataFrame(
        [
            (1, "eta", 0.1, 1.0, True, True),
            (2, "eta", 0.1, 2.0, True, False),
            (1, "eta", 9.0, 5.0, True, True),
            (2, "eta", 9.0, np.nan, False, False),
            (1, "weights", 0.1, 99.0, True, True),
        ],
        columns=["seed", "quantity", "value", "max", "finite", "float32_finite"],
    )
    figure = fig2a.Fig2a(kind="fig2a", conditions=["itrsa"])
    table = fig2a.table(figure, Measured(rows, None)).set_index("eta")
    assert table["exponent"].to_dict() == {0.1: 1.5, 9.0: 5.0}
    assert table.loc[0.1, "exponent_std"] == pytest.approx(0.5**0.5)
    assert table[["finite", "float32_finite", "n_seeds"]].to_numpy().tolist() == [
        [1, 0.5, 2],
        [0.5, 0.5, 2],
    ]


def test_accuracy_beside_exponents_is_that_out_of_distribution_at_its_loops():
    solved, mean = accuracy("itrsa", 0.2, 0.4, inside=0.9), exponents("itrsa", 0.1)
    figure = exponent_accuracy.ExponentAccuracy(
        kind="exponent_accuracy", conditions=["itrsa"], loops=T_MAX
    )
    table = exponent_accuracy.table(figure, mean, solved)
    assert len(table) == solved.table["seed"].nunique()
    assert table["accuracy"].mean() == pytest.approx(0.4)
    assert table["mean_leading"].mean() == pytest.approx(0.1)
    assert table["max_exponent"].mean() == pytest.approx(0.2)


def test_levels_have_the_accuracy_after_the_most_loops():
    figure = levels.Levels(kind="figS1", levels={"4": "itrsa"})
    table = levels.table(figure, accuracy("itrsa", 0.2, 0.4), exponents("itrsa", 0.1))
    mean = table.groupby("quantity")["value"].mean()
    assert mean["accuracy"] == pytest.approx(0.4)
    assert mean["mean of the leading ones"] == pytest.approx(0.1)
    loops = table.groupby("quantity")["T"].unique().map(list)
    assert loops["accuracy"] == [T_MAX]
    assert loops["largest"] == [SETTINGS.metrics.exponents.steps]


def test_the_best_candidate_is_chosen_at_the_loops_of_the_choice():
    rows = pd.DataFrame(
        [
            ("a", "learning_rate", value, 100, loops, solved, cells)
            for loops, of_loops in {
                # The second leads at T of the choice, the third at that of training.
                16: [(0.1, 0.2), (0.5, 0.6), (0.3, 0.9)],
                8: [(0.1, 0.2), (0.2, 0.3), (0.9, 0.9)],
            }.items()
            for value, (solved, cells) in zip((0.01, 0.02, 0.04), of_loops, strict=True)
        ],
        columns=["condition", "quantity", "value", "seed", "loops", "solved", "cells"],
    )
    figure = tuning.TuningFigure(kind="tuning")
    job = SimpleNamespace(loops=16)

    def chosen(measured):
        table = tuning.table(figure, Measured(measured, job))
        return {*table[table["is_best"]]["value"]}

    assert chosen(rows) == {0.02}
    # Of equal ones that which solves most at the loops of training, then most blanks, then the
    # smaller.
    even = rows.assign(solved=rows["solved"].where(rows["loops"] == 8, 0.5))
    assert chosen(even) == {0.04}
    assert chosen(even.assign(solved=0.5)) == {0.04}
    assert chosen(even.assign(solved=0.5, cells=0.5)) == {0.01}


def test_the_configuration_has_what_was_chosen():
    """Rates and strengths of the defaults are the best of the reference's candidates."""
    folder = STUDY.folder.parents[2] / REFERENCE
    reference = pd.concat(
        [
            read_csv(folder / f"{name}.csv", ())
            for name in ("tuning", "tuning_seeds", "tuning_trained")
        ]
    )
    best = reference[reference["is_best"]]
    chosen = best.groupby(["condition", "quantity"])["value"].unique().map(list).to_dict()
    expected = {}
    for name, tried in SETTINGS.tuning.candidates.items():
        condition = SETTINGS.experiments[name]
        if tried.learning_rates:
            expected[name, "learning_rate"] = [condition.learning_rate]
        if tried.strengths:
            expected[name, "strength"] = [condition.penalty.strength]
    # At the loops of training ItrSA keeps the rate of all its conditions, which is as good.
    kept = ("itrsa_drawn_1", "learning_rate")
    (best_rate,), (rate,) = chosen.pop(kept), expected.pop(kept)
    solved = reference[reference["condition"] == kept[0]].groupby("value")["solved"].mean()
    assert solved[best_rate] - solved[rate] <= 0.01
    assert chosen == expected


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "then by the number of right blanks. The configuration uses these best values."),
        (
            {
                "itrsa": {"learning_rate": 0.0005},
                "akorn_spectral": {"penalty": {"strength": 1e-5}},
            },
            "then by the number of right blanks. The configuration uses other values for itrsa"
            " (0.0005 instead of 0.008), akorn spectral (10⁻⁵ instead of 0.001).",
        ),
    ],
)
def test_the_caption_tells_the_best_that_was_tried_from_what_is_used(changes, said):
    studies = {STUDY.name: STUDY}
    configured = configure({STUDY.name: {"experiments": changes}}, studies)
    parts = Jobs.of(configured, studies).studies[STUDY.name]
    reference = read_csv(STUDY.folder.parents[2] / REFERENCE / "tuning.csv", ())
    text = parts.registry.figures["tuning"]
    assert cite_figure(parts, "tuning", text, reference, {}.get).caption.endswith(said)


def test_all_steps_may_be_kept():
    rows = pd.DataFrame(
        [
            (kind, 1, run, t, 0.1 * run, 0.5)
            for kind, run in (("original", 0), ("spread", 1), ("small", 2))
            for t in range(4)
        ],
        columns=["kind", "seed", "run", "t", "distance", "coordinate"],
    )
    how = SimpleNamespace(spread=1e-3, small=1e-8, early=3)
    figure = figS5.FigS5(kind="figS5", condition="itrsa", seed=1)
    table = figS5.table(figure, Measured(rows, SimpleNamespace(train=TRAIN, settings=how)))
    drawing = figS5.draw(figure, table)
    assert [len(axes.lines) for axes in drawing.axes] == [3, 2, 1, 1]
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
    figure = figS5.FigS5(kind="figS5", condition="itrsa", seed=1)
    table = figS5.table(figure, Measured(rows, SimpleNamespace(train=TRAIN, settings=how)))
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
    figure = fig1.Fig1(kind="fig1")
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
        figure = fig4.Fig4(kind="fig4", panels={"one": names[:1], "two": names[1:2]})
        measured = measured[:2]
    else:
        measured.append(accuracy("itrsa", 0.2, 0.3))
        figure = methods.Methods(
            kind="fig5", methods=dict(zip("abc", names, strict=True)), others={"d": "akorn_n48"}
        )
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
    if module is methods:
        labels = [text.get_text() for text in drawing.axes[1].get_xticklabels()]
        inside = ["AKOrN, $N=4$", "ItrSA, $N=48$", "ItrSA + Spec, $N=48$"]
        assert labels == inside
        labels = [text.get_text() for text in drawing.axes[3].get_xticklabels()]
        # The other model of an N stands out of distribution alone.
        assert labels == [inside[0], "AKOrN, $N=48$", *inside[1:]]
        assert {*table[table["method"] == "d"]["split"]} == {"out of distribution"}
    plt.close(drawing)


def test_models_are_compared_at_equal_sizes():
    figure = equal_n.EqualN(kind="equal_n", akorn=["akorn"], itrsa=["itrsa"])
    akorn, itrsa = accuracy("akorn", 0.2, 0.5), accuracy("akorn", 0.2, 0.4)
    table = equal_n.table(figure, akorn, itrsa)
    assert {*table["N"]} == {4}
    assert {*table["T"]} == {T_MAX}
    assert table["mean"].to_numpy() == pytest.approx(0.1)
    drawing = equal_n.draw(figure, table)
    assert not list(unknown_marks(drawing, [table]))
    plt.close(drawing)


def test_a_condition_has_one_style_whatever_its_size():
    styles = conditions.condition_styles(["itrsa", "itrsa_n4", "akorn_n8_spectral", "akorn"])
    assert styles["itrsa"] == styles["itrsa_n4"]
    assert conditions.condition_styles(["akorn"])["akorn"] == styles["akorn"]
    assert (
        styles["akorn_n8_spectral"]
        == conditions.condition_styles(["akorn_spectral"])["akorn_spectral"]
    )
    assert conditions.condition_label("akorn_n8_spectral") == "AKOrN + Spec"


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
    drawing = tuning.draw(tuning.TuningFigure(kind="tuning"), table)
    (axes,) = drawing.axes
    assert not axes.collections
    tried, best = axes.lines[::2], axes.lines[1::2]
    assert {line.get_markerfacecolor() for line in tried} == {"none"}
    assert len({line.get_marker() for line in best}) == len(names)
    assert len({line.get_color() for line in best}) == len(names)
    assert all(line.get_markerfacecolor() == line.get_color() for line in best)
    plt.close(drawing)


def test_several_seeds_of_a_candidate_are_dots_around_their_mean():
    table = pd.DataFrame(
        [
            ("energy_multi", "learning_rate", value, seed, 16, seed / 10, 0.2, value == 0.02)
            for value in (0.01, 0.02)
            for seed in (1, 2, 6)
        ],
        columns=list(tuning.TuningFigure.columns),
    )
    figure = tuning.TuningFigure(kind="tuning_seeds", experiment="tuning_seeds")
    drawing = tuning.draw(figure, table)
    (axes,) = drawing.axes
    assert axes.lines[0].get_ydata().tolist() == pytest.approx([0.3, 0.3])
    (dots,) = axes.collections
    assert sorted(dots.get_offsets()[:, 1]) == pytest.approx([0.1, 0.1, 0.2, 0.2, 0.6, 0.6])
    assert "3 seeds" in drawing.legends[0].get_title().get_text()
    plt.close(drawing)
