"""Exponents against dense products and their singular values, in float64."""

from functools import partial

import literal_steps as literal
import numpy as np
import pytest
import torch

from replication.base.errors import InputError
from transformer_dynamics.recurrent_attention.settings.models import Model
from transformer_dynamics.recurrent_attention.theory import exponents, jacobian
from transformer_dynamics.recurrent_attention.theory.attention import attention
from transformer_dynamics.recurrent_attention.theory.jacobian import Step
from transformer_dynamics.recurrent_attention.theory.recurrence import unit_blocks

FLOATS = torch.float64


def linear_steps(matrix, loops):
    """The steps of x -> A x: no null direction."""
    return [Step(torch.zeros(1, len(matrix), dtype=FLOATS), matrix, matrix[:, :0])] * loops


def closed_step(w, x, **model):
    """One step of 12 channels in 3 heads with its Jacobian."""
    made = Model(width=12, heads=3, **model)
    return jacobian.step_with_jacobian(made, w, literal.matrices(w), x, w["inputs"].expand_as(x))


def model(name, boards=(2,)):
    """Steps of a small model, its plain map, where it starts, and how many are null."""
    w = literal.weights(5, 4, 12, 3)
    x = literal.start(5, 4, 12, leading=boards)
    closed, plain, dimension = {
        "itrsa": (
            partial(closed_step, w, kind="itrsa"),
            lambda x: literal.itrsa(x, w, 3),
            12,
        ),
        "akorn": (
            partial(closed_step, w, kind="akorn", oscillator=4),
            lambda x: literal.akorn(x, w, 3, 4),
            4,
        ),
        "free": (
            partial(closed_step, w, kind="itrsa", normalised=False),
            lambda x: literal.itrsa(x, w, 3, normalised=False),
            12,
        ),
    }[name]
    nulls = 0 if name == "free" else 48 // dimension
    return closed, plain, literal.unit(x, dimension), nulls


def by_autograd(plain, start, loops):
    """Exponents of the dense product of autograd's Jacobians, and of its singular values."""
    product, x = torch.eye(start.numel(), dtype=FLOATS), start
    for _ in range(loops):
        product, x = literal.dense(plain, x) @ product, plain(x)
    return torch.linalg.svdvals(product).log() / loops


def test_a_linear_map_has_the_logarithms_of_its_singular_values():
    """A normal map, as that of T steps has the same ones; and any map for one step."""
    random = torch.Generator().manual_seed(0)
    turned = torch.linalg.qr(torch.randn(9, 9, generator=random, dtype=FLOATS)).Q
    logs = torch.linspace(0.3, -0.4, 9, dtype=FLOATS)
    any_map = torch.randn(9, 9, generator=random, dtype=FLOATS)
    for matrix, loops, expected in (
        (turned @ logs.exp().diag() @ turned.T, 16, logs),
        (any_map, 1, torch.linalg.svdvals(any_map).log()),
    ):
        steps = linear_steps(matrix, loops)
        assert (exponents.leading_exponents(steps, 4) - expected[:4]).abs().max() < 1e-12
        assert abs(float(exponents.mean_exponent(steps) - expected.mean())) < 1e-12
        assert np.abs(exponents.exponent_spectrum(steps) - expected.numpy()).max() < 1e-12


@pytest.mark.parametrize("name", ["itrsa", "akorn", "free"])
@pytest.mark.parametrize("loops", [1, 6])
def test_exponents_are_those_of_the_dense_product(name, loops):
    closed, plain, start, nulls = model(name)
    steps = exponents.trajectory_steps(closed, start, loops)
    leading = exponents.leading_exponents(steps, 8, tolerance=1e-12)
    for board in range(2):
        expected = by_autograd(plain, start[board], loops)[: 48 - nulls]
        assert (leading[board] - expected[:8]).abs().max() < 1e-12
        mean = exponents.mean_exponent(steps)[board]
        assert abs(float(mean - expected.mean())) < 1e-6
        alone = [Step(*(part[board] for part in step)) for step in steps]
        found = exponents.exponent_spectrum(alone)
        assert len(found) == 48 - nulls
        assert np.abs(found - expected.numpy())[:20].max() < 1e-12
        # What a dense product loses of its smallest values, the mean knows all the same.
        assert found.mean() == pytest.approx(float(mean), abs=1e-12)


