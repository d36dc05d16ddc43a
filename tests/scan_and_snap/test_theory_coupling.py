import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax
from settings_of_the_paper import PAPER

from replication.base.errors import InputError
from transformer_dynamics.scan_and_snap.settings.training import Mixture
from transformer_dynamics.scan_and_snap.theory import coupling, decoder, updates
from transformer_dynamics.scan_and_snap.theory.assumptions import assumption_2
from transformer_dynamics.scan_and_snap.theory.coupling import example_features
from transformer_dynamics.scan_and_snap.theory.decoder import q1
from transformer_dynamics.scan_and_snap.theory.sequence_classes import sequence_classes
from transformer_dynamics.scan_and_snap.theory.updates import frozen_flow

SEEDS = st.integers(0, 2**31)


def random_features(seed, size=None, num_classes=None):
    """Overlapping f_n >= 0, K from 2 to 12."""
    rng = np.random.default_rng(seed)
    num_classes = num_classes or int(rng.integers(2, 13))
    size = size or num_classes + int(rng.integers(5, 80))
    weights = rng.uniform(0, 1, (size, num_classes)) ** rng.uniform(0.5, 6)
    weights *= rng.uniform(0, 1, weights.shape) < rng.uniform(0.2, 1)
    weights[np.arange(num_classes), np.arange(num_classes)] += 0.1
    weights[-1] += 0.05
    return weights / np.linalg.norm(weights, axis=0)


@given(seed=SEEDS)
def test_e_prime_has_the_corrected_sign(seed):
    """(26)-(30) and Lemma 14 hold with I - (I+E)^{-1} and fail with its negative."""
    f = random_features(seed)
    e, eye = coupling.correlations(f), np.eye(f.shape[1])
    scale = np.linalg.cond(eye + e)
    for printed in (False, True):
        prime = coupling.e_prime(e, printed=printed)
        violations = [
            np.abs(f.T @ (f - f @ prime) - eye).max(),
            np.abs((eye - prime) @ f.T - np.linalg.pinv(f)).max(),
            np.abs((eye - prime) @ (eye + e) - eye).max(),
        ]
        if printed:
            assert min(violations) > 1e-6 * min(1, np.abs(e).max())
        else:
            assert max(violations) < 1e-13 * scale


def test_e_prime_to_1e_12_and_the_printed_sign_to_order_one():
    f = example_features()
    e = coupling.correlations(f)
    errors = [
        np.abs(f.T @ (f - f @ coupling.e_prime(e, printed=flag)) - np.eye(6)).max()
        for flag in (False, True)
    ]
    assert errors[0] < 1e-12
    assert errors[1] > 0.1


@given(num_classes=st.integers(2, 20), rho=st.floats(0.001, 0.95))
def test_e_prime_of_equal_correlations(num_classes, rho):
    prime = coupling.e_prime(updates.equal_correlations(num_classes, rho))
    common = rho / ((1 - rho) * (1 + (num_classes - 1) * rho))
    expected = np.full((num_classes, num_classes), common)
    np.fill_diagonal(expected, -(num_classes - 1) * rho * common)
    assert np.abs(prime - expected).max() < 1e-12 / (1 - rho)


@given(seed=SEEDS)
def test_lemma_16_and_identity_92(seed):
    e = coupling.correlations(random_features(seed))
    prime = coupling.e_prime(e)
    assert np.diagonal(prime).max() <= 1e-12
    assert np.abs((e * prime).sum(axis=1) + np.diagonal(prime)).max() < 1e-9


@given(seed=SEEDS, spread=st.floats(0.01, 0.45))
def test_lemma_17_e_prime_is_close_to_e(seed, spread):
    e = np.abs(np.random.default_rng(seed).normal(size=(6, 6)))
    e = np.triu(e, 1) + np.triu(e, 1).T
    e *= spread / np.abs(np.linalg.eigvalsh(e)).max()
    assert np.abs(coupling.e_prime(e) - e).max() <= spread**2 / (1 - spread) + 1e-15


