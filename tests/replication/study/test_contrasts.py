"""Contrasts against computations by hand, and mistakes that they must not pass over."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import linregress

from replication.base.errors import UnmeasurableError
from replication.study.contrasts import (
    change_along,
    difference,
    last_over_first,
    slope,
)
from replication.study.evidence import name_cells

AXIS = [1, 2, 4]
LOSSES = {7: [8.0, 4.0, 2.0], 8: [9.0, 3.0, 6.0]}
"""Of two seeds at three updates."""
TABLE = pd.DataFrame(
    [(seed, at, loss) for seed, own in LOSSES.items() for at, loss in zip(AXIS, own, strict=True)],
    columns=["seed", "update", "loss"],
)
CONTRASTS = {
    "last over first": (lambda table: last_over_first(table, "update", "loss"), [2 / 8, 6 / 9]),
    # With the mean 7/3, from the three places -4/3, -1/3 and 5/3 and their squares' sum 42/9.
    "slope": (
        lambda table: slope(table, "update", "loss"),
        [(-4 * 8 - 4 + 5 * 2) / 3 / (42 / 9), (-4 * 9 - 3 + 5 * 6) / 3 / (42 / 9)],
    ),
    "4 minus 2": (
        lambda table: difference(table, "update", "loss", of=4, minus=2),
        [2 - 4, 6 - 3],
    ),
}
contrasts = pytest.mark.parametrize(
    ("cell", "contrast", "expected"), [(name, *pair) for name, pair in CONTRASTS.items()]
)


@contrasts
def test_contrasts_are_those_by_hand_in_any_order_of_rows(cell, contrast, expected):
    found = contrast(TABLE.sample(frac=1, random_state=1))
    assert list(found) == ["cell", "seed", "value"]
    assert list(found["cell"]) == [cell, cell]
    assert list(found["seed"]) == [7, 8]
    assert list(found["value"]) == pytest.approx(expected, rel=1e-14)


def test_slopes_are_those_of_scipy():
    found = slope(TABLE, "update", "loss").set_index("seed")["value"]
    for seed, own in LOSSES.items():
        assert found[seed] == pytest.approx(linregress(AXIS, own).slope)


@contrasts
def test_a_dropped_seed_is_not_passed_over(cell, contrast, expected):
    """Either it is missing at one place, or in one of two comparisons."""
    with pytest.raises(UnmeasurableError, match="a seed lacks loss at some update that others"):
        contrast(TABLE.iloc[:-1])


def test_a_seed_that_one_comparison_lacks_is_not_passed_over():
    both = pd.concat([TABLE.assign(rate=0.1), TABLE[TABLE["seed"] == 7].assign(rate=0.2)])
    with pytest.raises(UnmeasurableError, match=r"rate 0\.2: a seed lacks loss"):
        slope(both, "update", "loss", "rate")


@contrasts
def test_a_flipped_sign_is_seen(cell, contrast, expected):
    flipped = contrast(TABLE.assign(loss=TABLE["loss"] * np.where(TABLE["update"] == 4, -1, 1)))
    assert (np.abs(flipped["value"] - expected) > 0.1).all()


@contrasts
def test_a_seed_that_diverged_has_no_number_and_the_others_have_theirs(cell, contrast, expected):
    diverged = contrast(TABLE.assign(loss=TABLE["loss"].mask(TABLE["seed"] == 7)))["value"]
    assert np.isnan(diverged[0])
    assert diverged[1] == pytest.approx(expected[1])


def test_a_change_of_a_seed_that_diverged_is_no_number_and_the_others_are_as_before():
    table = TABLE.rename(columns={"loss": "value"}).assign(cell="a")
    diverged = table.assign(value=table["value"].mask(TABLE.index == 1))
    before, after = (change_along(rows, "update")["value"] for rows in (table, diverged))
    assert np.isnan(after[0])
    assert after[1] == pytest.approx(before[1])


@contrasts
def test_what_does_not_suffice_is_a_sentence(cell, contrast, expected):
    with pytest.raises(UnmeasurableError, match="there is no condition to measure"):
        contrast(TABLE.iloc[:0])
    with pytest.raises(UnmeasurableError, match=r"a seed lacks loss at .* or there is one alone"):
        contrast(TABLE[TABLE["update"] == 4])
    with pytest.raises(ValueError, match="duplicate entries"):
        contrast(pd.concat([TABLE, TABLE]))


def test_no_ratio_of_nothing():
    with pytest.raises(UnmeasurableError, match="loss begins with 0 along update"):
        last_over_first(TABLE.assign(loss=TABLE["loss"] - 8), "update", "loss")


def test_the_axis_may_run_down():
    found = last_over_first(TABLE, "update", "loss", descending=True)
    assert list(found["value"]) == [8 / 2, 9 / 6]


def test_comparisons_are_judged_apart():
    both = pd.concat([TABLE.assign(rate=0.1), TABLE.assign(rate=0.25, loss=2 * TABLE["loss"])])
    found = slope(both, "update", "loss", "rate")
    alone = slope(TABLE, "update", "loss")["value"]
    assert list(found["cell"]) == ["rate 0.1"] * 2 + ["rate 0.25"] * 2
    assert list(found["value"]) == pytest.approx([*alone, *(2 * alone)])


def test_a_difference_may_be_of_words():
    table = TABLE.assign(method=TABLE["update"].map({1: "ft", 2: "lp", 4: "lp_ft"}))
    found = difference(table, "method", "loss", of="lp_ft", minus="ft")
    assert list(found["cell"]) == ["lp_ft minus ft"] * 2
    assert list(found["value"]) == [2 - 8, 6 - 9]


def test_comparisons_are_named_by_numbers_and_words():
    table = pd.DataFrame({"variance": [0.5, 1.0], "task": ["CB", "CR"]})
    assert list(name_cells(table, "variance", "task")["cell"]) == [
        "variance 0.5, CB",
        "variance 1, CR",
    ]


def test_a_change_along_levels_needs_one_value_of_a_seed_at_each():
    table = TABLE.rename(columns={"loss": "value"}).assign(cell="a")
    with pytest.raises(ValueError, match="duplicate entries"):
        change_along(pd.concat([table, table]), "update")