def test_what_a_dense_product_loses_is_kept():
    """Of singular values 1 and e^-64 the second is below the round-off of their product."""
    random = torch.Generator().manual_seed(1)
    turns = [torch.linalg.qr(torch.randn(6, 6, generator=random, dtype=FLOATS)).Q for _ in "ab"]
    logs = torch.tensor([0.0, -1, -2, -3, -3.5, -4], dtype=FLOATS)
    steps = linear_steps(turns[0] @ logs.exp().diag() @ turns[0].T, 16)
    assert np.abs(exponents.exponent_spectrum(steps) - logs.numpy()).max() < 1e-12
    product = torch.linalg.matrix_power(steps[0].jacobian, 16)
    assert torch.linalg.svdvals(product)[-1].log() / 16 > -3.5


def test_growth_beyond_the_largest_number_is_measured():
    matrix = torch.tensor([[30.0, 1.0], [0.0, 1e-3]], dtype=FLOATS).exp().log1p() * 1e10
    steps = linear_steps(matrix, 100)
    expected = np.log(np.abs(torch.linalg.eigvals(matrix).numpy())).max()
    assert float(exponents.leading_exponents(steps, 1)[0]) == pytest.approx(expected, rel=0.01)
    assert not bool(torch.isinf(exponents.mean_exponent(steps)))


def test_exponents_of_a_long_time_tend_to_those_of_the_product():
    """At 200 steps they agree to a part of 1/T; at 16 they do not."""
    w = literal.weights(5, 4, 12, 3)
    start = literal.unit(literal.start(5, 4, 12, leading=(2,)), 12)

    def step(x):
        ahead = x + w["eta"] * (w["inputs"] + attention(x, literal.matrices(w), 3, 0.5))
        return w["gamma"] * unit_blocks(ahead, 12)

    closed = partial(closed_step, w, kind="itrsa")
    found = exponents.long_time_exponents(step, start, 200, 3, skipped=20)
    early = exponents.long_time_exponents(step, start, 16, 1, skipped=1)
    for board in range(2):
        steps = exponents.trajectory_steps(closed, start[board], 200)
        assert gap(step(start)[board], steps[0].tokens) < 1e-14
        expected = exponents.exponent_spectrum(steps[20:])[:3]
        assert np.abs(found[board].numpy() - expected).max() < 0.02
        exact = exponents.leading_exponents(steps[:16], 1)[0]
        assert float((early[board, 0] - exact).abs()) > 1e-3


@pytest.mark.parametrize("skipped", [0, 1, 2])
def test_the_first_steps_of_a_long_time_are_not_counted(skipped):
    """A counter and a channel that grows by e^5 in the first two of 20 steps, by e^.3 after."""

    def step(tokens):
        counter, channel = tokens.unbind(-1)
        rate = 0.3 + 4.7 * (counter < 1.5).to(counter)
        return torch.stack([counter + 1, rate.exp() * channel], dim=-1)

    start = torch.zeros(1, 2, dtype=FLOATS)
    found = exponents.long_time_exponents(step, start, 20, 2, skipped=skipped)
    expected = 0.3 + 4.7 * (2 - skipped) / (20 - skipped)
    assert float(found.sum()) == pytest.approx(expected, rel=1e-12)


def gap(found, expected):
    return float((found - expected).abs().max() / expected.abs().max())


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (
            lambda: exponents.trajectory_steps(lambda x: x, torch.zeros(1, 2), 0),
            "at least one step, got 0",
        ),
        (
            lambda: exponents.leading_exponents(linear_steps(torch.eye(3, dtype=FLOATS), 2), 4),
            "4 exponents were asked for, and there are 3",
        ),
    ],
)
def test_impossible_requests_are_refused(call, named):
    with pytest.raises(InputError, match=named):
        call()
