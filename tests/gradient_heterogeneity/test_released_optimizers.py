"""Optimisers to the bit of PyTorch's, of the released formula for signs, and clipping."""

import pytest
import torch
from configured import optimizer

from replication.base.errors import InputError
from transformer_dynamics.gradient_heterogeneity.settings.training import OPTIMISERS, UpdateRule
from transformer_dynamics.gradient_heterogeneity.training import optimisers

pytestmark = pytest.mark.numerical

SHAPES = {"matrix": (5, 13), "vector": (7,), "one": (1,)}


def drawn(seed, dtype, scale=1.0):
    random = torch.Generator().manual_seed(seed)
    return {
        name: scale * torch.randn(shape, generator=random, dtype=dtype)
        for name, shape in SHAPES.items()
    }


OF_PYTORCH = {
    "sgd": lambda leaves: torch.optim.SGD(leaves, lr=0.03),
    "sgd_momentum": lambda leaves: torch.optim.SGD(leaves, lr=0.03, momentum=0.9),
    "rmsprop": lambda leaves: torch.optim.RMSprop(leaves, lr=0.03),
    "adam": lambda leaves: torch.optim.Adam(leaves, lr=0.03, eps=1e-4),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", OF_PYTORCH)
def test_pytorchs_optimisers_to_the_bit(name, dtype):
    now = drawn(0, dtype)
    leaves = {key: tensor.clone().requires_grad_() for key, tensor in now.items()}
    theirs = OF_PYTORCH[name](leaves.values())
    ours = optimizer(name, epsilon=1e-4 if name == "adam" else 1e-8)
    state = optimisers.initial_moments(ours, now)
    for step in range(20):
        gradients = drawn(step + 1, dtype, 10.0 ** (step % 5 - 3))
        for key, leaf in leaves.items():
            leaf.grad = gradients[key].clone()
        theirs.step()
        now, state = optimisers.update_copies(ours, now, gradients, state, 0.03)
        for key, leaf in leaves.items():
            assert torch.equal(now[key], leaf.detach())
    assert state.step == 20


@pytest.mark.parametrize(("name", "momentum"), [("signsgd", 0.0), ("signum", 0.9)])
def test_signs_are_those_of_the_released_formula(name, momentum):
    """Without momentum the released class takes the gradient's sign itself."""
    now = drawn(0, torch.float32)
    ours = optimizer(name)
    state = optimisers.initial_moments(ours, now)
    expected = {key: tensor.clone() for key, tensor in now.items()}
    average = {key: torch.zeros_like(tensor) for key, tensor in now.items()}
    for step in range(20):
        gradients = drawn(step + 1, torch.float32)
        gradients["vector"][step % 7] = 0
        for key, g in gradients.items():
            average[key].mul_(momentum).add_(g, alpha=1 - momentum)
            expected[key].add_(torch.sign(average[key] if momentum else g), alpha=-0.01)
        now, state = optimisers.update_copies(ours, now, gradients, state, 0.01)
        assert all(torch.equal(now[key], expected[key]) for key in now)


@pytest.mark.parametrize("name", OPTIMISERS)
def test_seeds_go_together_as_they_go_alone(name):
    ours = optimizer(name)
    starts = [drawn(seed, torch.float64) for seed in range(3)]
    together = {key: torch.stack([start[key] for start in starts]) for key in SHAPES}
    alone = [(start, optimisers.initial_moments(ours, start)) for start in starts]
    state = optimisers.initial_moments(ours, together)
    for step in range(5):
        each = [drawn(10 * step + seed, torch.float64, 4.0**seed) for seed in range(3)]
        joint = {key: torch.stack([g[key] for g in each]) for key in SHAPES}
        joint, norms = optimisers.clip_gradients(joint, 2.0, seeds=True)
        together, state = optimisers.update_copies(ours, together, joint, state, 0.01)
        for seed, (parameters, own) in enumerate(alone):
            g, norm = optimisers.clip_gradients(each[seed], 2.0)
            assert norms[seed] == pytest.approx(float(norm), rel=1e-14)
            alone[seed] = optimisers.update_copies(ours, parameters, g, own, 0.01)
    for seed, (parameters, _) in enumerate(alone):
        for key in SHAPES:
            assert (together[key][seed] - parameters[key]).abs().max() < 1e-13


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_weight_decay_is_that_of_adamw_to_the_bit(dtype):
    now = drawn(0, dtype)
    leaves = {key: tensor.clone().requires_grad_() for key, tensor in now.items()}
    theirs = torch.optim.AdamW(leaves.values(), lr=0.03, weight_decay=0.5)
    ours = optimizer("adam", weight_decay=0.5)
    state = optimisers.initial_moments(ours, now)
    for step in range(5):
        gradients = drawn(step + 1, dtype)
        for key, leaf in leaves.items():
            leaf.grad = gradients[key].clone()
        theirs.step()
        now, state = optimisers.update_copies(ours, now, gradients, state, 0.03)
    assert all(torch.equal(now[key], leaf.detach()) for key, leaf in leaves.items())


@pytest.mark.parametrize("name", OPTIMISERS)
def test_averages_and_weight_decay_act_on_the_optimisers_that_have_them(name):
    def end(**changes):
        ours = optimizer(name, **changes)
        now = drawn(0, torch.float64)
        state = optimisers.initial_moments(ours, now)
        for step in range(3):
            now, state = optimisers.update_copies(
                ours, now, drawn(step + 1, torch.float64), state, 0.1
            )
        return now["matrix"]

    usual = end()
    for change, acts in (
        ({"momentum": 0.5}, name in {"sgd_momentum", "signum", "adam"}),
        ({"second": 0.5}, name in {"rmsprop", "adam"}),
        ({"weight_decay": 0.1}, True),
    ):
        assert torch.equal(end(**change), usual) == (not acts), change


@pytest.mark.parametrize("most", [0.5, 1.0, 100.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_clipping_to_the_bit(most, dtype):
    gradients = drawn(4, dtype)
    leaves = [torch.zeros_like(g).requires_grad_() for g in gradients.values()]
    for leaf, g in zip(leaves, gradients.values(), strict=True):
        leaf.grad = g.clone()
    norm = torch.nn.utils.clip_grad_norm_(leaves, most)
    found, length = optimisers.clip_gradients(gradients, most)
    assert torch.equal(norm, length)
    for leaf, g in zip(leaves, found.values(), strict=True):
        assert torch.equal(leaf.grad, g)


def test_the_first_step_of_rmsprop_is_ten_rates_and_adams_one():
    """RMSProp has no correction for its average's start at zero."""
    now = {"one": torch.zeros(3, dtype=torch.float64)}
    g = {"one": torch.tensor([1e-2, -1.0, 50.0], dtype=torch.float64)}
    for name, rates in (("rmsprop", 10.0), ("adam", 1.0)):
        ours = optimizer(name)
        moved, _ = optimisers.update_copies(
            ours, now, g, optimisers.initial_moments(ours, now), 1e-3
        )
        expected = -rates * 1e-3 * torch.sign(g["one"])
        assert (moved["one"] / expected - 1).abs().max() < 1e-5


def test_clipping_leaves_signs_alone():
    now, g = drawn(0, torch.float64), drawn(1, torch.float64, 50.0)
    ours = optimizer("signsgd")
    state = optimisers.initial_moments(ours, now)
    small, norm = optimisers.clip_gradients(g, 1.0)
    assert float(norm) > 50
    free, clipped = (optimisers.update_copies(ours, now, x, state, 0.1)[0] for x in (g, small))
    assert all(torch.equal(free[key], clipped[key]) for key in now)


def test_what_is_no_optimiser_is_refused():
    with pytest.raises(InputError, match="unknown optimiser lion"):
        optimisers.initial_moments(UpdateRule("lion"), {})
    for wrong in (UpdateRule("sgd", momentum=1.0), UpdateRule("adam", epsilon=-1.0)):
        with pytest.raises(InputError, match="averages are in"):
            optimisers.initial_moments(wrong, {})