@given(seed=SEEDS)
def test_modification_is_as_small_as_lambda_1(seed):
    """|F E' e_n| <= |lambda_1|/sqrt(1 - |lambda_1|), on an F with random correlations."""
    f = random_features(seed)
    f = np.vstack([f / 3, np.eye(f.shape[1])])  # distinct tokens weaken the correlations
    f /= np.linalg.norm(f, axis=0)
    e = coupling.correlations(f)
    largest = np.abs(np.linalg.eigvalsh(e)).max()
    change = np.linalg.norm(f @ coupling.e_prime(e), axis=0)
    assert change == pytest.approx(np.sqrt(np.diagonal(e @ coupling.e_prime(e))), abs=1e-12)
    if largest < 1:
        assert change.max() <= largest / np.sqrt(1 - largest) + 1e-12


@given(seed=SEEDS, x=st.floats(1e-3, 8))
def test_theorem_1_reproduces_the_gradient(seed, x):
    f = random_features(seed)
    size = len(f)
    h = x / size
    e = coupling.correlations(f)
    exact = coupling.feature_gradient(coupling.theorem5_decoder(f, h), f)
    strength = (size - 1) * h * decoder.prediction_error(h, size)
    scale = np.abs(exact).max()
    right = coupling.theorem1_coefficients(e, size)
    error = np.abs(coupling.combine_features(f, right, strength) - exact).max() / scale
    assert error < 1e-12 * np.linalg.cond(np.eye(len(e)) + e) ** 2
    printed = coupling.theorem1_coefficients(e, size, printed=True)
    assert np.abs(coupling.combine_features(f, printed, strength) - exact).max() / scale > 1e-4


def test_theorem_1_to_1e_12():
    f, size = example_features(), 200
    e = coupling.correlations(f)
    h = float(decoder.h_continuous(0.5, size, 7.0))
    exact = coupling.feature_gradient(coupling.theorem5_decoder(f, h), f)
    strength = float(decoder.gamma(0.5, size, 6, 42.0))
    form = coupling.combine_features(f, coupling.theorem1_coefficients(e, size), strength)
    assert np.abs(form - exact).max() < 1e-12
    printed = coupling.theorem1_coefficients(e, size, printed=True)
    assert np.abs(coupling.combine_features(f, printed, strength) - exact).max() > 1e-4


def test_theorem_5_is_what_the_modified_updates_reach():
    f = example_features()
    e = coupling.correlations(f)
    run = updates.simulate_updates(e, 200, 0.3, np.arange(300) % 6, modified=True)
    y = coupling.theorem5_decoder(f, decoder.h_steps(0.3, 200, 50)[-1])
    assert np.abs(f @ run[-1] - y).max() < 1e-12


@given(seed=SEEDS, time=st.floats(0.01, 100))
def test_theorem_1a_drive_is_positive(seed, time):
    """Without Assumption 2."""
    f = random_features(seed)
    e = coupling.correlations(f)
    size = len(f)
    xi = coupling.drive(
        e, coupling.theorem1_coefficients(e, size), decoder.gamma(1, size, len(e), time)
    )
    assert (xi > 0).all()


def test_theorem_1a_needs_assumption_2():
    """Nearly dependent f_2 and f_3 make xi_1 negative under (26), though not under (7)."""
    f = np.array([[5, 1, 0, 0], [0, 8, 9, 0], [0, 9, 8, 0], [9, 0, 0, 0], [0, 7, 0, 5]], float)
    f /= np.linalg.norm(f, axis=0)
    e = coupling.correlations(f)
    xi = coupling.drive(e, coupling.theorem1_coefficients(e, 5))
    assert xi.min() < 0
    assert not assumption_2(e, 5).holds
    assert frozen_flow(e, 5, 1.0, np.geomspace(0.1, 500, 30), modified=False).min() > 0


@given(num_classes=st.integers(2, 5), where=st.floats(0.01, 0.99))
def test_corrections_to_beta_and_iota_stay_below_3_over_m(num_classes, where):
    size = 6 * num_classes**4 * 4
    low, high = np.sqrt(6 / size), 1 / (num_classes * (num_classes - 1))
    e = updates.equal_correlations(num_classes, low + where * (high - low))
    assert assumption_2(e, size).holds
    exact, prime, own = coupling.theorem1_coefficients(e, size), coupling.e_prime(e), q1(size)
    others = ~np.eye(num_classes, dtype=bool)
    assert np.abs(exact.beta - prime * own)[others].max() < 3 / size
    assert np.abs(exact.iota - (1 - np.diagonal(prime)) * own).max() < 3 / size


