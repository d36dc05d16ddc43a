"""Tests and intervals from few seeds against statsmodels, enumeration and simulation."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, page_trend_test, rankdata
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW, ttost_ind

from replication.errors import InputError
from replication.statistics import (
    holm,
    pooled_std,
    prediction_interval,
    prediction_test,
    t_interval,
    t_test_above,
    t_test_below,
    trend_test,
    welch_equivalence,
    welch_interval,
)

NUMBERS = st.floats(-100, 100).map(lambda number: round(number, 3))
SAMPLES = st.lists(NUMBERS, min_size=2, max_size=12)
SPREAD_SAMPLES = SAMPLES.filter(lambda values: len(set(values)) > 1)
FAMILIES = st.lists(st.floats(0, 1), min_size=1, max_size=20)
CONFIDENCES = st.floats(0.5, 0.99)
DRAWS = 4000
STEADY = settings(deadline=None)
CONSTANT = [0.1] * 10  # its mean as numpy has it is not 0.1, and its variance not 0


def draws(seed, *shape):
    return np.random.default_rng(seed).normal(size=(DRAWS, *shape))


# One sample


@STEADY
@given(SPREAD_SAMPLES, NUMBERS, CONFIDENCES)
def test_one_sample_is_statsmodels(values, bound, confidence):
    oracle = DescrStatsW(values)
    expected = oracle.tconfint_mean(alpha=1 - confidence)
    assert t_interval(values, confidence) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    for test, alternative in ((t_test_below, "smaller"), (t_test_above, "larger")):
        _, p, _ = oracle.ttest_mean(bound, alternative)
        assert test(values, bound) == pytest.approx(p, rel=1e-6, abs=1e-12)


@STEADY
@given(SAMPLES, CONFIDENCES, st.integers(1, 20), NUMBERS, st.floats(0.1, 10))
def test_intervals_follow_the_data(values, confidence, new_seeds, shift, scale):
    for interval in (
        lambda data: t_interval(data, confidence),
        lambda data: prediction_interval(data, new_seeds, confidence),
    ):
        low, high = interval(values)
        assert low - 1e-9 <= np.mean(values) <= high + 1e-9
        moved = interval(shift + scale * np.array(values))
        assert moved == pytest.approx((shift + scale * low, shift + scale * high), abs=1e-7)
        low, high = interval(-np.array(values))
        assert interval(values) == pytest.approx((-high, -low), abs=1e-9)


def test_t_interval_covers():
    intervals = np.array([t_interval(values, 0.95) for values in draws(0, 10)])
    covered = (intervals[:, 0] < 0) & (intervals[:, 1] > 0)
    assert covered.mean() == pytest.approx(0.95, abs=0.015)


def test_equal_values_need_no_variance():
    assert t_interval(CONSTANT, 0.95) == (0.1, 0.1)
    assert t_test_below(CONSTANT, 0.2) == t_test_above(CONSTANT, 0) == 0
    assert t_test_below(CONSTANT, 0) == t_test_above(CONSTANT, 0.2) == 1
    assert t_test_below(CONSTANT, 0.1) == t_test_above(CONSTANT, 0.1) == 1
    assert prediction_interval(CONSTANT, 10, 0.95) == (0.1, 0.1)
    assert prediction_test(CONSTANT, 0.1, 10) == 1
    assert prediction_test(CONSTANT, 0.2, 10) == 0


def test_values_that_differ_by_rounding_do_not_warn():
    values = np.array(CONSTANT) + np.spacing(0.1) * np.arange(10)
    assert t_test_below(values, 0.2) < 1e-100
    tiny = 1e-170 * np.arange(10)
    assert welch_equivalence(tiny, tiny, 1) == 0


# Prediction


@STEADY
@given(SPREAD_SAMPLES, CONFIDENCES)
def test_prediction_of_one_seed_is_statsmodels(values, confidence):
    fit = OLS(values, np.ones(len(values))).fit()
    expected = fit.get_prediction([1.0]).conf_int(obs=True, alpha=1 - confidence)[0]
    assert prediction_interval(values, 1, confidence) == pytest.approx(expected, rel=1e-6)


@STEADY
@given(SPREAD_SAMPLES, NUMBERS, st.integers(1, 20), CONFIDENCES)
def test_prediction_test_is_the_interval(values, published, new_seeds, confidence):
    low, high = prediction_interval(values, new_seeds, confidence)
    p = prediction_test(values, published, new_seeds)
    assume(abs(p - (1 - confidence)) > 1e-6)
    assert (p < 1 - confidence) == (not low <= published <= high)
    assert prediction_test(values, high, new_seeds) == pytest.approx(1 - confidence)


def test_prediction_interval_covers():
    ours, new = draws(1, 10), draws(2, 10).mean(axis=1)
    intervals = np.array([prediction_interval(values, 10, 0.95) for values in ours])
    covered = (intervals[:, 0] < new) & (new < intervals[:, 1])
    assert covered.mean() == pytest.approx(0.95, abs=0.015)


# Trend


def page(ranks):
    return float((ranks * np.arange(1, ranks.shape[1] + 1)).sum())


def enumerated_trend(values):
    """P(L >= L of the values) over all orders of each seed's own (mid)ranks."""
    ranks = rankdata(values, axis=1)
    found = page(ranks)
    orders = product(*(list(permutations(row)) for row in ranks))
    return np.mean([page(np.array(order)) >= found for order in orders])


