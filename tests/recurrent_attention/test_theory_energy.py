"""Energies, gradients and flows of Section 4 against autograd on the literal formulas."""

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

from transformer_dynamics.recurrent_attention.theory.energy import (
    Attention,
    State,
    asymmetry,
    corrected_energy_rate,
    counterexample_k1,
    counterexample_k2,
    energy,
    energy_gradient,
    energy_rate,
    head_outputs,
    integrate_flow,
    random_heads,
    random_single_head,
    random_symmetric_heads,
    symmetric_part,
    symmetrise_scores,
    velocity,
)


def of_seed(states, index):
    """One of many states."""
    tokens, attention = states
    chosen = attention._replace(scores=attention.scores[index], values=attention.values[index])
    return State(tokens[index], chosen)


STATES = {
    "K1": counterexample_k1(),
    "K1, doubled": counterexample_k1(2),
    "K2": counterexample_k2(),
    "K2, two heads": counterexample_k2(2),
    "one head": of_seed(random_single_head(range(3), 4, 0.1), 2),
    "two heads": of_seed(random_heads(range(2), 2), 1),
    "symmetric heads": of_seed(random_symmetric_heads(range(2), 4), 1),
    "W^V of its own": State(
        random_single_head(range(1), 1, 1).tokens[0],
        Attention(*np.random.default_rng(5).standard_normal((2, 3, 16, 16)), 0.3, on_sphere=False),
    ),
}


def literal(state):
    """Energy, its gradient, velocity and dE/dt from (1), (2), (10), (12) and autograd."""
    tokens, attention = state
    x = torch.tensor(tokens, requires_grad=True)
    total = torch.zeros((), dtype=torch.float64)
    moved = torch.zeros_like(x)
    for a, v in zip(*map(torch.tensor, (attention.scores, attention.values)), strict=True):
        for i in range(len(x)):
            for j in range(len(x)):
                total = total - torch.exp(attention.beta * x[i] @ a @ x[j])
        moved = moved + torch.softmax(attention.beta * x @ a @ x.T, dim=-1) @ x @ v
    if attention.on_sphere:
        moved = torch.stack([y - (u @ y) * u for u, y in zip(x, moved, strict=True)])
    (slope,) = torch.autograd.grad(total, x)
    parts = total, slope, moved, (slope * moved).sum()
    return [part.detach().numpy() for part in parts]


