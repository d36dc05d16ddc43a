"""Rows of evidence against computations by hand, and mistakes that they must not pass over."""

import ast

import numpy as np
import pandas as pd
import pytest
from scipy.stats import linregress, spearmanr

from replication.base.errors import InputError, UnmeasurableError
from replication.study import claims, vocabulary
from replication.study.claims import Row
from replication.study.evidence import name_cells

AXIS = [1, 2, 4]
LOSSES = {7: [8.0, 4.0, 2.0], 8: [9.0, 3.0, 6.0]}
"""Of two seeds at three updates."""
TABLE = pd.DataFrame(
    [(seed, at, loss) for seed, own in LOSSES.items() for at, loss in zip(AXIS, own, strict=True)],
    columns=["seed", "update", "loss"],
)
CONTRASTS = {
    # With the mean 7/3, from the three places -4/3, -1/3 and 5/3 and their squares' sum 42/9.
    "slope": (
        {"slope": "update"},
        [(-4 * 8 - 4 + 5 * 2) / 3 / (42 / 9), (-4 * 9 - 3 + 5 * 6) / 3 / (42 / 9)],
    ),
    # Equal steps of ln 2: the slope per step is half of the difference of the ends.
    "along": ({"along": "update"}, [2 - 8, 6 - 9]),
    "last over first": ({"last_over_first": "update"}, [2 / 8, 6 / 9]),
    "mean": ({"mean": "update"}, [14 / 3, 6]),
    "largest": ({"largest": "update"}, [8, 9]),
    "smallest": ({"smallest": "update"}, [2, 3]),
    "4 minus 2": ({"difference": {"update": [4, 2]}}, [2 - 4, 6 - 3]),
    "last - 2 * first": ({"across": {"update": "last - 2 * first"}}, [2 - 16, 6 - 18]),
}
contrasts = pytest.mark.parametrize(
    ("cell", "words", "expected"), [(name, *pair) for name, pair in CONTRASTS.items()]
)


def contrast(table, **words):
    return vocabulary.contrast(Row.parse({"value": "loss"} | words, "claim"), table)


@contrasts
def test_contrasts_are_those_by_hand_in_any_order_of_rows(cell, words, expected):
    found = contrast(TABLE.sample(frac=1, random_state=1), **words)
    assert list(found) == ["cell", "seed", "value"]
    assert list(found["cell"]) == [cell, cell]
    assert list(found["seed"]) == [7, 8]
    assert list(found["value"]) == pytest.approx(expected, rel=1e-14)


def test_slopes_are_those_of_scipy():
    found = contrast(TABLE, slope="update").set_index("seed")["value"]
    for seed, own in LOSSES.items():
        assert found[seed] == pytest.approx(linregress(AXIS, own).slope)


def test_rank_correlations_are_those_of_scipy():
    table = TABLE.assign(norm=TABLE["update"] ** 2 * [1, 1, 1, 1, -1, 1])
    found = contrast(table, rank_correlation={"update": "norm"}).set_index("seed")["value"]
    for seed, own in table.groupby("seed"):
        assert found[seed] == pytest.approx(spearmanr(own["loss"], own["norm"]).statistic)
    same = contrast(table.assign(norm=1.0), rank_correlation={"update": "norm"})
    assert list(same["value"]) == [0, 0]


@contrasts
def test_a_dropped_seed_is_not_passed_over(cell, words, expected):
    """It is missing at one place."""
    with pytest.raises(UnmeasurableError, match=r"a seed lacks a value|have different seeds"):
        contrast(TABLE.iloc[:-1], **words)


def test_a_seed_that_one_comparison_lacks_is_not_passed_over():
    both = pd.concat([TABLE.assign(rate=0.1), TABLE[TABLE["seed"] == 7].assign(rate=0.2)])
    with pytest.raises(UnmeasurableError, match=r"rate 0\.2: lacks a seed that another"):
        contrast(both, slope="update", by=["rate"])


@contrasts
def test_a_flipped_sign_is_seen(cell, words, expected):
    is_flipped = TABLE["update"] == (1 if cell == "largest" else 4)
    flipped = contrast(TABLE.assign(loss=TABLE["loss"] * np.where(is_flipped, -1, 1)), **words)
    assert (np.abs(flipped["value"] - expected) > 0.1).all()


@contrasts
def test_a_seed_that_diverged_has_no_number_and_the_others_have_theirs(cell, words, expected):
    diverged = contrast(TABLE.assign(loss=TABLE["loss"].mask(TABLE["seed"] == 7)), **words)
    assert np.isnan(diverged["value"][0])
    assert diverged["value"][1] == pytest.approx(expected[1])


@contrasts
def test_what_does_not_suffice_is_a_sentence(cell, words, expected):
    with pytest.raises(UnmeasurableError, match="a seed has several values of loss in one place"):
        contrast(pd.concat([TABLE, TABLE]), **words)
    with pytest.raises(UnmeasurableError, match="there is no row where update > 4"):
        contrast(TABLE, where="update > 4", **words)


@pytest.mark.parametrize("word", ["slope", "along", "last_over_first", "mean"])
def test_one_place_is_no_axis(word):
    with pytest.raises(UnmeasurableError, match="or there are fewer than 2"):
        contrast(TABLE, where="update == 4", **{word: "update"})
    with pytest.raises(UnmeasurableError, match="or there are fewer than 2"):
        contrast(TABLE, where="update == 4", across={"update": "last - first"})


def test_values_are_expressions_of_columns():
    words = {"where": "update == largest(update)", "value": "ln(loss / 2) ** 2 - 1", "cell": "end"}
    found = contrast(TABLE, **words)
    assert list(found["cell"]) == ["end", "end"]
    assert list(found["value"]) == pytest.approx([np.log(1) ** 2 - 1, np.log(3) ** 2 - 1])
    some = contrast(TABLE, where="not (update in [1, 2]) and measured(loss)")
    assert list(some["value"]) == [2, 6]