def test_trend_is_the_enumeration():
    rows = list(permutations([0.1, 0.2, 0.4]))
    found = {}
    for table in product(rows, repeat=3):
        ranks = rankdata(table, axis=1)
        found[page(ranks)] = trend_test(table, "rises")
    statistics = sorted(page(rankdata(table, axis=1)) for table in product(rows, repeat=3))
    assert len(statistics) == 6**3
    for statistic, p in found.items():
        assert p == pytest.approx(np.mean([other >= statistic for other in statistics]))


@STEADY
@given(st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), min_size=3, max_size=3))
def test_ties_make_a_small_p_larger(values):
    table = np.array(values)
    p = trend_test(table, "rises")
    assert p <= 1
    if all(len(set(row)) == 3 for row in values):
        assert p == pytest.approx(enumerated_trend(table))
    elif p <= 0.1:
        assert p >= enumerated_trend(table) - 1e-12


@STEADY
@given(st.integers(2, 6), st.integers(2, 5), st.integers(0, 1000))
def test_trend_knows_only_the_order(seeds, levels, seed):
    values = np.random.default_rng(seed).normal(size=(seeds, levels))
    p = trend_test(values, "rises")
    assert p == trend_test(values[:, ::-1], "falls") == trend_test(-values, "falls")
    assert p == pytest.approx(trend_test(np.exp(values) + np.arange(seeds)[:, None], "rises"))
    if levels > 2:
        assert p == pytest.approx(page_trend_test(values, method="exact").pvalue)


def test_trend_of_two_levels_is_the_sign_test():
    rising, falling, tied = [0, 1], [1, 0], [1, 1]
    values = [rising] * 7 + [falling] + [tied] * 2
    assert trend_test(values, "rises") == pytest.approx(9 / 2**8)
    assert trend_test(values, "falls") == binomtest(1, 8, alternative="greater").pvalue
    assert trend_test([tied] * 10, "rises") == trend_test([tied] * 10, "falls") == 1
    assert trend_test([rising] * 10, "rises") == pytest.approx(2**-10)


def test_trend_of_equal_values_is_none():
    assert trend_test(np.ones((10, 4)), "rises") > 0.5


def test_opposite_trend_is_certain_despite_rounding():
    # scipy's sum of all probabilities is 1.0000000000000002 here.
    assert trend_test(np.tile(np.arange(6), (4, 1)), "falls") == 1


