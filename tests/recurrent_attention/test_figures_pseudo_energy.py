"""The figures of the pseudo-energy and of votes: tables by hand, and pictures that show them."""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from replication.figures.drawn_numbers import unknown_marks
from replication.study.contract import Measured
from transformer_dynamics.recurrent_attention.figures import fig6, votes
from transformer_dynamics.recurrent_attention.figures import figS6 as figs6

JOB = SimpleNamespace(
    train=SimpleNamespace(boards=SimpleNamespace(size="4x4")), settings=SimpleNamespace(draws=7)
)
COLUMNS = (
    "cosine", "contribution", "contribution_P", "contribution_P0", "pseudo_energy",
    "quadratic_form",
)  # fmt: skip
FIGURES = (
    (fig6, fig6.Fig6(kind="fig6", condition="akorn"), {"contribution": "contribution"}),
    (figs6, figs6.FigS6(kind="figS6", condition="akorn"), {"contribution": "contribution_J"}),
)


@pytest.fixture
def measured():
    random = np.random.default_rng(1)
    keys = [(seed, board, t) for seed in (4, 2) for board in range(3) for t in range(5)]
    rows = pd.DataFrame(keys, columns=["seed", "board", "t"])
    for name in COLUMNS:
        rows[name] = random.uniform(0.123, 0.987, len(rows))
    return Measured(rows.sample(frac=1, random_state=2, ignore_index=True), JOB)


@pytest.mark.parametrize(("module", "figure", "renamed"), FIGURES)
def test_curves_are_means_over_boards_and_over_seeds(module, figure, renamed, measured):
    table = module.table(figure, measured)
    assert table.columns.tolist() == list(figure.columns)
    assert len(table) == 2 * 5
    assert set(table["boards"]) == {3}
    assert figure.sources() == [("akorn", "pseudo_energy")]
    rows = measured.table
    for name in COLUMNS:
        shown = renamed.get(name, name)
        if shown in table:
            for row in table.itertuples():
                at = rows[rows["t"] == row.t]
                own = at[at["seed"] == row.seed][name].mean()
                assert getattr(row, shown) == pytest.approx(own)
                assert getattr(row, f"{shown}_mean") == pytest.approx(at[name].mean())


@pytest.mark.parametrize(("module", "figure", "renamed"), FIGURES)
def test_pictures_show_their_tables(module, figure, renamed, measured):
    table = module.table(figure, measured)
    drawing = module.draw(figure, table)
    assert not list(unknown_marks(drawing, [table]))
    # A line per seed and one for the mean, of every curve, and one per level of the paper.
    curves = sum(name.endswith("_mean") for name in table)
    levels = {f"{name}_paper": level for name, level in figure.read_off_the_paper.items()}
    assert sum(len(axes.lines) for axes in drawing.axes) == 3 * curves + len(levels)
    for name, level in levels.items():
        assert set(table[name]) == {level}
    plt.close(drawing)


def test_votes_are_drawn_in_the_order_of_rules():
    random = np.random.default_rng(1)
    keys = [(seed, rule) for seed in (4, 2, 9) for rule in sorted(votes.RULES)]
    rows = pd.DataFrame(keys, columns=["seed", "rule"])
    rows["solved"] = random.uniform(0.123, 0.987, len(rows))
    figure = votes.VotesFigure(kind="votes", condition="akorn")
    assert figure.sources() == [("akorn", "votes")]
    table = votes.table(figure, Measured(rows, JOB))
    assert table.columns.tolist() == list(figure.columns)
    assert table["rule"].tolist() == [rule for rule in votes.RULES for _ in range(3)]
    assert table["seed"].tolist() == [2, 4, 9] * len(votes.RULES)
    means = rows.groupby("rule")["solved"].mean()
    assert table["solved_mean"].tolist() == pytest.approx(means[table["rule"]].tolist())
    drawing = votes.draw(figure, table)
    assert not list(unknown_marks(drawing, [table]))
    dots = [len(each.get_offsets()) for each in drawing.axes[0].collections[::2]]
    assert dots == [3, 3, 3]
    plt.close(drawing)


def test_gains_of_rules_are_paired_by_seed():
    # By seed, one draw solves .5, .6 and .7; differences are .1, .2 and .3, and none for it.
    rows = pd.DataFrame(
        [
            (seed, rule, 0.4 + 0.1 * seed + (0 if rule == "single" else 0.1 * seed))
            for rule in votes.RULES
            for seed in (3, 1, 2)
        ],
        columns=["seed", "rule", "solved"],
    )
    figure = votes.VotesFigure(kind="votes", condition="akorn")
    table = votes.table(figure, Measured(rows, JOB)).set_index("rule")
    assert table.loc["energy", "gain"].tolist() == pytest.approx([0.1, 0.2, 0.3])
    # t of two degrees of freedom at .975, times .1 / sqrt(3).
    half = 4.302652729911275 * 0.1 / 3**0.5
    for name, value in (("mean", 0.2), ("lower", 0.2 - half), ("upper", 0.2 + half)):
        assert table.loc["any", f"gain_{name}"].tolist() == pytest.approx([value] * 3)
        assert table.loc["single", f"gain_{name}"].tolist() == [0.0] * 3


def test_conditions_that_differ_in_their_seeds_are_drawn_together():
    figure = votes.VotesFigure(kind="votes", condition="akorn_more", joined=["akorn_votes"])
    assert figure.sources() == [("akorn_more", "votes"), ("akorn_votes", "votes")]
    random = np.random.default_rng(1)
    parts = []
    for seeds in ((4, 2), (9,)):
        rows = pd.DataFrame(
            [(seed, rule) for seed in seeds for rule in votes.RULES], columns=["seed", "rule"]
        )
        parts.append(rows.assign(solved=random.uniform(0.123, 0.987, len(rows))))
    table = votes.table(figure, *(Measured(part, JOB) for part in parts))
    whole = votes.table(figure, Measured(pd.concat(parts, ignore_index=True), JOB))
    pd.testing.assert_frame_equal(table, whole)


def test_the_gain_of_one_seed_has_no_interval():
    rows = pd.DataFrame({"seed": 1, "rule": list(votes.RULES), "solved": [0.5, 0.6, 0.7, 0.8, 0.9]})
    figure = votes.VotesFigure(kind="votes", condition="akorn")
    table = votes.table(figure, Measured(rows, JOB))
    assert table["gain_lower"].isna().all()
    plt.close(votes.draw(figure, table))
