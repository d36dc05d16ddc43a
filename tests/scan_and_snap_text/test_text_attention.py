"""What attention is spent on and what words tell, against closed forms and slow loops."""

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest
from scipy.stats import spearmanr
from text_examples import MEASURES, word_measures

from transformer_dynamics.scan_and_snap_text.metrics.attention import (
    attention_over_uniform,
    diagonal_over_uniform,
    entropy_over_uniform,
    first_over_uniform,
    rank_correlation,
    total_variation,
)
from transformer_dynamics.scan_and_snap_text.metrics.words import distinctness, sort_words

pytestmark = pytest.mark.numerical

WORDS = MEASURES.words
WINDOWS, LENGTH = 3, 14
UNIFORM = np.broadcast_to(
    np.tril(np.ones((LENGTH, LENGTH))) / np.arange(1, LENGTH + 1)[:, None],
    (WINDOWS, LENGTH, LENGTH),
)
DIAGONAL = np.broadcast_to(np.eye(LENGTH), UNIFORM.shape)
FIRST = np.broadcast_to(np.arange(LENGTH) == 0, UNIFORM.shape).astype(float)


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(7)


def causal(random: np.random.Generator) -> np.ndarray:
    """Random attention."""
    weights = np.tril(random.random(UNIFORM.shape) ** 3)
    return weights / weights.sum(axis=-1, keepdims=True)


def test_uniform_attention_is_spent_on_all_alike(random):
    assert diagonal_over_uniform(UNIFORM) == pytest.approx(1)
    assert first_over_uniform(UNIFORM) == pytest.approx(1)
    for share in (0.1, 0.5):
        keys = random.random((WINDOWS, 1, LENGTH)) < share
        assert attention_over_uniform(UNIFORM, keys) == pytest.approx(1)


def test_attention_on_one_key_by_hand():
    # Of queries 2 to 14, uniform attention gives sum_i 1/i to their own or to the first position.
    expected = (LENGTH - 1) / sum(1 / size for size in range(2, LENGTH + 1))
    assert diagonal_over_uniform(DIAGONAL) == pytest.approx(expected)
    assert first_over_uniform(FIRST) == pytest.approx(expected)
    assert diagonal_over_uniform(FIRST) == first_over_uniform(DIAGONAL) == 0


def test_attention_spent_on_keys_is_what_loops_give(random):
    attention = causal(random)
    keys = random.random((WINDOWS, LENGTH)) < 0.3
    spent = uniform = 0.0
    for window, query in product(range(WINDOWS), range(1, LENGTH)):
        for key in range(query + 1):
            if keys[window, key]:
                spent += attention[window, query, key]
                uniform += 1 / (query + 1)
    assert attention_over_uniform(attention, keys[:, None]) == pytest.approx(spent / uniform)


def test_share_of_uniform_entropy():
    entropy = np.log(np.arange(1, LENGTH + 1))
    assert entropy_over_uniform(entropy) == pytest.approx(1)
    assert entropy_over_uniform(0.25 * entropy) == pytest.approx(0.25)
    # The first position has one key and counts not at all.
    assert entropy_over_uniform(np.array([5.0, np.log(2), 0])) == pytest.approx(0.5)


def test_total_variation_by_hand():
    assert total_variation(DIAGONAL, DIAGONAL) == 0
    # The first query has the same key in both.
    assert total_variation(DIAGONAL, FIRST) == pytest.approx((LENGTH - 1) / LENGTH)
    expected = np.mean([1 - 1 / size for size in range(1, LENGTH + 1)])
    assert total_variation(UNIFORM, FIRST) == pytest.approx(expected)


@pytest.mark.parametrize(("ties", "least_keys"), [(False, 10), (True, 10), (False, 5)])
def test_rank_correlation_is_scipys(random, ties: bool, least_keys: int):
    attention = causal(random)
    values = random.normal(size=(WINDOWS, LENGTH))
    if ties:
        attention, values = attention.round(1), values.round()
    values[0, :3] = values[1, 4] = np.nan
    correlations = []
    for window, query in product(range(WINDOWS), range(LENGTH)):
        known = [key for key in range(query + 1) if np.isfinite(values[window, key])]
        if len(known) >= least_keys:
            found = spearmanr(attention[window, query, known], values[window, known])
            correlations.append(found.statistic)
    assert 8 <= len(correlations) < WINDOWS * (LENGTH - least_keys + 1)
    found = rank_correlation(attention, values, least_keys)
    assert found == pytest.approx(np.mean(correlations))