@pytest.mark.parametrize("levels", [2, 3, 5])
def test_trend_keeps_its_level(levels):
    # Seeds differ in scale and offset, which a test within seeds must not see.
    values = np.exp(draws(3, 10, 1)) * draws(4, 10, levels) + 10 * draws(5, 10, 1)
    wrong = np.mean([trend_test(table, "falls") <= 0.05 for table in values[: DRAWS // 2]])
    assert 0.005 < wrong < 0.06


# Two samples


@STEADY
@given(SPREAD_SAMPLES, SPREAD_SAMPLES, st.floats(0.01, 100), CONFIDENCES)
def test_two_samples_are_statsmodels(a, b, margin, confidence):
    oracle = CompareMeans(DescrStatsW(a), DescrStatsW(b))
    expected = oracle.tconfint_diff(alpha=1 - confidence, usevar="unequal")
    assert welch_interval(a, b, confidence) == pytest.approx(expected, rel=1e-6, abs=1e-9)
    p, _, _ = ttost_ind(a, b, -margin, margin, usevar="unequal")
    assert welch_equivalence(a, b, margin) == pytest.approx(p, rel=1e-6, abs=1e-12)
    error = pooled_std(a, b) * np.sqrt(1 / len(a) + 1 / len(b))
    assert error == pytest.approx(oracle.std_meandiff_pooledvar)


@STEADY
@given(SPREAD_SAMPLES, SPREAD_SAMPLES, st.floats(0.1, 10), NUMBERS, st.floats(0.1, 2))
def test_equivalence_in_standard_deviations_has_no_unit(a, b, scale, shift, margin):
    first, second = shift + scale * np.array(a), shift + scale * np.array(b)
    p = welch_equivalence(a, b, margin * pooled_std(a, b))
    moved = welch_equivalence(first, second, margin * pooled_std(first, second))
    assert moved == pytest.approx(p, abs=1e-6)
    assert welch_equivalence(b, a, margin * pooled_std(a, b)) == pytest.approx(p)


def test_equal_samples_need_no_variance():
    other = [0.2] * 5
    assert pooled_std(CONSTANT, other) == 0
    assert welch_interval(other, CONSTANT, 0.95) == (0.1, 0.1)
    assert welch_equivalence(CONSTANT, CONSTANT[:3], 0) == 0
    assert welch_equivalence(CONSTANT, other, 0) == 1
    assert welch_equivalence(CONSTANT, other, 0.1) == 1
    assert welch_equivalence(CONSTANT, other, 0.2) == 0


def test_one_sample_without_variance_has_the_freedom_of_the_other():
    values = 0.5 + draws(6, 10)[0]
    assert welch_interval(values, [0.0] * 5, 0.95) == pytest.approx(t_interval(values, 0.95))


@pytest.mark.parametrize("margin", [1.0, 1.5])
def test_equivalence_keeps_its_level_at_the_margin(margin):
    ours, paper = draws(7, 10), draws(8, 10) + margin
    pairs = list(zip(ours, paper, strict=True))[: DRAWS // 2]
    absolute = [welch_equivalence(a, b, margin) <= 0.05 for a, b in pairs]
    relative = [welch_equivalence(a, b, margin * pooled_std(a, b)) <= 0.05 for a, b in pairs]
    assert 0.02 < np.mean(absolute) < 0.06
    assert 0.02 < np.mean(relative) < 0.06


@pytest.mark.parametrize(("margin", "power"), [(1.0, 0.37), (1.5, 0.88)])
def test_equivalence_has_the_known_power(margin, power):
    pairs = zip(draws(9, 10), draws(10, 10), strict=True)
    passed = [welch_equivalence(a, b, margin * pooled_std(a, b)) <= 0.05 for a, b in pairs]
    assert np.mean(passed) == pytest.approx(power, abs=0.025)


# Families


@settings(STEADY, max_examples=20)  # statsmodels collects garbage in every call
@given(FAMILIES)
def test_holm_is_statsmodels(p_values):
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1])


@STEADY
@given(FAMILIES)
def test_holm_keeps_the_order(p_values):
    adjusted = holm(p_values)
    assert (adjusted >= p_values).all()
    assert (adjusted <= 1).all()
    assert (np.diff(adjusted[np.argsort(p_values)]) >= 0).all()


def test_holm_of_few():
    assert holm([0.03, 0.01, 0.04]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([0.5]) == 0.5
    assert holm([]).shape == (0,)


def test_holm_keeps_its_level_in_a_family():
    p_values = np.random.default_rng(11).uniform(size=(10 * DRAWS, 6))
    p_values[:, :2] *= 1e-4  # two claims that hold; the other four do not
    adjusted = np.array([holm(family) for family in p_values])
    assert (adjusted[:, :2] <= 0.05).all()
    assert (adjusted[:, 2:] <= 0.05).any(axis=1).mean() == pytest.approx(0.049, abs=0.004)


# What cannot be judged


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "2 or more values, not values of shape (0,)"),
        ([1.0], "2 or more values, not values of shape (1,)"),
        ([[1.0, 2.0]], "2 or more values, not values of shape (1, 2)"),
        ([1.0, np.nan, np.inf], "must be finite, but 2 of 3 are not"),
    ],
)
def test_samples_that_cannot_be_judged(values, message):
    good = [1.0, 2.0, 4.0]
    for judge in (
        lambda: t_interval(values, 0.95),
        lambda: t_test_below(values, 0),
        lambda: t_test_above(values, 0),
        lambda: prediction_interval(values, 10, 0.95),
        lambda: prediction_test(values, 0, 10),
        lambda: pooled_std(good, values),
        lambda: welch_interval(good, values, 0.95),
        lambda: welch_equivalence(good, values, 1),
    ):
        with pytest.raises(InputError) as caught:
            judge()
        assert message in caught.value.message