def test_distinct_tokens_feel_the_drive_of_theorem_1():
    classes = sequence_classes(
        Mixture(num_last=2, next_tokens_per_query=3, common_weights=[1, 2], distinct_weights=[1, 3])
    )
    z = np.random.default_rng(1).normal(size=(2, classes.vocabulary_size))
    f = coupling.features(classes, z)
    e, size = coupling.correlations(f), classes.vocabulary_size
    y = coupling.theorem5_decoder(f, 0.02, classes.next_tokens)
    strength = (size - 1) * 0.02 * decoder.prediction_error(0.02, size)
    expected = coupling.theorem1_coefficients(e, size)
    g = coupling.feature_gradient(y, f, classes.next_tokens)
    felt = coupling.drive_on_distinct(g, f, coupling.distinct_columns(classes))
    assert np.abs(felt - coupling.drive(e, expected, strength)).max() < 1e-13
    alpha = softmax(y.T @ f, axis=0)
    assert alpha[classes.next_tokens, np.arange(6)].min() > 1 / size


def test_features_are_normalised_attention():
    classes = sequence_classes(
        Mixture(num_last=1, next_tokens_per_query=2, common_weights=[4], distinct_weights=[2, 2])
    )
    z = np.zeros((3, 1, classes.vocabulary_size))
    z[1, 0, 1] = np.log(2)
    f = coupling.features(classes, z)
    assert f.shape == (3, classes.vocabulary_size, 2)
    assert f[0, :5, 0] == pytest.approx(np.array([4, 2, 2, 0, 0]) / np.sqrt(24))
    assert f[1, :5, 0] == pytest.approx(np.array([4, 4, 2, 0, 0]) / 6)
    assert f[1, :5, 1] == pytest.approx(np.array([4, 0, 0, 2, 2]) / np.sqrt(24))


@pytest.mark.parametrize("rho", [0.02, 0.1, 0.5, 0.72])
def test_frozen_modified_flow_is_the_closed_form(rho):
    e, times = updates.equal_correlations(10, rho), np.linspace(0, 300, 31)
    flow = frozen_flow(e, 1000, 0.5, times, modified=True)
    strength = decoder.gamma(0.5, 1000, 10, times)
    exact = coupling.theorem1_coefficients(e, 1000)
    assert np.abs(flow - coupling.drive(e, exact, strength)).max() < 1e-6


def test_frozen_true_flow_is_the_limit_of_small_true_updates():
    f = example_features(60, 4)
    e = coupling.correlations(f)
    eta, passes = 0.002, 2000
    run = updates.simulate_updates(e, 60, eta, np.arange(4 * passes) % 4, modified=False)
    flow = frozen_flow(e, 60, eta, [4 * passes], modified=False)
    g = coupling.feature_gradient(f @ run[-1], f)
    iota = np.diagonal(np.linalg.lstsq(f, g, rcond=None)[0])
    assert iota - (f * g).sum(axis=0) == pytest.approx(flow[0], rel=5e-3)  # xi_n, by (9)


@given(seed=SEEDS)
def test_drive_is_positive_under_the_true_dynamics(seed):
    f = random_features(seed, num_classes=4)
    e = coupling.correlations(f)
    flow = frozen_flow(e, len(f), 1.0, np.linspace(0, 200, 41), modified=False, tolerance=1e-7)
    assert (flow[1:] > 0).all()


