import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.optimize import minimize_scalar
from scipy.special import lambertw, softmax

from replication.base.errors import InputError
from transformer_dynamics.scan_and_snap.theory import decoder, updates
from transformer_dynamics.scan_and_snap.theory.coupling import (
    correlations,
    e_prime,
    example_features,
)

RATES = st.floats(1e-3, 10)
SIZES = st.integers(2, 100_000)


@pytest.mark.parametrize(("size", "eta"), [(2, 1.0), (50, 0.1), (1000, 4.0), (100_000, 0.5)])
def test_45_solves_44(size, eta):
    """An integrator that knows only dh/dt agrees with the closed form."""
    times = np.linspace(0, 60 / eta, 40)
    solution = solve_ivp(
        lambda _, h: eta / (size - 1 + np.exp(size * h)),
        (0, times[-1]),
        [0.0],
        method="DOP853",
        t_eval=times,
        rtol=1e-13,
        atol=1e-16,
    )
    assert np.abs(solution.y[0] - decoder.h_continuous(eta, size, times)).max() < 1e-10


@given(eta=RATES, size=SIZES, time=st.floats(1e-9, 1e12))
def test_45_holds_over_21_orders_of_magnitude(eta, size, time):
    h = decoder.h_continuous(eta, size, time)
    assert decoder.h_time(eta, size, h) == pytest.approx(time, rel=1e-9)


@given(eta=RATES, size=SIZES)
def test_h_does_not_overflow(eta, size):
    h = decoder.h_continuous(eta, size, [0, 1e-300, 1e290])
    assert h[0] == 0
    assert h[1] == pytest.approx(eta / size * 1e-300, rel=1e-9, abs=0)
    assert size * h[2] == pytest.approx(np.log(size) + np.log(eta) + np.log(1e290), rel=1e-12)


@pytest.mark.parametrize("size", [50, 1000])
@pytest.mark.parametrize("eta", [0.1, 0.2, 0.5, 1, 2, 4])
def test_lemma_7_steps_stay_just_above_the_curve(size, eta):
    steps = int(4000 / eta)
    gap = decoder.h_steps(eta, size, steps) - decoder.h_continuous(eta, size, np.arange(steps + 1))
    assert gap.min() > -1e-15
    assert gap.max() <= 2 * eta / size
    assert 0.18 < gap.max() / (eta / size) < 0.23  # the constant is a tenth of Lemma 7's 2
    assert gap[-1] < 0.01 * gap.max()


@pytest.mark.parametrize("size", [50, 1000])
def test_lemma_7_time_shift_is_constant(size):
    """h(s + c) >= h*(s) with a c that does not depend on how small eta_Y makes the steps."""
    shifts = []
    for eta in (0.1, 0.5, 1.0):
        s = np.arange(int(100 / eta))
        late = decoder.h_time(eta, size, decoder.h_steps(eta, size, len(s) - 1)) - s
        assert late.min() > -1e-9
        assert late[s <= np.log(size) / eta].max() <= 0.5
        shifts.append(late.max())
    assert max(shifts) < np.log(size)


@given(size=st.integers(4, 1_000_000))
def test_lemma_8_the_linear_term_wins_exactly_between_the_crossings(size):
    upper = (1 + decoder.omega_1(size)) * np.log(size)
    lower = -lambertw(-1 / (size - 1)).real
    for x, linear in ((lower, 0), (upper, 0), (0.9 * lower, -1), (1.1 * upper, -1)):
        excess = np.log(size - 1) + np.log(x) - x
        assert np.sign(excess) == linear or abs(excess) < 1e-9
    inside = np.linspace(lower, upper, 9)[1:-1]
    assert (inside + 1e-12 < np.log(size - 1) + np.log(inside)).all()
    assert lower <= 3 / size


@pytest.mark.parametrize(
    ("size", "omega"), [(50, 0.436), (100, 0.403), (1000, 0.320), (10_000, 0.267)]
)
def test_omega_1_falls_slowly(size, omega):
    assert decoder.omega_1(size) == pytest.approx(omega, abs=5e-4)


@given(eta=RATES, size=SIZES, num_classes=st.integers(1, 30))
def test_gamma_peaks_where_its_closed_form_says(eta, size, num_classes):
    num_classes = min(num_classes, size)
    peak = decoder.gamma_peak(eta, size, num_classes)
    found = minimize_scalar(
        lambda log_t: -float(decoder.gamma(eta, size, num_classes, np.exp(log_t))),
        bounds=(np.log(peak) - 2, np.log(peak) + 3),
        method="bounded",
        options={"xatol": 1e-10},
    )
    assert np.exp(found.x) == pytest.approx(peak, rel=1e-4)
    value = (size - 1) / size * lambertw((size - 1) / np.e).real
    assert -found.fun == pytest.approx(value, rel=1e-10)


