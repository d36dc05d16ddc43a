"""Lemma 4's flow (10) and the population flow, and Theorems 2 and 3 along both."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from settings_of_the_paper import REGISTRY
from theory_objective import gradients

from replication.base.errors import InputError
from transformer_dynamics.scan_and_snap.claims import attention_flow as claims
from transformer_dynamics.scan_and_snap.claims.attention_flow import (
    BOTH,
    EQUATION_10,
    FAST,
    POPULATION,
    SEVERAL,
    SINCE_START,
    SLOW,
    VOCABULARY_SIZE,
    WITHIN,
    classes_within,
    flows_within,
    start_ahead,
)
from transformer_dynamics.scan_and_snap.settings.training import Mixture
from transformer_dynamics.scan_and_snap.theory import coupling, decoder
from transformer_dynamics.scan_and_snap.theory.assumptions import assumption_2
from transformer_dynamics.scan_and_snap.theory.attention import attention_weights
from transformer_dynamics.scan_and_snap.theory.attention_flow import (
    attention_flow,
    growth_bounds,
    growth_factor,
    lemma4_rate,
    relative_gain,
)
from transformer_dynamics.scan_and_snap.theory.population import population_flow
from transformer_dynamics.scan_and_snap.theory.sequence_classes import sequence_classes

TENTHS = [i / 10 for i in range(1, 11)]
MIXTURES = {
    "one common token, one query": Mixture(
        num_last=1, next_tokens_per_query=4, common_weights=[1.0], distinct_weights=[0.5, 1.0, 1.5]
    ),
    "one common token, two queries": Mixture(
        num_last=2, next_tokens_per_query=2, common_weights=[1.0], distinct_weights=[0.5, 1.0, 1.5]
    ),
    "five common tokens, one query": Mixture(
        num_last=1,
        next_tokens_per_query=4,
        common_weights=[1.0] * 5,
        distinct_weights=[0.5, 1.0, 1.5],
    ),
    "Syn-Small": Mixture(
        num_last=2, next_tokens_per_query=1, common_weights=[1.0] * 10, distinct_weights=TENTHS
    ),
}
TIMES = np.linspace(0, 600, 121)


def mixture(name):
    return sequence_classes(MIXTURES[name])


@cache
def flow(name, kind):
    """(10) at eta_Y = eta_Z = 1, or the population flow at a ratio eta_Y/eta_Z."""
    if kind == "(10)":
        return attention_flow(mixture(name), 1.0, 1.0, TIMES)
    return population_flow(mixture(name), kind, 1.0, TIMES)


def support_logits(classes, logits):
    """[T, K, S] z_ml on the support of each class."""
    rows = logits[:, classes.query]
    return np.take_along_axis(
        rows, np.broadcast_to(classes.support, (len(rows), *classes.support.shape)), 2
    )


def irregular():
    """Unequal supports' weights, two queries, some overlap between some classes only."""
    classes = mixture("one common token, two queries")
    rng = np.random.default_rng(5)
    support = classes.support.copy()
    support[1, 1] = support[0, 1]  # classes 0 and 1 share a token that 2 and 3 do not have
    weights = rng.uniform(0.1, 1, support.shape)
    return type(classes)(
        vocabulary_size=classes.vocabulary_size,
        support=support,
        probabilities=weights / weights.sum(axis=1, keepdims=True),
        query=np.array([0, 1, 1, 0]),
        query_tokens=classes.query_tokens,
        next_tokens=classes.next_tokens[::-1].copy(),
    )


@pytest.mark.parametrize("name", ["irregular", *MIXTURES])
def test_lemma_4_is_the_gradient_at_theorem_5s_decoder(name):
    classes = irregular() if name == "irregular" else mixture(name)
    num_classes, size = len(classes.support), classes.vocabulary_size
    z = np.random.default_rng(0).normal(size=(len(classes.query_tokens), size))
    f = coupling.features(classes, z)
    t, eta_y = 3.7, 0.6
    h = float(decoder.h_continuous(eta_y, size, t / num_classes))
    _, _, expected = gradients(classes, coupling.theorem5_decoder(f, h, classes.next_tokens), z)
    beta = coupling.theorem1_coefficients(coupling.correlations(f), size).beta
    rate = decoder.gamma(eta_y, size, num_classes, t) * lemma4_rate(f, beta, classes.query)
    assert np.abs(rate / num_classes - expected).max() < 1e-14  # (10) has no 1/K
    assert np.abs(expected).max() > 1e-4