@pytest.mark.parametrize("name", STATES)
def test_formulas_are_those_of_autograd(name):
    state = STATES[name]
    found = [function(*state) for function in (energy, energy_gradient, velocity, energy_rate)]
    for ours, expected in zip(found, literal(state), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("name", STATES)
def test_rate_is_the_change_of_energy(name):
    tokens, attention = STATES[name]
    step = 1e-5 / np.abs(velocity(tokens, attention)).max()
    there, back = (
        energy(tokens + sign * step * velocity(tokens, attention), attention) for sign in (1, -1)
    )
    expected = energy_rate(tokens, attention)
    scale = np.linalg.norm(energy_gradient(tokens, attention)) * np.linalg.norm(
        velocity(*STATES[name])
    )
    assert (there - back) / (2 * step) == pytest.approx(expected, abs=1e-6 * scale)


def test_k1_and_k2_are_as_worked_out_by_hand():
    beta, e = 2**-0.5, np.exp
    cells = 1 + e(-1.2 * beta) + e(0.6 * beta) + e(0.48 * beta)
    assert energy(*counterexample_k1()) == pytest.approx(-cells, rel=1e-14)
    expected = [[0, -0.23023], [0.08487, -0.11316]]
    np.testing.assert_allclose(velocity(*counterexample_k1()), expected, atol=5e-6)
    assert energy_rate(*counterexample_k1()) == pytest.approx(0.272708, abs=1e-6)
    assert energy(*counterexample_k1(2)) == pytest.approx(-5.490983, abs=1e-6)
    assert energy_rate(*counterexample_k1(2)) == pytest.approx(3.563208, abs=1e-6)

    a, c, b = 5, 4, 0.3
    here, there = e(-beta * a * b), e(beta * c * b)
    total = here + there
    by_hand = -beta * (b**2 * total - (a - c) / 2 * (c * there - a * here))
    for heads in (1, 2):
        assert energy(*counterexample_k2(heads)) == pytest.approx(
            -2 * total - 4 * (heads - 1), rel=1e-14
        )
        assert energy_rate(*counterexample_k2(heads)) == pytest.approx(by_hand, rel=1e-13)
        assert energy_rate(*counterexample_k2(heads)) == pytest.approx(2.521136, abs=1e-6)
        np.testing.assert_allclose(
            velocity(*counterexample_k2(heads))[:, :2], [[0.15, -0.25]] * 2, atol=1e-15
        )
        assert not velocity(*counterexample_k2(heads))[:, 2:].any()


def test_counterexamples_meet_the_conditions_of_the_propositions():
    for state in (counterexample_k1(), counterexample_k1(2)):
        np.testing.assert_allclose(np.linalg.norm(state.tokens, axis=1), 1, rtol=1e-15)
    states = [
        counterexample_k1(),
        counterexample_k2(),
        counterexample_k2(2),
        of_seed(random_heads(range(1), 4), 0),
    ]
    for _, attention in states:
        np.testing.assert_array_equal(attention.values, symmetric_part(attention.scores))
    for _, attention in states[1:]:
        heads, width, _ = attention.scores.shape
        assert attention.beta == pytest.approx((width / heads) ** -0.5)
        # A_h = U_1h U_2h^T of orthonormal columns: partial isometries whose products all vanish.
        for h, first in enumerate(attention.scores):
            np.testing.assert_allclose(first @ first.T @ first, first, atol=1e-14)
            assert np.linalg.matrix_rank(first) == width // (2 * heads)
            for k, second in enumerate(attention.scores):
                assert np.abs(first @ second).max() < 1e-14
                if h != k:
                    assert np.abs(first @ second.T).max() < 1e-14
                    assert np.abs(first.T @ second).max() < 1e-14


def test_corrected_rate_is_the_rate_where_the_propositions_hold():
    single = symmetrise_scores(random_single_head(range(50), 4, 1))
    states = [single, *(random_symmetric_heads(range(20), heads) for heads in (1, 2, 4))]
    for state in states:
        exact = energy_rate(*state)
        np.testing.assert_allclose(corrected_energy_rate(*state), exact, rtol=1e-12)
        assert (exact < 0).all()
        assert asymmetry(state.attention.scores) < 1e-15
    # Where A is not symmetric, it is another number, and not even of the same sign.
    for state in (counterexample_k1(), counterexample_k2()):
        assert corrected_energy_rate(*state) < 0 < energy_rate(*state)


def test_heads_must_not_meet():
    """Without A_h A_h' = 0 it is not enough that heads are symmetric."""
    tokens, one_head = random_symmetric_heads(range(2), 1)
    scores = one_head.scores[:, 0]
    both = Attention(scores, scores, one_head.beta, on_sphere=False)
    assert corrected_energy_rate(tokens[0], both) != pytest.approx(
        energy_rate(tokens[0], both), rel=1e-2
    )


def test_gradient_as_printed_is_that_of_symmetric_scores():
    for name in ("K1", "K2", "one head", "two heads"):
        tokens, attention = STATES[name]
        exact = energy_gradient(tokens, attention)
        printed = energy_gradient(tokens, attention, printed=True)
        assert np.abs(printed - exact).max() > 0.1 * np.abs(exact).max()
        with_printed = (printed * velocity(tokens, attention)).sum()
        # With it the proofs' conclusion follows, for one head on the sphere.
        if attention.on_sphere:
            assert with_printed == pytest.approx(
                corrected_energy_rate(tokens, attention), rel=1e-12
            )
    even = symmetrise_scores(STATES["two heads"])
    np.testing.assert_allclose(
        energy_gradient(*even, printed=True), energy_gradient(*even), atol=1e-12
    )


def test_flows_are_those_of_another_integrator():
    ends = {"K1": 2, "K2": 1.5, "one head": 0.5, "two heads": 0.2}
    for name, until in ends.items():
        state = STATES[name]

        def slope(t, x, state=state):
            return velocity(x.reshape(state.tokens.shape), state.attention).ravel()

        path = integrate_flow(state, until)
        other = solve_ivp(
            slope, (0, path.t[-1]), state.tokens.ravel(), "DOP853", rtol=1e-12, atol=1e-12
        )
        scale = np.abs(other.y).max()
        np.testing.assert_allclose(path.tokens[-1].ravel(), other.y[:, -1], atol=1e-9 * scale)


def test_energy_climbs_along_the_flows_of_k1_and_k2():
    path = integrate_flow(counterexample_k1(), 6)
    top = path.energy.argmax()
    assert path.t[top] == pytest.approx(1.683, abs=2e-3)
    assert path.energy[top] == pytest.approx(-4.1747, abs=1e-4)
    assert path.energy[-1] == pytest.approx(-4.2438, abs=1e-4)
    assert (path.energy[1:] > path.energy[0]).all()
    np.testing.assert_allclose(np.linalg.norm(path.tokens, axis=-1), 1, rtol=1e-14)

    path = integrate_flow(counterexample_k2(), 4)
    top = path.energy.argmax()
    assert path.t[top] == pytest.approx(1.245, abs=2e-3)
    assert path.energy[top] == pytest.approx(-3.984130, abs=1e-5)
    below = path.t[path.energy < path.energy[0]][0]
    assert below == pytest.approx(2.429, abs=2e-3)
    assert path.energy[-1] == pytest.approx(-26.28, abs=0.01)


def test_rate_of_a_path_is_the_slope_of_its_energy():
    path = integrate_flow(STATES["one head"], 0.2)
    slope = np.gradient(path.energy, path.t, edge_order=2)
    np.testing.assert_allclose(path.rate, slope, atol=1e-3 * np.abs(path.rate).max())


def test_many_states_are_each_of_them():
    many = random_single_head(range(4), 4, 0.3)
    paths = integrate_flow(many, 0.05, step=1e-2)
    for index in range(4):
        one = of_seed(many, index)
        np.testing.assert_allclose(
            head_outputs(*many)[index], head_outputs(*one), rtol=1e-12, atol=1e-13
        )
        alone = integrate_flow(one, 0.05, step=1e-2)
        np.testing.assert_allclose(paths.energy[:, index], alone.energy, rtol=1e-12)
    np.testing.assert_array_equal(
        random_single_head(range(2, 4), 4, 0.3).tokens, many.tokens[2:]
    )  # of a seed alone