@pytest.mark.parametrize("size", [30, 100, 1000, 10_000])
def test_lemma_9_gamma_rises_linearly_then_falls(size):
    eta, num_classes = 0.5, 10
    early, late = (
        f(eta, size, num_classes) for f in (decoder.scanning_end, decoder.snapping_start)
    )
    t = early * np.linspace(0.01, 1, 100)
    seen = eta * t / num_classes
    ratio = decoder.gamma(eta, size, num_classes, t) / seen
    assert 0.5 < ratio.min() <= ratio.max() < 1
    assert ratio[0] == pytest.approx(1, abs=0.07)
    h = decoder.h_continuous(eta, size, t / num_classes)
    assert 0.85 < (h / (seen / size)).min() <= (h / (seen / size)).max() <= 1
    t = late * np.logspace(0, 5, 100)
    seen = eta * t / num_classes
    h = decoder.h_continuous(eta, size, t / num_classes) / (np.log(size * seen) / size)
    assert 0.88 < h.min() <= h.max() < 1
    ratio = decoder.gamma(eta, size, num_classes, t) * seen / np.log(size * seen)
    assert 0.9 < ratio.min() <= ratio.max() < 1.8
    assert decoder.gamma_peak(eta, size, num_classes) < early


def test_gamma_turns_at_times_proportional_to_k_over_eta():
    base = decoder.gamma_peak(1.0, 1000, 1)
    assert decoder.gamma_peak(0.25, 1000, 10) == pytest.approx(40 * base, rel=1e-14)


@pytest.mark.parametrize("size", [4, 100])
@pytest.mark.parametrize("eta", [0.3, 2.0])
def test_lemma_5_one_class_learnt_alone(size, eta):
    run = updates.simulate_updates([[0.0]], size, eta, np.zeros(200, int), modified=True)
    h = decoder.h_steps(eta, size, 200)
    expected = decoder.lemma5_logits(h, size, 0)
    assert np.abs(updates.logits(run, [[0.0]])[:, 0] - expected).max() < 1e-12
    alpha = softmax(expected, axis=-1)
    assert np.abs(alpha - decoder.lemma5_prediction(h, size, 0)).max() < 1e-14
    error = np.eye(size)[0] - alpha
    along = decoder.prediction_error(h, size)[:, None] * decoder.zeta(size, 0)
    assert np.abs(error - along).max() < 1e-14


@pytest.mark.parametrize(("num_classes", "size"), [(2, 34), (6, 200), (20, 240)])
def test_lemma_3_modified_updates_decouple_correlated_classes(num_classes, size):
    """Also in unequal order, and with correlations that Assumption 2 forbids."""
    e = correlations(example_features(size, num_classes))
    order = np.random.default_rng(0).integers(num_classes, size=400)
    run = updates.simulate_updates(e, size, 0.5, order, modified=True)[-1:]
    h = decoder.h_steps(0.5, size, 400)
    for n, seen in enumerate(np.bincount(order, minlength=num_classes)):
        expected = decoder.lemma5_logits(h[seen], size, n)
        assert np.abs(updates.logits(run, e)[0, n] - expected).max() < 1e-12
    plain = updates.simulate_updates(e, size, 0.5, order, modified=False)[-1:]
    assert np.abs(updates.logits(plain, e) - updates.logits(run, e)).max() > 0.1


@pytest.mark.parametrize("modified", [False, True])
def test_simulation_in_coordinates_is_the_m_by_m_update(modified):
    f = example_features(30, 3)
    e = correlations(f)
    order = np.arange(20) % 3
    y = np.zeros((30, 30))
    direction = f - f @ e_prime(e) if modified else f
    for n in order:
        y += 0.7 * np.outer(direction[:, n], np.eye(30)[n] - softmax(y.T @ f[:, n]))
    run = updates.simulate_updates(e, 30, 0.7, order, modified=modified)
    assert np.abs(f @ run[-1] - y).max() < 1e-14
    assert np.abs(updates.logits(run, e)[-1] - f.T @ y).max() < 1e-14
    assert len(run) == 21


@pytest.mark.parametrize(("size", "eta"), [(50, 0.3), (1000, 1.0)])
def test_remark_2_shift_grows_like_half_the_logarithm_of_time(size, eta):
    """Euler's steps of dh/ds = F(h) run ahead by the integral of -F'/2, ln(F(0)/F(h))/2."""
    steps = int(3000 / eta)
    h = decoder.h_steps(eta, size, steps)
    shift = decoder.h_time(eta, size, h) - np.arange(steps + 1)
    assert (np.diff(shift) > 0).all()
    slowdown = decoder.prediction_error(0, size) / decoder.prediction_error(h, size)
    late = np.geomspace(20 / eta, steps, 20).astype(int)
    assert shift[late] == pytest.approx(np.log(slowdown[late]) / 2, rel=0.05 + eta / 4)
    first, last = (int(100 / eta), steps)
    growth = (shift[last] - shift[first]) / np.log(last / first)
    assert growth == pytest.approx(0.5, abs=0.02)
    assert shift[: int(40 * np.log(size) / eta)].max() < np.log(size)