@pytest.mark.parametrize("name", ["one common token, one query", "one common token, two queries"])
def test_distinct_and_single_common_tokens_move_as_98_and_100_say(name):
    classes = mixture(name)
    z = np.random.default_rng(1).normal(size=(len(classes.query_tokens), classes.vocabulary_size))
    f = coupling.features(classes, z)
    e = coupling.correlations(f)
    coefficients = coupling.theorem1_coefficients(e, classes.vocabulary_size)
    xi = coupling.drive(e, coefficients)
    rate = lemma4_rate(f, coefficients.beta, classes.query)
    for n, tokens in enumerate(classes.support):
        own = tokens[classes.distinct[n]]
        assert rate[classes.query[n], own] == pytest.approx(f[own, n] ** 2 * xi[n], rel=1e-10)
    common = -np.bincount(classes.query, weights=(1 - f[0] ** 2) * xi)
    assert rate[:, 0] == pytest.approx(common, rel=1e-10)


@pytest.mark.parametrize("modified", [False, True])
@pytest.mark.parametrize("name", ["irregular", "one common token, two queries", "Syn-Small"])
def test_population_flow_is_gradient_ascent(name, modified):
    """Its right-hand side, read off a tiny time step from a random Y and Z."""
    classes = irregular() if name == "irregular" else mixture(name)
    size, num_classes = classes.vocabulary_size, len(classes.support)
    rng = np.random.default_rng(2)
    y, z = rng.normal(size=(size, size)), rng.normal(size=(len(classes.query_tokens), size))
    _, y_slope, z_slope = gradients(classes, y, z)
    if modified:  # f_n becomes f_n - F E' e_n
        f = coupling.features(classes, z)
        error = np.linalg.lstsq(f, y_slope, rcond=None)[0]
        y_slope = (f - f @ coupling.e_prime(coupling.correlations(f))) @ error
    step = 1e-4
    flow = population_flow(
        classes,
        3.0,
        0.5,
        [0, step, 2 * step],
        modified=modified,
        start=z,
        decoder=y,
        tolerance=1e-13,
    )
    weights = np.array([-3, 4, -1]) / (2 * step)  # derivative at 0, second order
    found_y = sum(w * flow.decoder(i) for i, w in enumerate(weights))
    found_z = np.tensordot(weights, flow.attention_logits, 1)
    assert np.abs(found_y - 3.0 * y_slope).max() < 1e-6
    assert np.abs(found_z - 0.5 * z_slope).max() < 1e-6
    assert np.abs(found_z).max() > 1e-2
    assert num_classes * np.tensordot(weights, flow.exponents, 1) == pytest.approx(
        0.5 * flow.drive[0], abs=1e-5
    )


def test_population_flow_from_zero_against_steps_of_the_gradient():
    """Fourth-order steps of the full matrices; the flow keeps equal columns of Y only once."""
    classes = mixture("one common token, two queries")
    size = classes.vocabulary_size
    y, z = np.zeros((size, size)), np.zeros((2, size))

    def slope(a, b):
        _, y_slope, z_slope = gradients(classes, a, b)
        return 5 * y_slope, z_slope

    h = 0.25
    for _ in range(40):
        k1 = slope(y, z)
        k2 = slope(y + h / 2 * k1[0], z + h / 2 * k1[1])
        k3 = slope(y + h / 2 * k2[0], z + h / 2 * k2[1])
        k4 = slope(y + h * k3[0], z + h * k3[1])
        y, z = (
            start + h / 6 * (a + 2 * b + 2 * c + d)
            for start, a, b, c, d in zip((y, z), k1, k2, k3, k4, strict=True)
        )
    found = population_flow(classes, 5.0, 1.0, [10.0])
    assert np.abs(found.decoder(0) - y).max() < 1e-6
    assert np.abs(found.attention_logits[0] - z).max() < 1e-7
    f = coupling.features(classes, z)
    g = coupling.feature_gradient(y, f, classes.next_tokens)
    felt = coupling.drive_on_distinct(g, f, coupling.distinct_columns(classes))
    assert found.drive[0] == pytest.approx(felt, rel=1e-5)


