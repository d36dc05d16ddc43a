"""Training against loops written out with PyTorch, and in other coordinates."""

from itertools import pairwise
from math import exp, isnan
from types import SimpleNamespace

import configured
import numpy as np
import pytest
import torch
from small_training import BLOCKS, OPTIMISERS, SHAPES, logits, net, training

from transformer_dynamics.gradient_heterogeneity.data.batches import batch_indices, slice_indices
from transformer_dynamics.gradient_heterogeneity.metrics import endpoint
from transformer_dynamics.gradient_heterogeneity.training import coordinates as measured_coordinates
from transformer_dynamics.gradient_heterogeneity.training.coordinates import (
    BlockMeasurement,
    Coordinates,
)
from transformer_dynamics.gradient_heterogeneity.training.loop import train_steps
from transformer_dynamics.gradient_heterogeneity.training.record import rate_share, recorded_steps
from transformer_dynamics.gradient_heterogeneity.training.state import (
    initial_state,
    restore_state,
    save_state,
    step_directions,
)

SCALES = dict(zip(SHAPES, (2.0, 0.3, 1.7, 0.6, 1.1), strict=True))


def run(settings, network=None, seed=1, own=None, after=None):
    """The state in the end, or after some steps."""
    network, own = network or net(), own or Coordinates()
    state = initial_state(settings.update_rule, network, own)
    for _ in train_steps(settings, seed, network, own, state):
        if state.step == after:
            break
    return state


