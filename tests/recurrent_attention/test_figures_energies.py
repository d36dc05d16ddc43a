"""The figure of energies: its table is the flows', and it shows what stands in it."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from replication.base.errors import InputError
from replication.figures.drawn_numbers import unknown_marks
from transformer_dynamics.recurrent_attention.figures.energies import (
    AS_STATED,
    ENDS,
    SYMMETRIC,
    Energies,
    draw,
    table,
)
from transformer_dynamics.recurrent_attention.theory.energy import counterexample_k1, integrate_flow

FIGURE = Energies(kind="energies", points=50)


@pytest.fixture(scope="module")
def rows():
    return table(FIGURE)


def test_energies_rise_as_stated_and_fall_where_scores_are_symmetric(rows):
    for case in ENDS:
        stated, even = (
            rows[(rows["case"] == case) & (rows["weights"] == weights)]
            for weights in (AS_STATED, SYMMETRIC)
        )
        assert stated["rate"].iloc[0] > 0
        assert stated["rise"].max() > 0
        assert (even["rate"] < 0).all()
        assert (np.diff(even["energy"]) < 0).all()
        assert stated["t"].max() == pytest.approx(ENDS[case], abs=ENDS[case] / 50)
        np.testing.assert_allclose(
            rows["rise"] + rows.groupby(["case", "weights"])["energy"].transform("first"),
            rows["energy"],
            rtol=1e-12,
        )


def test_table_is_the_flow(rows):
    stated = rows[(rows["case"] == "K1") & (rows["weights"] == AS_STATED)]
    path = integrate_flow(counterexample_k1(), ENDS["K1"])
    found = np.interp(stated["t"], path.t, path.energy)
    np.testing.assert_allclose(stated["energy"], found, rtol=1e-12)
    assert rows.columns.tolist() == list(Energies.columns)
    assert len(stated) == 51


def test_the_picture_shows_its_table(rows):
    drawing = draw(FIGURE, rows)
    assert not list(unknown_marks(drawing, [rows]))
    plt.close(drawing)


def test_draws_in_which_nothing_rises_are_drawn_too():
    figure = Energies(kind="energies", points=20, scale=0.1, share=1, seeds=1)
    rows = table(figure)
    own = rows[rows["case"] == "random"]
    assert own["rise"].max() == 0
    assert len(own) > 30
    drawing = draw(figure, rows)
    low, high = drawing.axes[2].get_ylim()
    assert low < own["rise"].min() < 0 < high
    plt.close(drawing)


def test_settings_that_would_overflow_are_refused():
    with pytest.raises(InputError, match="scale"):
        Energies.parse({"kind": "energies", "scale": 1e6}, "figure")