def test_population_flow_depends_on_the_rates_ratio_and_scaled_time():
    """Scaling both rates up is the same as waiting longer."""
    classes = mixture("Syn-Small")
    slow = population_flow(classes, 1.0, 0.5, TIMES)
    fast = population_flow(classes, 4.0, 2.0, TIMES / 4)
    assert np.abs(slow.attention_logits - fast.attention_logits).max() < 1e-6
    assert np.abs(slow.exponents - fast.exponents).max() < 1e-5


@pytest.mark.parametrize("kind", ["(10)", 1, 10, 100])
@pytest.mark.parametrize("name", MIXTURES)
def test_theorem_2_and_corollary_2_distinct_up_common_down_at_all_times(name, kind):
    classes = mixture(name)
    moves = np.diff(support_logits(classes, flow(name, kind).attention_logits), axis=0)
    assert moves[:, classes.distinct].min() > 0
    assert moves[:, ~classes.distinct].max() < 0
    others = np.delete(flow(name, kind).attention_logits, np.unique(classes.support), axis=2)
    assert not others.any()


@pytest.mark.parametrize("kind", ["(10)", 1, 10, 100])
@pytest.mark.parametrize("name", MIXTURES)
def test_theorem_1a_drive_stays_positive(name, kind):
    assert flow(name, kind).drive[1:].min() > 0
    assert (np.diff(flow(name, kind).exponents, axis=0) > 0).all()


def theorem_3_ratio(name, kind):
    """[pairs, T] r(t)/(r(0) chi(t)) of every pair of distinct tokens of class 0."""
    classes, logits = mixture(name), flow(name, kind).attention_logits
    c, z = attention_weights(classes, logits)[:, 0], support_logits(classes, logits)[:, 0]
    ratios = []
    for low, high in combinations(np.flatnonzero(classes.distinct[0]), 2):
        gain = relative_gain(c, high, low)
        ratios.append(gain / (gain[0] * growth_factor(z[:, high], z[0, high])))
    return np.array(ratios)


@pytest.mark.parametrize("name", MIXTURES)
def test_theorem_3_is_an_identity_of_10(name):
    assert np.abs(theorem_3_ratio(name, "(10)") - 1).max() < 1e-8


def test_theorem_3_in_the_population_flow_depends_on_the_pair_and_the_ratio():
    """The strongest token's gain over the weakest follows it, over the second strongest not.

    Y remembers the attention of earlier times, so distinct tokens feel different xi_n; the less so,
    the faster Y is learnt.
    """
    last = {ratio: theorem_3_ratio("Syn-Small", ratio)[:, -1] for ratio in (1, 10, 100)}
    worst = {ratio: np.abs(values - 1).max() for ratio, values in last.items()}
    assert 0.4 < worst[1] < 0.7
    assert 0.1 < worst[10] < 0.3
    assert 0.005 < worst[100] < 0.03
    widest = {ratio: abs(values[8] - 1) for ratio, values in last.items()}  # weakest, strongest
    assert 0.01 < widest[1] < 0.03
    assert widest[10] < 0.005
    assert widest[100] < 0.0005


def dominant(name, kind):
    """f_{nl0} and chi_{l0} [T] of the strongest distinct token of class 0, and B_0 [T]."""
    classes, found = mixture(name), flow(name, kind)
    c = attention_weights(classes, found.attention_logits)[:, 0]
    f = (c / np.linalg.norm(c, axis=1, keepdims=True))[:, -1]
    z = support_logits(classes, found.attention_logits)[:, 0, -1]
    return f, growth_factor(z, 0), found.exponents[:, 0]


@pytest.mark.parametrize("kind", ["(10)", 1, 10, 100])
@pytest.mark.parametrize("name", MIXTURES)
def test_the_dominant_tokens_share_grows_monotonically(name, kind):
    f, chi, _ = dominant(name, kind)
    assert (np.diff(f) > 0).all()
    assert (np.diff(chi) > 0).all()


@pytest.mark.parametrize("name", MIXTURES)
def test_bounds_12_hold_along_10(name):
    f, chi, exponents = dominant(name, "(10)")
    lower, upper = growth_bounds(exponents, f[0])
    assert (lower <= chi * (1 + 1e-9)).all()
    assert (chi <= upper * (1 + 1e-9)).all()
    assert chi[-1] > 1.05


def test_lower_bound_12_fails_along_the_population_flow():
    """It needs one xi_n for all distinct tokens of a class; see Theorem 3."""
    name = "one common token, one query"
    for ratio, violated in ((1, True), (10, True), (100, False)):
        f, chi, exponents = dominant(name, ratio)
        assert (chi[-1] < growth_bounds(exponents, f[0])[0][-1]) == violated