def test_remark_1_needs_as_many_classes_as_tokens():
    few = updates.remark_1(20, 240, 0.72, 0.1, 50)
    assert few == pytest.approx((3.78, 1.29, 1.39), abs=0.01)
    assert few.simulated > 2.5 * max(few.scaled, few.slowed)
    as_many = updates.remark_1(20, 20, 0.72, 0.1, 50)
    assert as_many.simulated == pytest.approx(as_many.slowed, rel=0.01)
    assert as_many.simulated != pytest.approx(as_many.scaled, rel=0.03)


@given(size=st.integers(2, 10_000), eta=RATES, num_classes=st.integers(1, 20))
def test_corollary_1_time_to_an_error(size, eta, num_classes):
    num_classes = min(num_classes, size)
    start = np.sqrt((size - 1) / size)
    error = start * np.logspace(-8, 0, 9)
    ratio = np.maximum(np.sqrt(decoder.q1(size)) / error - 1, 1 / (size - 1))
    # At the start h is 0, which rounding can make a little less.
    reached = np.maximum(np.log((size - 1) * ratio) / size, 0)
    time = num_classes * decoder.h_time(eta, size, reached)
    h = decoder.h_continuous(eta, size, time / num_classes)
    norm = decoder.prediction_error(h, size) * np.sqrt(decoder.q1(size))
    assert norm == pytest.approx(error, rel=1e-6)
    assert time[-1] == pytest.approx(0, abs=1e-6 * num_classes / eta)
    assert (time <= 2 * num_classes / (error * eta) * np.log(2 * size / error)).all()
    assert (error * time * eta / num_classes)[0] == pytest.approx(
        np.sqrt((size - 1) / size), rel=1e-4
    )


def test_zeta_products():
    z = decoder.zeta(7, np.arange(7))
    gram = decoder.q0(7) + (decoder.q1(7) - decoder.q0(7)) * np.eye(7)
    assert np.abs(z @ z.T - gram).max() < 1e-15
    assert np.abs(z.sum(axis=1)).max() < 1e-15


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: decoder.h_continuous(1.0, 1, 1.0), "M >= 2"),
        (lambda: decoder.h_steps(1.0, 1, 1), "M >= 2"),
        (lambda: decoder.h_steps(1.0, 9, -1), "number of steps"),
        (lambda: decoder.h_continuous(0.0, 9, 1.0), "eta_Y must be positive"),
        (lambda: decoder.h_continuous(np.nan, 9, 1.0), "eta_Y must be positive"),
        (lambda: decoder.gamma(-1.0, 9, 3, 1.0), "eta_Y must be positive"),
        (lambda: decoder.gamma(1.0, 9, 10, 1.0), "K = 10 > M = 9"),
        (lambda: decoder.gamma(1.0, 9, 0, 1.0), "K = 0"),
        (lambda: decoder.h_continuous(1.0, 9, [1.0, -1.0]), "t >= 0"),
        (lambda: decoder.h_continuous(1.0, 9, np.nan), "t >= 0"),
        (lambda: decoder.omega_1(3), "Lemma 8 needs M >= 4"),
        (lambda: decoder.snapping_start(1.0, 3, 1), "Lemma 8 needs M >= 4"),
        (lambda: decoder.zeta(1, 0), "M >= 2"),
        (lambda: updates.simulate_updates([[0.0]], 1, 1.0, [0], modified=True), "M >= 2"),
        (lambda: updates.simulate_updates([[0.0]], 9, 1.0, [1], modified=True), "0..K-1"),
        (
            lambda: updates.simulate_updates(np.zeros((3, 3)), 2, 1.0, [0], modified=True),
            "K = 3 > M",
        ),
        (
            lambda: updates.simulate_updates([[0.0]], 9, 0.0, [0], modified=False),
            "eta_Y must be positive",
        ),
    ],
)
def test_impossible_parameters_are_refused(call, named):
    with pytest.raises(InputError, match=named):
        call()


@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.9, 0.99])
def test_updates_with_momentum_are_those_of_training(momentum):
    """A decoder under a constant gradient, update by update."""
    velocity, moved = 0.0, [0.0]
    for _ in range(300):
        velocity = momentum * velocity + 1
        moved.append(moved[-1] + velocity)
    found = decoder.updates_with_momentum(moved, momentum)
    assert found == pytest.approx(np.arange(301), abs=1e-5)