class Signs(torch.optim.Optimizer):
    """As released: buf = beta buf + (1 - beta) g, then a step of lr sign(buf)."""

    def __init__(self, leaves, lr, momentum=0.0):
        super().__init__(leaves, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                g = p.grad
                if group["momentum"]:
                    state = self.state[p].setdefault("buf", torch.zeros_like(p))
                    g = state.mul_(group["momentum"]).add_(g, alpha=1 - group["momentum"])
                p.add_(g.sign(), alpha=-group["lr"])


LITERAL = {
    "sgd": torch.optim.SGD,
    "sgd_momentum": lambda leaves, lr: torch.optim.SGD(leaves, lr=lr, momentum=0.9),
    "signsgd": Signs,
    "signum": lambda leaves, lr: Signs(leaves, lr, 0.9),
    "rmsprop": torch.optim.RMSprop,
    "adam": torch.optim.Adam,
}


@pytest.mark.parametrize("schedule", ["linear", "cosine"])
@pytest.mark.parametrize("clip", [None, 0.5])
@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_steps_are_those_of_a_loop_of_pytorch(optimiser, clip, schedule):
    network, settings = net(), training(optimiser, clip=clip, schedule=schedule)
    state = run(settings, network)
    leaves = {name: tensor.clone().requires_grad_() for name, tensor in network.start.items()}
    literal = LITERAL[optimiser](leaves.values(), lr=1.0)
    for step in range(8):
        batch = network.train.take(batch_indices(1, step, 6, 20))
        loss = torch.nn.functional.cross_entropy(
            logits(leaves, batch), torch.from_numpy(batch.labels)
        )
        literal.zero_grad()
        loss.backward()
        norm = torch.sqrt(sum((leaf.grad**2).sum() for leaf in leaves.values()))
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(leaves.values(), clip)
        ahead = 1 - step / 8
        given = ahead if schedule == "linear" else (1 + np.cos(np.pi * step / 8)) / 2
        literal.param_groups[0]["lr"] = 1e-2 * given
        literal.step()
        assert state.losses[step] == pytest.approx(loss.item(), rel=1e-12)
        assert state.norms[step] == pytest.approx(float(norm), rel=1e-12)
    for name, leaf in leaves.items():
        assert torch.allclose(state.parameters[name], leaf, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("schedule", ["linear", "constant", "cosine", "warmup"])
@pytest.mark.parametrize("steps", [1, 7, 20, 300])
@pytest.mark.parametrize("warm_up", [0.1, 0.25])
def test_schedules_are_those_of_the_trainer(schedule, steps, warm_up):
    transformers = pytest.importorskip("transformers")
    name = "linear" if schedule == "warmup" else schedule
    rising = int(np.ceil(warm_up * steps)) if schedule == "warmup" else 0
    literal = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    extra = {} if schedule == "constant" else {"num_training_steps": steps}
    known = transformers.get_scheduler(name, literal, num_warmup_steps=rising, **extra)
    for step in range(steps):
        found = rate_share(schedule, step, steps, warm_up)
        assert found == pytest.approx(known.get_last_lr()[0], abs=1e-12)
        literal.step()
        known.step()


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_other_coordinates_are_rates_of_blocks(optimiser):
    """theta_b = s_b theta'_b: eta s_b^2 for gradients, eta s_b for signs."""
    settings = training(optimiser, clip=None, epsilon=1e-300, steps=30)
    own = Coordinates(scales=SCALES)
    moved = own.scale(run(settings, own=own).parameters)
    power = 2 if optimiser in {"sgd", "sgd_momentum"} else 1
    rates = {name: scale**power for name, scale in SCALES.items()}
    expected = run(settings, own=Coordinates(rates=rates)).parameters
    plain = run(settings).parameters
    for name, tensor in expected.items():
        assert (moved[name] - tensor).abs().max() < 1e-12 * tensor.abs().max()
        assert (moved[name] - plain[name]).abs().max() > 1e-4


def test_gradients_of_other_coordinates_are_autograds():
    own, network = Coordinates(scales=SCALES), net()
    inner = {name: tensor.requires_grad_() for name, tensor in own.unscale(network.start).items()}
    batch = network.train.take(np.arange(6))
    outer = {name: SCALES[name] * tensor for name, tensor in inner.items()}
    loss = network.loss(outer, batch)
    literal = torch.autograd.grad(loss, list(inner.values()))
    _, gradients = network.gradients(network.start, batch)
    for found, expected in zip(own.scale(gradients).values(), literal, strict=True):
        assert torch.allclose(found, expected, rtol=1e-13)


def test_clipping_is_that_of_the_coordinates():
    settings = training("sgd", clip=1e-3, steps=1)
    own = Coordinates(scales=SCALES)
    state = run(settings, own=own)
    before = own.unscale(net().start)
    step = {name: state.parameters[name] - before[name] for name in SHAPES}
    length = torch.sqrt(sum((each**2).sum() for each in step.values()))
    assert float(length) == pytest.approx(1e-3 * 1e-2, rel=1e-2)


def test_coordinates_and_rates_follow_what_is_measured():
    found = BlockMeasurement(
        np.array([7.0, 1.0, 4.0, 2.0, 1.0]), np.array([0.0, 4.0, 2.0, 1.0, 800.0])
    )
    network = net()
    given = measured_coordinates.block_coordinates(training(exponent=0.5), network, found)
    density = found.norms / np.sqrt([block.size for block in BLOCKS.values()])
    for name, each in zip(SHAPES, density, strict=True):
        assert given.scales[name] == exp(0.5 if each > np.median(density) else -0.5)
    assert not given.rates
    given = measured_coordinates.block_coordinates(training(block_rates=True), network, found)
    # The median is that of 0, 4 and 1, as two blocks are biases.
    assert [*given.rates.values()] == pytest.approx([100, 1 / 4, 1 / 2, 1, 1 / 800])
    assert not given.scales
    near = training(block_rates=True, blocks=configured.BLOCKS.model_copy(update={"limit": 10}))
    given = measured_coordinates.block_coordinates(near, network, found)
    assert [*given.rates.values()] == pytest.approx([10, 1 / 4, 1 / 2, 1, 1 / 800])


def test_nothing_is_measured_that_is_not_needed():
    found = measured_coordinates.measure_blocks(training(), net(), 1)
    assert np.isnan(found.norms).all()
    assert np.isnan(found.curvatures).all()


def test_curvatures_and_norms_are_those_of_dense_matrices():
    network = net()
    found = measured_coordinates.curvatures(network, 1, 6, configured.BLOCKS)
    batch = network.train.take(batch_indices(1, 0, 6, 20))
    for name, value in zip(SHAPES, found, strict=True):
        flat = network.start[name].flatten()

        def loss(x, name=name):
            return network.loss({**network.start, name: x.reshape(SHAPES[name])}, batch)

        top = torch.linalg.eigvalsh(torch.autograd.functional.hessian(loss, flat))[-1]
        assert value == pytest.approx(max(float(top), 0), rel=0.02, abs=1e-9)
    norms = measured_coordinates.gradient_norms(network, 1, 6, batches=3)
    squares = [
        [float((g**2).sum()) for g in network.gradients(
            network.start, network.train.take(batch_indices(1, step, 6, 20)))[1].values()]
        for step in range(3)
    ]  # fmt: skip
    assert norms == pytest.approx(np.sqrt(np.mean(squares, axis=0)), rel=1e-12)


def test_a_tensor_without_gradient_has_no_curvature():
    network = net()
    forward = network.forward
    alone = type(network)(
        **vars(network)
        | {
            "forward": lambda theta, *rest: forward(
                {**theta, "table": network.start["table"]}, *rest
            )
        }
    )
    assert measured_coordinates.curvatures(alone, 1, 6, configured.BLOCKS)[0] == 0


@pytest.mark.parametrize(
    ("optimiser", "change"),
    [
        ("signum", {"momentum": 0.5}),
        ("rmsprop", {"second": 0.5}),
        ("adam", {"second": 0.5}),
        ("sgd", {"weight_decay": 0.1}),
        ("sgd", {"warm_up": 0.5}),
    ],
)
def test_constants_of_trainings_act(optimiser, change):
    usual, other = (
        run(training(optimiser, schedule="warmup", **given)).parameters for given in ({}, change)
    )
    assert max((usual[name] - other[name]).abs().max() for name in SHAPES) > 1e-6


def test_coordinates_follow_as_many_batches_as_are_asked_for():
    found = [
        measured_coordinates.measure_blocks(
            training(exponent=1, blocks=configured.BLOCKS.model_copy(update={"batches": number})),
            net(), 1,
        ).norms
        for number in (1, 3)
    ]  # fmt: skip
    for number, norms in zip((1, 3), found, strict=True):
        expected = measured_coordinates.gradient_norms(net(), 1, 6, number)
        assert norms.tolist() == expected.tolist()
    assert not np.allclose(*found)


def test_frozen_tensors_stay():
    frozen = net().freeze("embedding")
    state = run(training("signum"), frozen)
    assert "table" not in state.parameters
    assert {*state.moments.first} == {*SHAPES} - {"table"}
    free = run(training("signum"))
    assert (free.parameters["table"] - net().start["table"]).abs().max() > 0


def test_full_batches_have_all_samples():
    state = run(training("sgd", batch_size="full", clip=None, steps=1, rate=0.5))
    network = net()
    loss, gradients = network.gradients(network.start, network.train)
    assert state.losses[0] == pytest.approx(loss, rel=1e-13)
    for name, gradient in gradients.items():
        expected = network.start[name] - 0.5 * gradient
        assert torch.allclose(state.parameters[name], expected, rtol=1e-12)


def test_batches_are_orders_of_all_samples_one_after_another():
    for size in (6, 20, 33):
        stream = np.concatenate([batch_indices(3, step, size, 20) for step in range(20)])
        for epoch in range(len(stream) // 20):
            assert sorted(stream[20 * epoch : 20 * (epoch + 1)]) == list(range(20))
    orders = [stream[20 * epoch : 20 * (epoch + 1)].tolist() for epoch in range(5)]
    assert all(one != other for one, other in pairwise(orders))
    assert (batch_indices(4, 0, 20, 20) != batch_indices(3, 0, 20, 20)).any()


def test_points_and_the_slice():
    assert recorded_steps(300, 4).tolist() == [0, 75, 150, 225, 300]
    assert recorded_steps(3, 2).tolist() == [0, 2, 3]
    assert recorded_steps(2, 5).tolist() == [0, 1, 2]
    assert len(np.unique(slice_indices(10, 20))) == 10
    assert slice_indices(30, 20).tolist() == list(range(20))


def test_what_is_looked_at():
    network, settings = net(), training("adam", steps=6, points=2)
    state = run(settings, network)
    assert len(state.looks) == len(state.directions) == 3
    judged = network.train.take(slice_indices(10, 20))
    loss, accuracy, mean, common, centred, total = state.looks[-1]
    last = state.parameters
    literal = torch.nn.functional.cross_entropy(
        logits(last, judged), torch.from_numpy(judged.labels)
    )
    assert loss == pytest.approx(float(literal), rel=1e-12)
    right = logits(last, judged).argmax(1).numpy() == judged.labels
    assert accuracy == right.mean()
    rows = last["head"].mean(dim=0)
    assert mean == pytest.approx(float(last["head_bias"].mean()), rel=1e-12)
    assert common == pytest.approx(3**0.5 * float(rows.norm()), rel=1e-12)
    assert centred == pytest.approx(float((last["head"] - rows).norm()), rel=1e-12)
    assert total == pytest.approx(float(last["head"].norm()), rel=1e-12)
    assert all(map(isnan, state.directions[0]))
    assert network.predict(last, judged).tolist() == logits(last, judged).argmax(1).tolist()
    assert network.predict(last, judged.take(np.arange(0))).shape == (0,)


def test_the_head_is_found():
    assert net().head_names == ("head", "head_bias")


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_directions_are_cosines_of_steps(optimiser):
    """Of SignSGD 1; of the rest those of the difference of parameters over the step."""
    settings = training(optimiser, steps=5, points=5, clip=None, schedule="constant")
    state, before = run(settings), run(settings, after=4)
    network = net()
    _, g = network.gradients(before.parameters, network.train.take(batch_indices(1, 4, 6, 20)))
    for place, names in enumerate((list(SHAPES), [n for n in SHAPES if n != "table"])):
        step = torch.cat([(state.parameters[n] - before.parameters[n]).flatten() for n in names])
        signs = torch.cat([-g[n].sign().flatten() for n in names])
        own, gradient = state.directions[5][2 * place : 2 * place + 2]
        # A step may be so small that nothing is left of it in the parameters.
        moved = step * (step.abs() > 1e-14)
        for found, other in ((own, moved.sign()), (gradient, signs)):
            cosine = torch.nn.functional.cosine_similarity(moved, other, dim=0)
            assert found == pytest.approx(float(cosine), abs=1e-4)
    if optimiser == "signsgd":
        assert state.directions[5] == pytest.approx([1, 1, 1, 1])
    if optimiser == "sgd":
        assert state.directions[5][0] == pytest.approx(state.directions[5][1], rel=1e-12)


def test_a_step_of_length_zero_has_no_direction():
    still = {name: torch.zeros(shape) for name, shape in SHAPES.items()}
    assert all(map(isnan, step_directions(still, still, BLOCKS)))


def test_dropout_is_that_of_the_step():
    one, other = run(training("sgd"), net(dropout=True)), run(training("adam"), net(dropout=True))
    assert one.losses[0] == other.losses[0] != run(training("sgd")).losses[0]
    assert run(training("sgd"), net(dropout=True), seed=2).losses[0] != one.losses[0]


@pytest.mark.parametrize("after", [1, 4, 7])
@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_a_kept_state_goes_on_to_the_same_bits(optimiser, after):
    settings, own = training(optimiser), Coordinates(scales=SCALES)
    whole = run(settings, net(dropout=True), own=own)
    network = net(dropout=True)
    found = save_state(run(settings, network, own=own, after=after), network)
    again = restore_state(network, {name: np.array(value) for name, value in found.items()})
    assert again.step == after
    for _ in train_steps(settings, 1, network, own, again):
        pass
    for name, values in whole.curves().items():
        assert again.curves()[name].tobytes() == values.tobytes(), name
    for name, tensor in whole.parameters.items():
        assert torch.equal(again.parameters[name], tensor)


def test_lost_training_is_noted():
    settings = training("sgd", clip=None, schedule="constant", steps=6, points=3)
    state = run(settings.model_copy(update={"rate": 1e308}))
    assert len(state.losses) == len(state.norms) == 6
    assert np.isfinite(state.losses[0])
    assert np.isnan(state.losses[-1])
    assert len(state.looks) == len(state.directions) == 4
    assert all(map(isnan, state.directions[-1]))


@pytest.mark.parametrize(
    ("steps", "parts", "last"), [(60, 6, 10), (200, 6, 34), (3, 6, 1), (60, 4, 15)]
)
def test_the_training_loss_is_of_the_last_part_of_all_batches(monkeypatch, steps, parts, last):
    losses = np.linspace(2.0, 1.0, steps)
    arrays = {
        "points": np.array([0, steps]),
        "losses": losses,
        "looks": np.array([[1.8, 0.2], [0.9, 0.7]]),
        "classes": np.array(6),
    }
    run = SimpleNamespace(columns={"seed": 1}, arrays=arrays)
    monkeypatch.setattr(endpoint, "read_runs", lambda job, runs: [run])
    table = endpoint.measure(SimpleNamespace(parts=parts), [], [])
    assert np.isnan(table["training_loss"][0])
    assert table["training_loss"][1] == pytest.approx(losses[-last:].mean())
    assert list(table["endpoint"]) == [1.8, 0.9]
    assert list(table["is_last"]) == [False, True]