def assumption_2_along(classes, shares):
    """Assumption 2 of c_n at each time."""
    for c in shares:
        f = np.zeros((classes.vocabulary_size, len(classes.support)))
        np.put_along_axis(f, classes.support.T, c.T, axis=0)
        f /= np.linalg.norm(f, axis=0)
        yield assumption_2(coupling.correlations(f), classes.vocabulary_size).holds


def moved(found, until):
    """Largest total variation distance of c_n from its start up to a time in units of t_0."""
    shares = found.shares[until >= SINCE_START]
    return np.abs(shares - shares[0]).sum(axis=-1).max() / 2


def test_flows_within_the_assumptions_satisfy_them():
    """Assumption 2 from start to end; and the rates of Assumption 1(c) leave F as it is."""
    for _, found in flows_within(BOTH):
        assert all(assumption_2_along(found.classes, found.shares))
    for name in WITHIN:
        assert 100 * len(classes_within(name).support) ** 2 <= VOCABULARY_SIZE
        ((_, slow),) = flows_within([EQUATION_10], [name], SLOW[-1:])
        assert 0.05 < moved(slow, 1) < 0.13
        assert all(moved(fast, 1) < 0.03 for _, fast in flows_within([EQUATION_10], [name]))
    classes = classes_within(SEVERAL)
    for position in (0, 1):
        start = start_ahead(classes, position)[None]
        assert all(assumption_2_along(classes, attention_weights(classes, start)))
        own = attention_weights(classes, start)[0][classes.distinct].reshape(
            len(classes.support), -1
        )
        assert (own.argmax(axis=1) == position).all()


def test_attention_hardly_moves_within_the_assumptions():
    for name in WITHIN:
        ratios = (*SLOW, *FAST)
        ends = [
            moved(found, SINCE_START[-1]) for _, found in flows_within([POPULATION], [name], ratios)
        ]
        assert 0.1 > ends[0] > ends[1] > 3 * ends[2] > 9 * ends[3]
    c = population_flow(mixture("Syn-Small"), 1.0, 1.0, [0, 20_000.0]).attention
    assert np.abs(c[1] - c[0]).sum(axis=1).max() / 2 > 0.2


@pytest.mark.parametrize("name", WITHIN)
def test_theorem_3_in_the_population_flow_is_a_limit_of_fast_decoders(name):
    """What has been gained over what should have been, and that ten times nearer at a tenth."""
    errors = []
    for _, found in flows_within([POPULATION], [name]):
        c, z = found.shares[:, 0, -3:], found.logits[:, 0, -3:]
        gain = relative_gain(c, [2, 2], [0, 1])
        growth = growth_factor(z[:, 2:], z[0, 2])
        errors.append(1 - (gain[-1] / gain[0] - 1) / (growth[-1] - 1))
    assert (errors[0] < 0.1).all()
    assert (errors[1] < errors[0] / 5).all()


@pytest.mark.parametrize("name", WITHIN)
def test_bounds_12_in_the_population_flow_are_a_limit_of_fast_decoders(name):
    """Chi keeps to the lower bound as attention hardly moves, and misses it by eta_Z/eta_Y."""
    missing = []
    for _, found in flows_within([POPULATION], [name]):
        f = found.shares[0, 0] / np.linalg.norm(found.shares[0, 0])
        lower, upper = growth_bounds(found.exponents[1:, 0], f[-1])
        chi = growth_factor(found.logits[1:, 0, -1], 0)
        assert (chi < upper).all()
        missing.append((np.log(lower / chi) / np.log(upper / lower)).max())
    assert 0 < missing[0] < 0.1
    assert 0 < missing[1] < missing[0] / 5


@pytest.mark.parametrize("claim", ["T14b", "T15d"])
def test_limits_of_fast_decoders_need_a_trend(claim, monkeypatch):
    """At a ratio that is no larger a deviation stays, and where there was none one may not come."""
    (found,) = (each for each in REGISTRY.claims if each.id == claim)
    measure = getattr(claims, found.evidence.table.partition(".")[2])
    assert (measure()["value"] < found.test.upper).all()

    def decoders(*ratios):
        monkeypatch.setattr(
            claims, "flows_within", lambda kinds, names: flows_within(kinds, names, ratios)
        )
        return measure()["value"]

    assert (decoders(100.0, 100.0) == 1).all()
    assert (decoders(100.0, 50.0) > found.test.upper).all()