def test_rank_correlation_of_orders(random):
    values = np.broadcast_to(np.arange(LENGTH, dtype=float), (WINDOWS, LENGTH))
    rising = np.tril(np.ones(UNIFORM.shape)) * values[:, None] ** 2
    assert rank_correlation(rising, values, 10) == pytest.approx(1)
    assert rank_correlation(rising, -values, 10) == pytest.approx(-1)
    # A query whose keys are all alike has no order, and is left out.
    rising[0, 9:13] = 1
    assert rank_correlation(rising, values, 10) == pytest.approx(1)


@pytest.mark.parametrize("length", [LENGTH, 9])
def test_rank_correlation_is_nan_where_no_query_has_enough_keys(length: int):
    values = np.full((WINDOWS, length), np.nan)
    assert math.isnan(rank_correlation(UNIFORM[:, :length, :length], values, 10))


def test_kinds_of_words():
    counts = np.array([500, 99, 300, 100, 300, *[200] * 120, 3])
    kinds = sort_words(counts, np.zeros(len(counts)), WORDS)
    assert np.flatnonzero(kinds.rare).tolist() == [1, 125]
    # The 100 most frequent, of equal ones the first in the vocabulary; <unk> is none.
    assert np.flatnonzero(kinds.function).tolist() == [2, 4, *range(5, 103)]
    assert not sort_words(np.array([3, 200]), np.zeros(2), WORDS).rare[0]
    others = sort_words(counts, np.zeros(len(counts)), word_measures(function_words=3))
    assert np.flatnonzero(others.function).tolist() == [2, 4, 5]
    rarer = sort_words(counts, np.zeros(len(counts)), word_measures(rare_below=99))
    assert np.flatnonzero(rarer.rare).tolist() == [125]


def test_a_word_before_one_next_word_tells_minus_its_log(random):
    """Keys 1 to 3 and next words 4 to 6 in pairs, of contexts of one word."""
    kinds = random.choice([1, 2, 3], p=[0.2, 0.3, 0.5], size=2000)
    ids = np.stack([kinds, kinds + 3], axis=1).ravel()
    counts = np.bincount(ids, minlength=8)
    found = distinctness(ids, counts, 1, WORDS)
    following = np.bincount(ids[1:], minlength=8) / (len(ids) - 1)
    np.testing.assert_allclose(found[1:4], -np.log(following[4:7]), rtol=1e-12)
    assert np.isnan(found[[0, 7]]).all()


def test_a_word_in_all_contexts_alike_tells_nothing(random):
    """Word 0 stands before every key and next word, which are the same in a pair."""
    kinds = random.integers(1, 5, size=20_000)
    ids = np.stack([np.zeros_like(kinds), kinds, kinds + 4], axis=1).ravel()
    found = distinctness(ids, np.bincount(ids), 3, WORDS)
    common, distinct = found[0], found[1:5]
    # Contexts of three words, one of each kind: 0 precedes every next word as often as it occurs.
    assert abs(common) < 1e-3
    assert (distinct > 0.1).all()


def test_independent_words_tell_nothing_but_chance(random):
    ids = random.integers(30, size=60_000)
    found = distinctness(ids, np.bincount(ids), 5, WORDS)
    # Unbiased: the mean of 30 chi-squares over twice the counts, without their mean.
    assert abs(found.mean()) < 5 * math.sqrt(2 * 29 / 30) / (2 * len(ids) / 30 * 5)
    assert found.std() > 0


@pytest.mark.parametrize(("next_words", "least"), [(6, 40), (3, 40), (6, 20)])
def test_distinctness_is_what_loops_give(random, next_words: int, least: int):
    """With words that are too rare, and next words that are taken together."""
    ids = np.minimum(random.geometric(0.15, size=1500) - 1, 19)
    ids[1::7] = ids[0:-1:7][: len(ids[1::7])] // 2
    counts = np.bincount(ids, minlength=20)
    length = 4
    frequent = sorted(range(20), key=lambda word: (-counts[word], word))[:next_words]
    pairs: Counter[tuple[int, int]] = Counter()
    for place in range(1, len(ids)):
        following = int(ids[place]) if ids[place] in frequent else -1
        for key in ids[max(0, place - length) : place]:
            if counts[key] >= least:
                pairs[int(key), following] += 1
    expected = np.full(20, np.nan)
    of_next, of_key = Counter(), Counter()
    for (key, following), count in pairs.items():
        of_next[following] += count
        of_key[key] += count
    for key, total in of_key.items():
        row = {n: count for (other, n), count in pairs.items() if other == key}
        divergence = sum(
            count / total * math.log(count / total / (of_next[n] / of_next.total()))
            for n, count in row.items()
        )
        expected[key] = divergence - (len(row) - 1) / (2 * total)
    assert 5 < len(of_key) < 20
    found = distinctness(
        ids, counts, length, word_measures(next_words=next_words, least_occurrences=least)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-10)