def test_modified_drive_starts_higher_and_falls_behind():
    """Finding A: xi_n under (7) over that under (26), at eta_Y t/K = 0.5 and 55, and its peak."""
    early, late = [], []
    for rho in (0.02, 0.1, 0.5, 0.72):
        e, seen = updates.equal_correlations(10, rho), np.linspace(0, 60, 1201)
        true, modified = (
            frozen_flow(e, 1000, 1.0, seen * 10, modified=flag)[:, 0] for flag in (False, True)
        )
        ratio = true[1:] / modified[1:]
        early.append(ratio[9])
        late.append(ratio[1099])
        assert true[1:].min() > 0
        assert seen[modified.argmax()] == pytest.approx(5.64, abs=0.05)
        if rho == 0.5:
            assert (true.max(), modified.max()) == pytest.approx((0.500, 3.624), abs=1e-3)
    assert early == pytest.approx([0.056, 0.018, 0.0078, 0.0047], abs=5e-4)
    assert late[0] < 0.1
    assert late[-1] > 1.5


def test_mixtures_of_the_paper_violate_assumption_2():
    """Finding B; with the common tokens attended to less, its limits can hold."""
    mixtures = [mixture for mixture in PAPER.mixtures.values() if mixture.is_released]
    checks = []
    for mixture in mixtures:
        classes = sequence_classes(mixture)
        checks.append(assumption_2(coupling.initial_correlations(classes), classes.vocabulary_size))
    assert not any(check.holds for check in checks)
    assert [check.largest for check in checks] == pytest.approx(
        [0.722, 0.722, 3.610, 6.498, 13.718], abs=1e-3
    )
    assert [check.largest_limit for check in checks] == pytest.approx(
        [1 / 2, 1 / 2, 1 / 6, 0.1, 0.05]
    )
    small, z = sequence_classes(PAPER.mixtures["syn_small"]), np.zeros((2, 34))
    z[:, :10] = -0.5
    assert assumption_2(coupling.correlations(coupling.features(small, z)), 34).holds


def test_assumption_2_reports_each_limit():
    e = updates.equal_correlations(3, 0.1)
    check = assumption_2(e, 1000)
    assert (check.largest, check.smallest) == (pytest.approx(0.2), pytest.approx(0.1))
    assert check.largest_limit == pytest.approx(1 / 3)
    assert check.smallest_limit == pytest.approx(np.sqrt(6 / 1000))
    assert check.holds
    assert not assumption_2(e, 500).holds  # sqrt(6/500) > 0.1
    assert not assumption_2(updates.equal_correlations(3, 0.2), 1000).holds  # 0.4 > 1/3


ASYMMETRIC = np.array([[0, 0.1], [0.2, 0]])
DEPENDENT = np.array([[0, 1.0], [1.0, 0]])


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: coupling.e_prime(ASYMMETRIC), "symmetric .Assumption 2"),
        (lambda: coupling.e_prime(DEPENDENT), "above -1 .Lemma 14"),
        (lambda: coupling.e_prime(updates.equal_correlations(2, 1.5)), "above -1 .Lemma 14"),
        (lambda: coupling.e_prime(np.full((2, 2), np.nan)), "symmetric"),
        (lambda: coupling.e_prime(np.zeros((2, 3))), "square"),
        (lambda: coupling.theorem1_coefficients(ASYMMETRIC, 9), "symmetric"),
        (lambda: coupling.theorem1_coefficients(np.zeros((4, 4)), 3), "K = 4 > M = 3"),
        (lambda: coupling.theorem1_coefficients([[0.0]], 1), "M >= 2"),
        (lambda: coupling.correlations(np.ones((2, 3))), "K = 3 > M = 2"),
        (lambda: coupling.theorem5_decoder(np.full((4, 2), 0.5), 0.1), "independent"),
        (lambda: assumption_2(DEPENDENT, 9), "above -1"),
        (lambda: assumption_2(np.zeros((4, 4)), 3), "K = 4 > M = 3"),
        (lambda: frozen_flow(DEPENDENT, 9, 1.0, [1.0], modified=True), "above -1"),
        (lambda: frozen_flow([[0.0]], 9, 0.0, [1.0], modified=True), "eta_Y must be positive"),
        (lambda: frozen_flow([[0.0]], 9, 1.0, [1.0, 1.0], modified=True), "ascends"),
        (
            lambda: coupling.drive_on_distinct(np.eye(2), np.eye(2), np.zeros((2, 2))),
            "distinct token",
        ),
    ],
)
def test_impossible_parameters_are_refused(call, named):
    with pytest.raises(InputError, match=named):
        call()