@pytest.mark.parametrize(
    ("judge", "message"),
    [
        (lambda v: t_interval(v, 95), "the confidence must lie between 0 and 1, but is 95"),
        (lambda v: t_interval(v, np.nan), "the confidence must lie between 0 and 1, but is nan"),
        (lambda v: t_test_below(v, np.nan), "the bound must be finite, but is nan"),
        (lambda v: t_test_above(v, np.inf), "the bound must be finite, but is inf"),
        (lambda v: prediction_test(v, np.nan, 10), "the published mean must be finite, but is nan"),
        (lambda v: prediction_test(v, 0, 0), "a mean needs 1 or more seeds, not 0"),
        (lambda v: welch_equivalence(v, v, -1), "the margin must not be negative, but is -1"),
        (lambda v: welch_equivalence(v, v, np.nan), "the margin must be finite, but is nan"),
        (lambda _: holm([0.1, np.nan]), "needs a list of p from 0 to 1, not [0.1, nan]"),
        (lambda _: holm([-0.1]), "needs a list of p from 0 to 1, not [-0.1]"),
        (lambda _: holm([1.1]), "needs a list of p from 0 to 1, not [1.1]"),
    ],
)
def test_settings_that_cannot_be_used(judge, message):
    with pytest.raises(InputError) as caught:
        judge([1.0, 2.0, 4.0])
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, 2.0], "2 or more seeds and 2 to 10 levels, not values of shape (2,)"),
        ([[1.0, 2.0]], "2 or more seeds and 2 to 10 levels, not values of shape (1, 2)"),
        ([[1.0]] * 2, "2 or more seeds and 2 to 10 levels, not values of shape (2, 1)"),
        (np.ones((2, 11)), "2 or more seeds and 2 to 10 levels, not values of shape (2, 11)"),
        ([[1.0, 2.0, 3.0], [1.0, np.nan, 3.0]], "must be finite, but 1 of 6 are not"),
        ([[1.0, 2.0, 3.0], [1.0, np.inf, 3.0]], "must be finite, but 1 of 6 are not"),
    ],
)
def test_trends_that_cannot_be_judged(values, message):
    with pytest.raises(InputError) as caught:
        trend_test(values, "rises")
    assert message in caught.value.message
