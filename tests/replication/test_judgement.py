"""Verdicts follow from evidence: each kind of test, its correction, and what it says."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from replication.errors import InputError
from replication.registry import Test
from replication.statistics import holm, resolution, t_test_above, t_test_below, t_test_within
from replication.verification.judgement import Judged, judge, unmeasured

RNG = np.random.default_rng(0)


def judged(evidence: pd.DataFrame, claim: str = "T1", **test: object) -> Judged:
    return Judged(claim, TypeAdapter(Test).validate_python(test), evidence)


def seeds(mean: float, sd: float = 1, n: int = 10, cell: str = "a") -> pd.DataFrame:
    """Values whose sample mean and standard deviation are exactly the given ones."""
    values = RNG.normal(size=n)
    values = (values - values.mean()) / values.std(ddof=1)
    return pd.DataFrame({"cell": cell, "seed": range(1, n + 1), "value": mean + sd * values})


def both(ours: float, paper: float, n: int = 10) -> pd.DataFrame:
    return pd.concat([seeds(ours, n=n).assign(sample="ours"), seeds(paper).assign(sample="paper")])


VALUES = pd.DataFrame({"cell": ["a", "b"], "value": [0.1, 0.4]})
NUMBERS = VALUES.assign(published=[0.1, 0.5])


@pytest.mark.parametrize(
    ("evidence", "test", "verdict"),
    [
        (VALUES, {"kind": "bounds", "upper": 0.4}, "verified"),
        (VALUES, {"kind": "bounds", "upper": 0.39}, "contradicted"),
        (VALUES, {"kind": "bounds", "lower": 0.2}, "contradicted"),
        (NUMBERS, {"kind": "published", "tolerance": 0.11}, "reproduced"),
        (NUMBERS, {"kind": "published", "tolerance": 0.09}, "contradicted"),
        (seeds(-2), {"kind": "interval", "upper": 0}, "replicated"),
        (seeds(0.1), {"kind": "interval", "upper": 0}, "inconclusive"),
        (seeds(2), {"kind": "interval", "upper": 0}, "contradicted"),
        (seeds(2), {"kind": "interval", "lower": 0}, "replicated"),
        (seeds(0), {"kind": "interval", "lower": -2, "upper": 2}, "replicated"),
        (seeds(0), {"kind": "interval", "lower": -0.5, "upper": 0.5}, "inconclusive"),
        (seeds(3), {"kind": "interval", "lower": -1, "upper": 1}, "contradicted"),
        (seeds(-2, n=5), {"kind": "interval", "upper": 0}, "replicated"),
        (seeds(-9, n=4), {"kind": "interval", "upper": 0}, "not tested"),
        (seeds(-2), {"kind": "interval", "upper": 0, "smallest_effect": 1}, "replicated"),
        (seeds(-1.2), {"kind": "interval", "upper": 0, "smallest_effect": 1}, "inconclusive"),
        (seeds(-0.1), {"kind": "interval", "upper": 0, "smallest_effect": 1}, "no effect"),
        (seeds(0.1), {"kind": "interval", "lower": 0, "smallest_effect": 1}, "no effect"),
        (seeds(2), {"kind": "interval", "upper": 0, "smallest_effect": 1}, "contradicted"),
        (seeds(-2), {"kind": "interval", "lower": 0, "smallest_effect": 1}, "contradicted"),
        (both(0, 0), {"kind": "equivalence", "margin": 1.5}, "replicated"),
        (both(0, 0), {"kind": "equivalence", "margin": 0.5}, "inconclusive"),
        (both(3, 0), {"kind": "equivalence", "margin": 1.5}, "contradicted"),
        (both(0, 0, n=4), {"kind": "equivalence", "margin": 1.5}, "not tested"),
    ],
)
def test_every_kind_of_test_can_say_everything_that_it_may(evidence, test, verdict):
    assert judge([judged(evidence, **test)])["T1"].verdict == verdict


def test_one_contradicted_cell_contradicts_the_claim_and_is_named():
    evidence = pd.concat([seeds(-5, cell="good"), seeds(3, cell="bad one")])
    verdict = judge([judged(evidence, kind="interval", upper=0)])["T1"]
    assert verdict.verdict == "contradicted"
    assert "1 of 2 hold" in verdict.summary
    assert "'bad one', is 3 (" in verdict.summary
    assert "expected at most 0" in verdict.summary


def test_p_values_are_corrected_over_the_family():
    own, other = seeds(-0.8), seeds(-0.6, cell="b")
    alone = judge([judged(own, kind="interval", upper=0)])["T1"]
    family = [
        judged(own, kind="interval", upper=0),
        judged(other, claim="T2", kind="interval", upper=0),
    ]
    raw = [t_test_below(table["value"], 0) for table in (own, other)]
    assert alone.comparisons[0].p == pytest.approx(raw[0])
    assert judge(family)["T1"].comparisons[0].p == pytest.approx(holm(raw)[0])
    assert judge(family)["T2"].comparisons[0].p == pytest.approx(holm(raw)[1])


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
    assert item.p_none == pytest.approx(t_test_within(values, -0.5, 0.5))
    assert item.effect == pytest.approx(-0.9)


def test_one_cell_without_an_effect_leaves_none_and_is_counted():
    evidence = pd.concat([seeds(-5, cell="good"), seeds(0, 0.1, cell="small")])
    verdict = judge([judged(evidence, kind="interval", upper=0, smallest_effect=1)])["T1"]
    assert verdict.verdict == "no effect"
    assert "1 of 2 hold, 1 without an effect worth the name; the least" in verdict.summary
    assert "'small'" in verdict.summary


def test_few_seeds_make_no_verdict_and_say_so():
    verdict = judge([judged(seeds(-9, n=3), kind="interval", upper=0)])["T1"]
    assert verdict.summary.startswith("3 seeds do not make a verdict, which needs 5; 1 of 1 hold")
    assert verdict.resolution is None


def test_resolution_is_that_of_all_comparisons_of_the_claim():
    cells = pd.concat([seeds(-2, cell=str(number)) for number in range(4)])
    family = [judged(cells, kind="interval", upper=0)]
    family.append(judged(seeds(-2), claim="T2", kind="interval", upper=0))
    found = judge(family)
    assert found["T1"].resolution == pytest.approx(resolution(0.1**0.5, 9, 0.05 / 5, 4, 0.9))
    assert found["T2"].resolution == pytest.approx(resolution(0.1**0.5, 9, 0.05 / 5, 1, 0.9))
    two = judge([judged(both(0, 0, n=40), kind="equivalence", margin=1.5)])["T1"]
    assert two.resolution == pytest.approx(resolution((1 / 10 + 1 / 40) ** 0.5, 48, 0.05, 1, 0.9))
    assert two.seeds == 10


def test_equivalence_has_a_range_about_zero():
    item = numbers(both(0.3, 0), kind="equivalence", margin=1.5)
    assert (item.lower, item.upper) == (pytest.approx(-1.5), pytest.approx(1.5))
    assert (item.estimate, item.effect) == (pytest.approx(0.3), pytest.approx(0.3))


def test_contradicting_p_values_are_corrected_too():
    family = [
        judged(seeds(0.8), kind="interval", upper=0),
        judged(seeds(0.6, cell="b"), claim="T2", kind="interval", upper=0),
    ]
    raw = [1 - t_test_below(item.evidence["value"], 0) for item in family]
    found = judge(family)
    assert found["T1"].comparisons[0].p_against == pytest.approx(holm(raw)[0])
    assert found["T2"].comparisons[0].p_against == pytest.approx(holm(raw)[1])


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


@settings(deadline=None)
@given(st.permutations(range(10)))
def test_the_order_of_rows_does_not_matter(order):
    evidence = pd.concat([seeds(-0.5), seeds(-2, cell="b")])
    shuffled = pd.concat([evidence[evidence["seed"] == seed + 1] for seed in order])
    test = {"kind": "interval", "upper": 0}
    assert judge([judged(shuffled, **test)]) == judge([judged(evidence, **test)])


@pytest.mark.parametrize(
    ("evidence", "message"),
    [
        (seeds(0).drop(columns="seed"), "claim T1: what its measure returns lacks seed; a test of"),
        (pd.concat([seeds(0), seeds(0)]), "claim T1: a seed has several values in one cell"),
        (seeds(0).assign(value="fast"), "claim T1: a value of its evidence is no number"),
        (seeds(0).assign(cell=["a", None] * 5), "claim T1: a row of its evidence has no cell"),
        (seeds(0).replace({"seed": {3: np.nan}}), "claim T1: a row of its evidence has no seed"),
        (both(0, 0), "claim T1: only an equivalence compares samples"),
    ],
)
def test_evidence_that_cannot_be_judged_is_refused(evidence, message):
    with pytest.raises(InputError) as error:
        judge([judged(evidence, kind="interval", upper=0)])
    assert message in error.value.message


@pytest.mark.parametrize(
    ("evidence", "reason"),
    [
        (unmeasured("the training must record update 9"), "the training must record update 9"),
        (seeds(0).head(0), "nothing was found to measure"),
        (
            seeds(0, n=2).head(1),
            "claim T1 has 1 seed, but a test over seeds needs 2, and a verdict 5; add seeds to its",
        ),
        (seeds(np.nan), "in 'a' every value of a test must be finite"),
        (
            pd.concat([seeds(0), seeds(0, n=9, cell="b")]),
            "its cells have different numbers of seeds",
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


def test_a_value_that_is_not_a_number_is_refused():
    evidence = pd.DataFrame({"cell": ["a"], "value": [np.nan]})
    with pytest.raises(InputError, match="claim T1, a: is not a finite number"):
        judge([judged(evidence, kind="bounds", upper=1)])