def test_scanning_order_less_frequent_tokens_are_overtaken_first():
    """Frequency bias: f_nl/f_{nl0} halves in the order of P(l|n)."""
    classes = mixture("Syn-Small")
    times = np.linspace(0, 40, 2001)
    c = attention_weights(classes, attention_flow(classes, 1.0, 1.0, times).attention_logits)[
        :, 0, 10:
    ]
    share = c / c[:, -1:]
    halved = share < share[0] / 2
    reached = halved.any(axis=0)
    assert reached.sum() >= 6
    halving = times[halved[:, reached].argmax(axis=0)]
    assert reached[: reached.sum()].all()
    assert (np.diff(halving) > 0).all()


def test_discriminative_bias_moves_attention_to_distinct_tokens():
    for kind in ("(10)", 1, 10):
        found = flow("Syn-Small", kind)
        c = attention_weights(mixture("Syn-Small"), found.attention_logits)
        common = c[:, :, :10].sum(axis=2)
        assert common[0] == pytest.approx(10 / 15.5)
        assert (np.diff(common, axis=0) < 0).all()
        assert common[-1].max() < 0.6


def test_sampled_flow_is_k_times_slower_in_z():
    """With the sampling probability that (10) leaves out; eta_Z takes the factor K up."""
    classes = mixture("one common token, one query")
    plain = attention_flow(classes, 1.0, 0.25, TIMES)
    sampled = attention_flow(classes, 1.0, 1.0, TIMES, sampled=True)
    assert np.abs(plain.attention_logits - sampled.attention_logits).max() < 1e-9
    assert np.abs(plain.exponents - sampled.exponents).max() < 1e-9


def test_sampled_flow_is_the_limit_of_a_fast_modified_decoder():
    """The faster Y, the closer the population flow with (26) comes to (10) with 1/K."""
    classes = mixture("Syn-Small")
    gaps = []
    for ratio in (10.0, 1000.0):
        eta_z = 1 / ratio
        t = np.array([0, 20.0])
        theory = attention_flow(classes, 1.0, eta_z, t, sampled=True).attention_logits[-1]
        true = population_flow(classes, 1.0, eta_z, t, modified=True).attention_logits[-1]
        gaps.append(np.abs(theory - true).max() / np.abs(theory).max())
    assert gaps[1] < 0.003 < gaps[0]


def test_drive_of_a_class_without_distinct_tokens_is_not_a_number():
    classes = irregular()
    support = classes.support.copy()
    support[1] = support[0]
    without = type(classes)(**{**vars(classes), "support": support})
    found = population_flow(without, 1.0, 1.0, [0.0, 5.0])
    assert np.isnan(found.drive[:, :2]).all()
    assert np.isnan(found.exponents[:, :2]).all()
    assert (found.drive[1, 2:] > 0).all()
    assert np.isfinite(found.attention_logits).all()


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda c: attention_flow(c, 0.0, 1.0, [1.0]), "eta_Y must be positive"),
        (lambda c: attention_flow(c, 1.0, -1.0, [1.0]), "eta_Z must be positive"),
        (lambda c: attention_flow(c, 1.0, 1.0, [2.0, 1.0]), "ascends"),
        (lambda c: attention_flow(c, 1.0, 1.0, []), "ascends"),
        (lambda c: population_flow(c, 1.0, 0.0, [1.0]), "eta_Z must be positive"),
        (lambda c: population_flow(c, 1.0, 1.0, [-1.0, 1.0]), "t >= 0"),
        (lambda _: growth_bounds(1.0, 1.5), "unit vector"),
    ],
)
def test_impossible_parameters_are_refused(call, named):
    with pytest.raises(InputError, match=named):
        call(mixture("Syn-Small"))


def test_classes_with_the_same_distribution_are_refused():
    """Their f_n are equal, so E has the eigenvalue -1 and Theorem 5 has no decoder."""
    classes = irregular()
    support, probabilities = classes.support.copy(), classes.probabilities.copy()
    support[1], probabilities[1] = support[0], probabilities[0]
    query = np.zeros(4, dtype=np.int64)
    same = type(classes)(
        **{**vars(classes), "support": support, "probabilities": probabilities, "query": query}
    )
    with pytest.raises(InputError, match="linearly independent"):
        attention_flow(same, 1.0, 1.0, [0.0, 1.0])
