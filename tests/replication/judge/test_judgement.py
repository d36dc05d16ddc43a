"""Verdicts follow from evidence: each kind of test, its correction, and what it says."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from replication.base.errors import WRONG_TABLE
from replication.judge.comparisons import Judged, missing_evidence
from replication.judge.judgement import judge, sum_up
from replication.judge.statistics import correct_p_values, mean_of, median_of, resolution
from replication.judge.verdicts import how_much
from replication.study.claims import Test


def t_test_above(values, bound):
    return mean_of(values).p_above(bound)


def t_test_below(values, bound):
    return mean_of(values).p_below(bound)


def judged(evidence: pd.DataFrame, claim: str = "T1", **test: object) -> Judged:
    return Judged(claim, TypeAdapter(Test).validate_python(test), evidence)


def seeds(mean: float, sd: float = 1, n: int = 10, cell: str = "a", draw: int = 0) -> pd.DataFrame:
    """Values whose sample mean and standard deviation are exactly the given ones."""
    values = np.random.default_rng([draw, *cell.encode()]).normal(size=n)
    values = (values - values.mean()) / values.std(ddof=1)
    return pd.DataFrame({"cell": cell, "seed": range(1, n + 1), "value": mean + sd * values})


def both(ours: float, paper: float, n: int = 10) -> pd.DataFrame:
    samples = {"ours": seeds(ours, n=n), "paper": seeds(paper, draw=1)}
    return pd.concat([rows.assign(sample=name) for name, rows in samples.items()])


VALUES = pd.DataFrame({"cell": ["a", "b"], "value": [0.1, 0.4]})
NUMBERS = VALUES.assign(published=[0.1, 0.5])


@pytest.mark.parametrize(
    ("evidence", "test", "verdict"),
    [
        (VALUES, {"kind": "bounds", "upper": 0.4}, "verified"),
        (VALUES, {"kind": "bounds", "upper": 0.39}, "does not hold"),
        (VALUES, {"kind": "bounds", "lower": 0.2}, "does not hold"),
        (NUMBERS, {"kind": "published", "tolerance": 0.11}, "reproduced"),
        (NUMBERS, {"kind": "published", "tolerance": 0.09}, "does not hold"),
        (seeds(-2), {"kind": "interval", "upper": 0}, "replicated"),
        (seeds(0.1), {"kind": "interval", "upper": 0}, "open"),
        (seeds(2), {"kind": "interval", "upper": 0}, "does not hold"),
        (seeds(2), {"kind": "interval", "lower": 0}, "replicated"),
        (seeds(0), {"kind": "interval", "lower": -2, "upper": 2}, "replicated"),
        (seeds(0), {"kind": "interval", "lower": -0.5, "upper": 0.5}, "open"),
        (seeds(3), {"kind": "interval", "lower": -1, "upper": 1}, "does not hold"),
        (seeds(-2, n=5), {"kind": "interval", "upper": 0}, "replicated"),
        (seeds(-9, n=4), {"kind": "interval", "upper": 0}, "not tested"),
        (seeds(-2), {"kind": "interval", "upper": 0, "smallest_effect": 1}, "replicated"),
        (seeds(-1.2), {"kind": "interval", "upper": 0, "smallest_effect": 1}, "open"),
        (seeds(-0.1), {"kind": "interval", "upper": 0, "smallest_effect": 1}, "does not hold"),
        (seeds(2), {"kind": "interval", "upper": 0, "smallest_effect": 1}, "does not hold"),
        (seeds(-2), {"kind": "interval", "upper": 0, "center": "median"}, "replicated"),
        (seeds(2), {"kind": "interval", "upper": 0, "center": "median"}, "does not hold"),
        (seeds(9, n=4), {"kind": "interval", "lower": 0, "center": "median"}, "not tested"),
        (both(0, 0), {"kind": "equivalence", "margin": 1.5}, "replicated"),
        (both(0, 0), {"kind": "equivalence", "margin": 0.5}, "open"),
        (both(3, 0), {"kind": "equivalence", "margin": 1.5}, "does not hold"),
        (both(0, 0, n=4), {"kind": "equivalence", "margin": 1.5}, "not tested"),
    ],
)
def test_every_kind_of_test_can_say_everything_that_it_may(evidence, test, verdict):
    assert judge([judged(evidence, **test)])["T1"].verdict == verdict


@pytest.mark.parametrize(
    ("mean", "test", "decision"),
    [
        (2, {"lower": 0, "smallest_effect": 1}, "holds"),
        (-2, {"lower": 0, "smallest_effect": 1}, "fails"),
        (0, {"lower": 0, "smallest_effect": 1}, "none"),
        (-0.8, {"lower": 0, "smallest_effect": 1}, "less"),
        (0.9, {"lower": 0, "smallest_effect": 1}, "open"),
        (0.8, {"upper": 0, "smallest_effect": 1}, "less"),
        (-0.8, {"lower": 0}, "fails"),
    ],
)
def test_a_comparison_gives_the_first_answer_that_the_seeds_allow(mean, test, decision):
    (item,) = judge([judged(seeds(mean), kind="interval", **test)])["T1"].comparisons
    assert item.decision == decision
    assert (item.p_less is None) == ("smallest_effect" not in test)


HOLDS, OPPOSITE, NOTHING = seeds(-5, cell="good"), seeds(3, cell="bad one"), seeds(0, 0.1)
UNKNOWN = seeds(-0.9, cell="unknown")


@pytest.mark.parametrize(
    ("cells", "verdict", "how_much_holds"),
    [
        ([HOLDS], "replicated", "1 of 1 holds"),
        ([HOLDS, OPPOSITE], "in part", "1 of 2 hold; the opposite in 'bad one'"),
        ([HOLDS, NOTHING], "in part", "1 of 2 hold; too small to matter in 'a'"),
        ([HOLDS, UNKNOWN], "in part", "1 of 2 hold; open in 'unknown'"),
        ([OPPOSITE, UNKNOWN], "does not hold", "0 of 2 hold; the opposite in 'bad one'; open in"),
        (
            [OPPOSITE, OPPOSITE.assign(cell="b")],
            "does not hold",
            "0 of 2 hold; the opposite in all",
        ),
        ([UNKNOWN], "open", "0 of 1 holds; open"),
        ([UNKNOWN, UNKNOWN.assign(cell="b")], "open", "0 of 2 hold; open in all"),
    ],
)
def test_a_verdict_says_how_much_holds_and_names_the_rest(cells, verdict, how_much_holds):
    found = judge([judged(pd.concat(cells), kind="interval", upper=0, smallest_effect=1)])["T1"]
    assert found.verdict == verdict
    assert found.summary.startswith(f"{how_much_holds}")
    assert how_much(found.comparisons) in found.summary
    assert found.holding == sum(cell is HOLDS for cell in cells)


def test_less_than_claimed_says_so_where_the_sign_is_the_opposite():
    test = {"kind": "interval", "lower": 0, "smallest_effect": 1}
    of_either_sign = judge([judged(seeds(-0.5, 1.0), **test)])["T1"]
    assert how_much(of_either_sign.comparisons) == "0 of 1 holds; less than claimed"
    opposite = judge([judged(seeds(-0.8, 0.4), **test)])["T1"]
    assert opposite.comparisons[0].high < 0
    assert how_much(opposite.comparisons) == (
        "0 of 1 holds; less than claimed, of the opposite sign"
    )


@pytest.mark.parametrize(
    ("test", "words"),
    [
        ({"upper": 0}, "the opposite"),
        ({"upper": 1, "smallest_effect": 0.5}, "the opposite"),
        ({"upper": 1}, "outside the range"),
        ({"lower": -1, "upper": 0}, "outside the range"),
    ],
)
def test_the_opposite_is_said_of_directions_only(test, words):
    """A mean of 3 where at most 1 is claimed is too much, which is no other direction."""
    found = judge([judged(OPPOSITE, kind="interval", **test)])["T1"]
    assert how_much(found.comparisons) == f"0 of 1 holds; {words}"


def test_the_least_favourable_comparison_is_named_with_its_range():
    found = judge([judged(pd.concat([HOLDS, OPPOSITE]), kind="interval", upper=0)])["T1"]
    assert "'bad one', is 3 (" in found.summary
    assert "expected at most 0" in found.summary


def test_of_many_that_say_the_same_a_sentence_names_some():
    cells = [HOLDS, *(OPPOSITE.assign(cell=f"b{number}") for number in range(7))]
    found = judge([judged(pd.concat(cells), kind="interval", upper=0)])["T1"]
    assert how_much(found.comparisons) == (
        "1 of 8 hold; the opposite in 'b0', 'b1', 'b2', 'b3' and 3 more"
    )


def test_a_statement_of_the_theory_is_about_all_cases():
    values = pd.DataFrame({"cell": list("abc"), "value": [0.1, 0.2, 0.9]})
    found = judge([judged(values, kind="bounds", upper=0.5)])["T1"]
    assert found.verdict == "does not hold"
    assert found.summary.startswith("2 of 3 hold; outside the range in 'c'; the least")


@pytest.mark.parametrize(
    ("parts", "sum_of_them"),
    [
        ((2, 0, 0), "holds"), ((1, 1, 0), "in part"), ((1, 0, 1), "in part"),
        ((0, 1, 0), "does not hold"), ((0, 1, 3), "does not hold"), ((0, 0, 2), "open"),
    ],
)  # fmt: skip
def test_parts_are_summed_up(parts, sum_of_them):
    assert sum_up(*parts) == sum_of_them


def test_comparisons_for_robustness_are_shown_and_do_not_count():
    cells = pd.concat([HOLDS, OPPOSITE.assign(cell="CB: worse")])
    test = {"kind": "interval", "upper": 0}
    item = judged(cells, **test)._replace(robustness=["CB"])
    found = judge([item])["T1"]
    assert found.verdict == "replicated"
    assert found.summary.startswith("1 of 1 holds; for robustness: 0 of 1 holds; the opposite; the")
    assert found.summary.split("; ")[-1].startswith("the value is -5 (")
    assert [each.is_robustness for each in found.comparisons] == [False, True]
    assert (len(found.counted), found.holding) == (1, 1)
    other = judged(seeds(-0.75, cell="b"), "T2", **test)
    assert judge([item, other])["T2"] == judge([judged(HOLDS, **test), other])["T2"]
    all_beside = judge([item._replace(robustness=["CB", "good"])])["T1"]
    assert (all_beside.verdict, all_beside.comparisons) == ("not tested", [])
    theory = judged(VALUES, kind="bounds", upper=0.3)._replace(robustness=["b"])
    assert judge([theory])["T1"].verdict == "does not hold"


def test_p_values_are_corrected_over_the_claims_of_a_family():
    own, other = seeds(-0.8), seeds(-0.5, cell="b")
    alone = judge([judged(own, kind="interval", upper=0)])["T1"]
    family = [
        judged(own, kind="interval", upper=0),
        judged(pd.concat([other, own]), claim="T2", kind="interval", upper=0),
    ]
    raw = [t_test_below(table["value"], 0) for table in (own, other)]
    assert alone.comparisons[0].p == pytest.approx(raw[0])
    found = judge(family)
    assert found["T1"].comparisons[0].p == pytest.approx(2 * raw[0])
    expected = correct_p_values([raw[:1], [raw[1], raw[0]]], [0.05, 0.05])[1]
    assert [item.p for item in found["T2"].comparisons] == pytest.approx(expected.tolist())


def numbers(evidence, **test):
    (item,) = judge([judged(evidence, **test)])["T1"].comparisons
    return item


def test_an_interval_is_tested_on_both_sides():
    item = numbers(seeds(0.9), kind="interval", lower=-1, upper=1)
    values = seeds(0.9)["value"]
    assert item.p == pytest.approx(t_test_below(values, 1), rel=1e-6)
    assert item.p_against == pytest.approx(min(1, 2 * (1 - item.p)), rel=1e-6)
    assert (item.lower, item.upper, item.estimate) == (-1, 1, pytest.approx(0.9))
    assert item.low < 0.9 < item.high
    assert item.effect == pytest.approx(1.9)


def test_a_smallest_effect_moves_the_bound_both_ways():
    evidence, test = seeds(-0.9), {"kind": "interval", "upper": 0, "smallest_effect": 0.5}
    item, values = numbers(evidence, **test), evidence["value"]
    assert (item.lower, item.upper) == (None, -0.5)
    assert item.p == pytest.approx(t_test_below(values, -0.5))
    assert item.p_against == pytest.approx(t_test_above(values, 0.5))
    assert item.p_none == pytest.approx(max(t_test_above(values, -0.5), t_test_below(values, 0.5)))
    assert item.p_less == pytest.approx(t_test_above(values, -0.5))
    assert item.effect == pytest.approx(-0.9)


def test_the_median_is_tested_by_signs():
    evidence = seeds(-0.9)
    item = numbers(evidence, kind="interval", upper=-0.5, center="median")
    assert item.p == pytest.approx(median_of(evidence["value"]).p_below(-0.5))
    assert item.estimate == evidence["value"].median()
    unknown = numbers(seeds(-9, n=3), kind="interval", upper=-0.5, center="median")
    assert (unknown.low, unknown.high) == (None, None)


@given(
    st.lists(st.lists(st.floats(-3, 3), min_size=1, max_size=4), min_size=1, max_size=4),
    st.sampled_from([{}, {"smallest_effect": 0.5}, {"upper": 1.0}, {"center": "median"}]),
    st.integers(0, 2**32),
)
def test_a_decision_and_its_interval_never_disagree(families, more, draw):
    """Inside the range just if it holds, and elsewhere where it is decided otherwise."""
    test = {"kind": "interval", "lower": 0.0, **more}
    family = [
        judged(
            pd.concat([seeds(m, cell=str(n), n=6, draw=draw) for n, m in enumerate(means)]),
            f"T{index}",
            **test,
        )
        for index, means in enumerate(families)
    ]
    for item in (item for found in judge(family).values() for item in found.comparisons):
        low, high = (item.low, item.high)
        if low is None or high is None:
            continue
        upper = np.inf if item.upper is None else item.upper
        margin = 2 * more.get("smallest_effect", 0)
        is_inside = item.lower < low and high < upper
        assert (item.decision == "holds") == is_inside
        if item.decision == "fails":
            assert high < item.lower - margin or low > upper
        elif item.decision == "none":
            assert item.lower - margin < low < high < item.lower
        elif item.decision == "less":
            assert high < item.lower


def test_few_seeds_make_no_verdict_and_say_so():
    verdict = judge([judged(seeds(-9, n=3), kind="interval", upper=0)])["T1"]
    assert verdict.summary.startswith("3 seeds do not make a verdict, which needs 5; 1 of 1 holds")
    assert verdict.resolution is None


def test_resolution_is_that_of_all_comparisons_of_the_claim():
    cells = pd.concat([seeds(-2, cell=str(number)) for number in range(4)])
    family = [judged(cells, kind="interval", upper=0)]
    family.append(judged(seeds(-2), claim="T2", kind="interval", upper=0))
    found = judge(family)
    assert found["T1"].resolution == pytest.approx(resolution(0.1**0.5, 9, 0.05 / 2, 4, 0.9))
    assert found["T2"].resolution == pytest.approx(resolution(0.1**0.5, 9, 0.05 / 2, 1, 0.9))
    two = judge([judged(both(0, 0, n=40), kind="equivalence", margin=1.5)])["T1"]
    assert two.resolution == pytest.approx(resolution((1 / 10 + 1 / 40) ** 0.5, 48, 0.05, 1, 0.9))
    assert two.seeds == 10


def test_equivalence_has_a_range_about_zero():
    item = numbers(both(0.3, 0), kind="equivalence", margin=1.5)
    assert (item.lower, item.upper) == (pytest.approx(-1.5), pytest.approx(1.5))
    assert (item.estimate, item.effect) == (pytest.approx(0.3), pytest.approx(0.3))


def test_every_question_is_corrected_by_itself():
    family = [
        judged(seeds(0.8), kind="interval", upper=0, smallest_effect=0.1),
        judged(seeds(0.1, cell="b"), claim="T2", kind="interval", upper=0, smallest_effect=0.1),
    ]
    found = [verdict.comparisons[0] for verdict in judge(family).values()]
    values = [item.evidence["value"] for item in family]
    for name, test, bound in (
        ("p", t_test_below, -0.1), ("p_against", t_test_above, 0.1), ("p_less", t_test_above, -0.1)
    ):  # fmt: skip
        expected = correct_p_values([[test(each, bound)] for each in values], [0.05, 0.05])
        assert [getattr(item, name) for item in found] == pytest.approx(
            [each.item() for each in expected]
        )


def test_effect_of_seeds_that_agree_is_not_a_number_of_rounding():
    evidence = seeds(2).assign(value=0.1 + 0.2)
    assert numbers(evidence, kind="interval", lower=0).effect is None


def test_seeds_that_do_not_differ_make_no_verdict():
    same = seeds(2).assign(value=0.1 + 0.2)
    evidence = pd.concat([seeds(9, cell="b"), same])
    verdict = judge([judged(evidence, kind="interval", lower=0)])["T1"]
    assert verdict.verdict == "not tested"
    assert verdict.summary.startswith("the seeds of 'a' do not differ; 2 of 2 hold")
    pair = pd.concat([same.assign(sample="ours"), same.assign(sample="paper", value=0.3)])
    assert judge([judged(pair, kind="equivalence", margin=1)])["T1"].verdict == "not tested"


@given(st.permutations(range(10)))
def test_the_order_of_rows_does_not_matter(order):
    evidence = pd.concat([seeds(-0.5), seeds(-2, cell="b")])
    shuffled = pd.concat([evidence[evidence["seed"] == seed + 1] for seed in order])
    test = {"kind": "interval", "upper": 0}
    assert judge([judged(shuffled, **test)]) == judge([judged(evidence, **test)])


@pytest.mark.parametrize(
    "evidence",
    [
        seeds(0).drop(columns="seed"),
        pd.concat([seeds(0), seeds(0)]),
        seeds(0).assign(value="fast"),
        seeds(0).assign(cell=["a", None] * 5),
        seeds(0).replace({"seed": {3: np.nan}}),
        seeds(0, n=2).assign(seed=["one", "two"], value=np.nan),
        both(0, 0),
    ],
)
def test_evidence_that_a_test_cannot_use_is_not_tested_and_its_function_is_wrong(evidence):
    other = judged(seeds(-1), "T2", kind="interval", upper=0)
    found = judge([judged(evidence, kind="interval", upper=0), other])
    assert found["T1"].verdict == "not tested"
    assert found["T1"].summary.startswith(
        "claim T1: a test of the kind interval needs evidence with numbers in the columns value,"
        " and one row for each cell, seed"
    )
    assert found["T1"].summary.endswith(WRONG_TABLE)
    assert found["T2"] == judge([other])["T2"]


@pytest.mark.parametrize(
    ("evidence", "reason"),
    [
        (
            missing_evidence("the training must record update 9"),
            "the training must record update 9",
        ),
        (seeds(0).head(0), "nothing was found to measure"),
        (
            seeds(0, n=2).head(1),
            "claim T1 has 1 seed, but a test over seeds needs 2, and a verdict 5; add seeds to its",
        ),
        (seeds(np.nan), "'a' is not measured, as seed "),
        (
            pd.concat([seeds(0), seeds(0, n=9, cell="b")]),
            "its comparisons have different numbers of seeds",
        ),
    ],
)
def test_what_cannot_be_measured_is_not_tested_and_counts_for_no_other_claim(evidence, reason):
    test = {"kind": "interval", "upper": 0}
    other = judged(seeds(-1), "T2", **test)
    found = judge([judged(evidence, **test), other])
    assert found["T2"] == judge([other])["T2"]
    assert (found["T1"].verdict, found["T1"].comparisons) == ("not tested", [])
    assert found["T1"].summary.startswith(reason)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
@pytest.mark.parametrize(
    ("upper", "expected"), [(0, "in part"), (-2, "does not hold")], ids=["holds", "fails"]
)
def test_a_cell_with_a_seed_that_diverged_is_named_and_the_others_are_judged(
    wrong, upper, expected
):
    test = {"kind": "interval", "upper": upper}
    good, bad = seeds(-1), seeds(-1, cell="b")
    bad.loc[bad.index[[2, 5]], "value"] = wrong
    lost = "seed " + ",".join(map(str, bad["seed"].iloc[[2, 5]]))
    (found,) = judge([judged(pd.concat([good, bad]), **test)]).values()
    (alone,) = judge([judged(good, **test)]).values()
    assert [item.decision for item in found.comparisons] == [alone.comparisons[0].decision]
    assert found.verdict == expected
    assert found.summary.endswith(f"; 'b' is not measured, as {lost} has no finite value")


def test_a_seed_that_diverged_makes_no_other_comparison_significant():
    test = {"kind": "interval", "upper": 0}
    values = np.linspace(-2.4, 1, 10)
    near = seeds(0).assign(value=values)
    wide = seeds(0, cell="b").assign(value=np.linspace(-1, 1, 10))
    lost = wide.assign(value=wide["value"].mask(wide["seed"] == wide["seed"].iloc[0]))
    (alone,) = judge([judged(near, **test)]).values()
    assert alone.verdict == "replicated"
    for beside in (wide, lost):
        (found,) = judge([judged(pd.concat([near, beside]), **test)]).values()
        assert found.verdict == "open"
        assert found.comparisons[0].decision == "open"


@pytest.mark.parametrize("size", [1e-149, 1e-100, 1e100, 1e149])
def test_numbers_of_any_size_are_judged_as_others_are(size):
    for values, verdict in ((np.linspace(1, 2, 10), "replicated"), (-np.ones(10), "not tested")):
        evidence = seeds(0).assign(value=size * values)
        (found,) = judge([judged(evidence, kind="interval", lower=0)]).values()
        assert found.verdict == verdict
    pair = both(0, 0)
    large = pair.assign(value=size * pair["value"])
    test = {"kind": "equivalence", "margin": 1.5}
    assert judge([judged(large, **test)])["T1"].verdict == "replicated"


@pytest.mark.parametrize(
    ("values", "test"),
    [
        (np.linspace(5e-324, 1e-322, 10), {"lower": 0}),
        (1e-160 * np.linspace(1, 2, 10), {"lower": 0}),
        (6e217 * np.linspace(1, 2, 10), {"lower": 0, "center": "median"}),
        (1.7e308 * np.linspace(-1, 1, 10), {"lower": 1.7e308}),
    ],
)
def test_numbers_whose_squares_no_computer_holds_are_not_measured(values, test):
    evidence = pd.concat([seeds(2, cell="good"), seeds(0).assign(value=values)])
    (found,) = judge([judged(evidence, kind="interval", **test)]).values()
    assert [item.cell for item in found.comparisons] == ["good"]
    assert found.summary.endswith(
        "; 'a' is not measured, as numbers are too small or too large to be compared"
    )


ANY = st.one_of(
    st.floats(),
    st.sampled_from([1e300, -1e300, 6e217, 5e-324, -1e-310, 0.0, np.nan, np.inf, -np.inf]),
)


@given(
    st.lists(ANY, min_size=5, max_size=8),
    st.sampled_from(
        [{"lower": 0}, {"upper": 1.0, "smallest_effect": 0.5}, {"lower": 0, "center": "median"}]
    ),
)
def test_arithmetic_that_fails_is_neither_open_nor_replicated(values, test):
    evidence = pd.DataFrame({"cell": "a", "seed": range(len(values)), "value": values})
    (found,) = judge([judged(evidence, kind="interval", **test)]).values()
    if not np.isfinite(values).all():
        assert found.verdict == "not tested"
        assert "has no finite value" in found.summary
    for item in found.comparisons:
        assert np.isfinite(item.estimate)
        assert item.p is not None
        # What is decided, and what is open, is so by an interval, except of so few signs.
        if test.get("center") != "median":
            assert item.low is not None
            assert item.high is not None


def test_a_value_that_is_not_a_number_is_refused():
    evidence = pd.DataFrame({"cell": ["a"], "value": [np.nan]})
    found = judge([judged(evidence, kind="bounds", upper=1)])["T1"]
    assert found.summary == f"claim T1, a: is not a finite number; {WRONG_TABLE}"