def test_the_mean_is_taken_before_values_are_compared():
    boards = pd.concat([TABLE.assign(board=0), TABLE.assign(board=1, loss=3 * TABLE["loss"])])
    with pytest.raises(UnmeasurableError, match="take their mean by `mean_over`"):
        contrast(boards, slope="update")
    found = contrast(boards, slope="update", mean_over=["board"])
    assert list(found["value"]) == pytest.approx([*(2 * contrast(TABLE, slope="update")["value"])])
    with pytest.raises(UnmeasurableError, match="a seed has several values"):
        contrast(pd.concat([boards, boards]), slope="update", mean_over=["board"])


def test_differences_are_taken_one_after_the_other():
    both = pd.concat([TABLE.assign(method="ft"), TABLE.assign(method="lp", loss=1.0)])
    found = contrast(both, difference={"update": [4, 1], "method": ["ft", "lp"]})
    assert list(found["value"]) == [(2 - 8) - 0, (6 - 9) - 0]


def test_a_difference_may_be_to_several():
    table = TABLE.assign(method=TABLE["update"].map({1: "ft", 2: "lp", 4: "lp_ft"}))
    found = contrast(table, difference={"method": ["lp_ft", ["lp", "ft"]]}, cell="over {minus}")
    assert list(found["cell"]) == ["over lp"] * 2 + ["over ft"] * 2
    assert list(found["value"]) == [2 - 4, 6 - 3, 2 - 8, 6 - 9]
    others = contrast(table, difference={"method": ["first", "others"]}, cell="{of} over {minus}")
    assert list(others["cell"]) == ["ft over lp"] * 2 + ["ft over lp_ft"] * 2
    assert list(contrast(table, across={"method": "lp_ft / ft"})["value"]) == [2 / 8, 6 / 9]


def test_comparisons_are_judged_apart_in_their_order():
    rates = [TABLE.assign(rate=rate, task=task) for task in ("CR", "CB") for rate in (0.25, 0.1)]
    both = pd.concat(rates).sort_values("update", kind="stable")
    found = contrast(both, slope="update", by=["task", "rate"])
    names = [f"{task}, rate {rate}" for task in ("CR", "CB") for rate in (0.25, 0.1)]
    assert list(found["cell"][::2]) == names
    alone = contrast(TABLE, slope="update")["value"]
    assert list(found["value"]) == pytest.approx([*alone] * 4)
    named = contrast(both, slope="update", by=["task", "rate"], cell="{task} at {rate:.2f}")
    assert named["cell"][0] == "CR at 0.25"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"value": "los"}, "unknown column 'los'; did you mean 'loss'"),
        ({"by": ["updates"]}, "unknown column 'updates'; did you mean 'update'"),
        ({"where": "updat == 1"}, "unknown column 'updat'; did you mean 'update'"),
        ({"slope": "ln(updat)"}, "unknown column 'updat'; did you mean 'update'"),
        ({"rank_correlation": {"update": "lo"}}, "unknown column 'lo'; did you mean 'loss'"),
        ({"difference": {"method": ["lp_f", "ft"]}}, "of method 'lp_f'; did you mean 'lp_ft'"),
        ({"across": {"method": "lp_f - ft"}}, "of method 'lp_f'; did you mean 'lp_ft'"),
        ({"where": 'method == "lp_f"'}, "of method 'lp_f'; did you mean 'lp_ft'"),
    ],
)
def test_an_unknown_column_or_value_is_a_sentence(words, said):
    table = TABLE[TABLE["update"] < 4]
    table = table.assign(method=table["update"].map({1: "ft", 2: "lp_ft"}))
    with pytest.raises(InputError, match=said):
        contrast(table, **words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"diference": {"update": [4, 1]}}, "unknown key 'diference'; did you mean 'difference'"),
        ({"value": "log(loss)"}, "unknown function 'log'"),
        ({"value": "lan(loss)"}, "unknown function 'lan'; did you mean 'ln'"),
        ({"value": "loss.max"}, "has a Attribute, which no expression may have"),
        ({"value": "loss +"}, "is no expression"),
        ({"where": "1 < update < 4"}, "has a Compare, which no expression may have"),
        ({"cell": "{rat}", "by": ["rate"]}, "unknown key 'rat'; did you mean 'rate'"),
        ({"slope": "update", "mean": "update"}, "at most one contrast; it has 2"),
        ({"difference": {"update": [4]}}, "at least 2 items"),
    ],
)
def test_a_row_of_other_words_is_refused(words, said):
    with pytest.raises(InputError, match=said):
        contrast(TABLE, **words)


def test_every_part_of_an_expression_has_a_meaning():
    assert {*vocabulary.FUNCTIONS} == {*claims.FUNCTIONS}
    bases = (ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
    assert all(issubclass(part, bases) for part in vocabulary.OPERATORS)
    with pytest.raises(InputError, match="has a Mod, which no expression may have"):
        contrast(TABLE, value="loss % 2")


def test_a_function_alone_is_the_evidence():
    row = Row.parse({"table": "module.function"}, "claim")
    assert vocabulary.contrast(row, TABLE) is TABLE
    assert str(row) == "module.function"


def test_comparisons_are_named_by_numbers_and_words():
    table = pd.DataFrame({"variance": [0.5, 1.0], "task": ["CB", "CR"]})
    assert list(name_cells(table, "variance", "task")["cell"]) == [
        "variance 0.5, CB",
        "variance 1, CR",
    ]
