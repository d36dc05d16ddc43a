"""Section 5.2 against autograd on the literal step and against eigenvalues that are known."""

import numpy as np
import pytest
import torch

from transformer_dynamics.recurrent_attention.claims import rotation as claims
from transformer_dynamics.recurrent_attention.figures import fig2b
from transformer_dynamics.recurrent_attention.theory import rotation

FLOATS = torch.float64


def floats(*values):
    return torch.tensor(values, dtype=FLOATS)


def test_rotation_has_the_codes_sign_and_is_antisymmetric():
    turn = rotation.rotation_matrix(floats(2.0, 3.0))
    assert (turn @ floats(1.0, 10.0, 100.0, 1000.0)).tolist() == [20, -2, 3000, -300]
    assert (turn == -turn.T).all()


def test_step_is_the_literal_one():
    omega, eta = floats(0.3, 1.1, 2.0), 0.7

    def step(x):
        turned = torch.stack([omega * x[1::2], -omega * x[0::2]], dim=1).flatten()
        ahead = x + eta * turned
        return ahead / ahead.norm()

    x = floats(1.0, -2, 0.5, 0.1, 0.4, 3)
    found = rotation.rotation_step(x[None], omega, eta)
    assert (found.tokens[0] - step(x)).abs().max() < 1e-14
    assert (found.jacobian - torch.func.jacrev(step)(x)).abs().max() < 1e-14
    assert found.normals.shape == (6, 1)


def test_equal_frequencies_stay_in_the_unit_circle():
    """All planes but that of x and Omega x turn with (1 +- i eta omega)/|1 + i eta omega|."""
    x = torch.nn.functional.normalize(floats(1.0, 2, 3, 4, 5, 6), dim=0)[None]
    step = rotation.rotation_step(x, floats(2.0, 2, 2), 0.5)
    values = torch.linalg.eigvals(step.jacobian).numpy()
    expected = np.array([1 + 1j, 1 - 1j]) / 2**0.5
    for value in expected:
        assert (np.abs(values - value) < 1e-12).sum() == 2
    assert np.sort(np.abs(values))[:2] == pytest.approx([0, 2**-0.5], abs=1e-12)
    assert rotation.plane_eigenvalue(0.5, 2, 4) == pytest.approx(expected[0])
    # Without normalisation all are outside.
    assert rotation.plane_eigenvalue(0.5, 2) == 1 + 1j
    for measure in (claims.equal_frequencies, claims.norm_of_equal_frequencies):
        found = measure()["value"]
        assert found.max() < 1 + 1e-12
        assert found.min() > 0.99


def test_a_fast_plane_stays_outside():
    x = floats(1.0, 0, 0, 0)[None]
    step = rotation.rotation_step(x, floats(1.0, 3), 1.0)
    values = torch.linalg.eigvals(step.jacobian).numpy()
    fast = np.sort_complex(values[np.abs(values) > 1])
    assert fast == pytest.approx(np.array([1 - 3j, 1 + 3j]) / 2**0.5, abs=1e-12)
    found = claims.unequal_frequencies().set_index("cell")["value"]
    assert found["omega = 1, 3"] == pytest.approx(5**0.5, rel=1e-12)
    assert claims.radius_of_unequal_frequencies()["value"].to_numpy() == pytest.approx(1, rel=1e-12)
    assert claims.many_frequencies()["value"].min() > 1


def test_exponents_of_the_slow_orbit_and_of_others():
    orbit = claims._largest_exponent(floats(1.0, 0, 0, 0)[None], floats(1.0, 3), 16)
    assert orbit == pytest.approx(np.log(5) / 2, rel=1e-12)
    near = claims._largest_exponent(torch.nn.functional.normalize(floats(1.0, 0, 1e-3, 0)[None]),
                             floats(1.0, 3), 100)  # fmt: skip
    assert 0 < near < 0.2
    others = claims.exponent_of_other_orbits()["value"]
    assert len(others) == 20
    assert -1e-6 < others.min() <= others.max() < 0.02


def test_figure_has_eigenvalues_that_steps_have():
    settings = fig2b.Fig2b(kind="fig2b")
    table = fig2b.table(settings)
    assert list(table.columns) == list(fig2b.Fig2b.columns)
    lengths = np.hypot(table["re"], table["im"])
    equal = (table["kind"] != "unequal") & table["normalised"]
    assert lengths[equal].to_numpy() == pytest.approx(1)
    rows = table[(table["kind"] == "unequal") & table["normalised"]]
    x = torch.eye(6, dtype=FLOATS)[:1]
    step = rotation.rotation_step(x, floats(*settings.omega), settings.eta)
    values = torch.linalg.eigvals(step.jacobian).numpy()
    # The first plane is that of x itself, in which one direction is null.
    for re, im in rows[rows["omega"] > settings.omega[0]][["re", "im"]].to_numpy():
        assert np.abs(values - complex(re, im)).min() < 1e-12
