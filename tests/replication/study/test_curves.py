"""The figure of curves: its table, its marks, its bytes."""

import io

import numpy as np
import pandas as pd
import pytest

from replication.base.errors import InputError
from replication.figures.drawn_numbers import unknown_marks
from replication.figures.style import save_figure, set_style
from replication.study.contract import Measured
from replication.study.curves import Curves, draw, table

FIGURE = Curves(
    kind="curves", experiments=["slow", "fast"], metric="loss", axis="update", value="loss"
)


def metric(seeds=(1, 2), rate=1.0):
    rng = np.random.default_rng(3)
    rows = [(seed, at, rate * rng.exponential()) for seed in seeds for at in range(5)]
    return Measured(pd.DataFrame(rows, columns=["seed", "update", "loss"]), None)


def test_the_table_has_every_seed_and_their_mean():
    found = table(FIGURE, metric(), metric(seeds=(4, 5, 6)))
    assert tuple(found) == FIGURE.columns
    assert len(found) == 5 * (2 + 3)
    fast = found[found["experiment"] == "fast"]
    assert {*fast["seed"]} == {4, 5, 6}
    by_hand = metric(seeds=(4, 5, 6)).table["loss"].to_numpy().reshape(3, 5).mean(axis=0)
    assert fast.drop_duplicates("axis")["mean"].to_numpy() == pytest.approx(by_hand)


def test_the_table_does_not_depend_on_the_order_of_jobs():
    shuffled = Measured(metric().table.sample(frac=1, random_state=1), None)
    pd.testing.assert_frame_equal(
        table(FIGURE, metric(), metric()), table(FIGURE, shuffled, metric()), check_exact=True
    )


def test_a_mean_ends_where_a_seed_diverges():
    rows = metric().table
    rows.loc[(rows["seed"] == 2) & (rows["update"] > 2), "loss"] = np.nan
    found = table(FIGURE, metric(), Measured(rows, None))
    fast = found[found["experiment"] == "fast"]
    assert {*fast[fast["mean"].isna()]["axis"]} == {3, 4}
    assert fast[fast["seed"] == 1]["value"].notna().all()


@pytest.mark.parametrize("change", [{}, {"logarithmic": True}, {"curve": "rate"}])
def test_all_that_is_drawn_stands_in_the_table_and_bytes_are_the_same(change):
    figure = FIGURE.model_copy(update=change)
    both = [metric(), metric(seeds=(4, 5, 6))]
    if figure.curve:
        tables = [(one.table, metric(rate=2.5, seeds=one.table["seed"].unique())) for one in both]
        both = [
            Measured(pd.concat([own.assign(rate=0.1), more.table.assign(rate=0.2)]), None)
            for own, more in tables
        ]
    set_style()
    numbers = table(figure, *both)
    pictures = []
    for _ in range(2):
        drawn = draw(figure, numbers)
        assert list(unknown_marks(drawn, [numbers])) == []
        titles = [axes.get_title() for axes in drawn.axes]
        assert titles == ["slow, 2 seeds", "fast, 3 seeds"]
        pictures.append(io.BytesIO())
        save_figure(drawn, pictures[-1], "pdf", figure.title, "")
    assert pictures[0].getvalue() == pictures[1].getvalue()


def test_panels_fill_a_grid():
    names = ["a", "b", "c", "d"]
    figure = FIGURE.model_copy(update={"experiments": names})
    drawn = draw(figure, table(figure, *[metric()] * 4))
    assert [axes.get_title() for axes in drawn.axes if axes.axison] == [
        f"{name}, 2 seeds" for name in names
    ]


def test_mistakes_are_sentences():
    with pytest.raises(InputError, match="metric loss of slow: unknown key 'updates'; did you"):
        table(FIGURE.model_copy(update={"axis": "updates"}), metric(), metric())
    twice = Measured(pd.concat([metric().table] * 2), None)
    with pytest.raises(InputError, match="several values of loss at one update; name the column"):
        table(FIGURE, metric(), twice)
