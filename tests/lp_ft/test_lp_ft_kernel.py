"""Prop. 4.1 and what follows from it, against autograd on the whole network."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import linregress

from transformer_dynamics.encoders.head import Head
from transformer_dynamics.lp_ft.theory import kernel, networks, updates
from transformer_dynamics.lp_ft.theory.networks import Network


def random(seed=0):
    return torch.Generator().manual_seed(seed)


def normal(*shape, seed=1):
    return torch.randn(shape, generator=random(seed), dtype=torch.float64)


def case(name):
    """A network, 7 training inputs with labels and 3 others."""
    labels = torch.tensor([0, 1, 2, 0, 1, 2, 2])
    if name == "transformer":
        tokens = torch.randint(0, 11, (10, 5), generator=random(3))
        return networks.transformer_network(11, 5, 8, 3, random()), tokens[:7], labels, tokens[7:]
    inputs = normal(10, 5)
    network = {"perceptron": networks.perceptron_network, "linear": networks.linear_network}[name](
        5, 6, 3, random()
    )
    return network, inputs[:7], labels, inputs[7:]


def whole_jacobian(network, inputs):
    """df(x)/dtheta of every parameter, head included, [n, C, all], input by input."""
    named = {**network.body, "V": network.head.weight, "b": network.head.bias}

    def logits(x, *tensors):
        given = dict(zip(named, tensors, strict=True))
        head = Head(given.pop("V"), given.pop("b"))
        return head.logits(network.map(given, x[None]))[0]

    rows = []
    for x in inputs:
        found = torch.autograd.functional.jacobian(
            lambda *tensors, x=x: logits(x, *tensors), tuple(named.values())
        )
        rows.append(torch.cat([part.flatten(1) for part in found], dim=1))
    return torch.stack(rows)


CASES = ["linear", "perceptron", "transformer"]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("trained", [0, 5])
def test_the_kernel_is_p_plus_f_at_any_parameters(name, trained):
    network, train, labels, inputs = case(name)
    network = updates.descend(network, train, labels, 0.05, trained)
    p, f = kernel.kernel_parts(network, inputs, train)
    exact = torch.einsum(
        "ncp,mdp->nmcd", whole_jacobian(network, inputs), whole_jacobian(network, train)
    )
    assert (p + f - exact).abs().max() <= 1e-12 * exact.abs().max()
    assert p.abs().max() > 0.01 * exact.abs().max() < 100 * f.abs().max()
    assert torch.equal(p[0, 0], p[0, 0, 0, 0] * torch.eye(3, dtype=torch.float64))


def test_probing_leaves_p_as_it_is_and_changes_f():
    network, train, _, _ = case("perceptron")
    probed = network._replace(head=Head(normal(3, 6, seed=5), normal(3, seed=6)))
    before, after = (kernel.kernel_parts(each, train, train) for each in (network, probed))
    assert torch.equal(before[0], after[0])
    assert (before[1] - after[1]).abs().max() > 0.1


def test_the_matrix_of_a_kernel_keeps_samples_and_classes_together():
    network, train, _, inputs = case("perceptron")
    _, f = kernel.kernel_parts(network, inputs, train)
    laid_out = kernel.kernel_matrix(f)
    assert laid_out.shape == (9, 21)
    assert laid_out[1 * 3 + 2, 4 * 3 + 1] == f[1, 4, 2, 1]
    square = kernel.kernel_matrix(kernel.kernel_parts(network, train, train)[1])
    assert torch.linalg.eigvalsh(square).min() > -1e-12 * square.abs().max()
    delta = normal(7, 3, seed=9)
    assert torch.allclose(
        kernel.apply_kernel(f, delta).flatten(), laid_out @ delta.flatten(), rtol=1e-12
    )


@pytest.mark.parametrize("name", ["perceptron", "transformer"])
def test_a_real_step_differs_from_the_linearised_one_by_its_rate(name):
    """Relative errors of (1) and (2) are O(eta): their slope in log eta is 1."""
    network, train, labels, inputs = case(name)
    rates = [1e-3, 1e-4, 1e-5]
    predicted = {
        "logits": updates.logit_change(network, train, labels, inputs),
        "features": updates.feature_change(network, train, labels, inputs),
    }
    for what, change in predicted.items():
        wrong = []
        for eta in rates:
            after = updates.descend(network, train, labels, eta)
            real = (getattr(after, what)(inputs) - getattr(network, what)(inputs)) / eta
            wrong.append(float((real - change).norm() / change.norm()))
        assert wrong[0] < 0.1
        assert linregress(np.log(rates), np.log(wrong)).slope == pytest.approx(1, abs=0.1)


def test_a_step_is_one_of_gradient_descent_on_the_summed_loss():
    network, train, labels, _ = case("transformer")
    body = {name: value.clone().requires_grad_() for name, value in network.body.items()}
    head = Head(*(tensor.clone().requires_grad_() for tensor in network.head))
    logits = head.logits(network.map(body, train))
    loss = -torch.log_softmax(logits, 1)[torch.arange(7), labels].sum()
    loss.backward()
    after = updates.descend(network, train, labels, 0.01)
    for name, tensor in body.items():
        assert torch.allclose(after.body[name], tensor - 0.01 * tensor.grad, rtol=1e-12, atol=1e-14)
    for found, tensor in zip(after.head, head, strict=True):
        assert torch.allclose(found, tensor - 0.01 * tensor.grad, rtol=1e-12, atol=1e-14)


def test_features_orthogonal_to_the_training_inputs_stay():
    """Cor. 4.3, for any number of steps."""
    network = networks.linear_network(12, 6, 3, random())
    train, labels = normal(7, 12), torch.tensor([0, 1, 2, 0, 1, 2, 2])
    basis = torch.linalg.qr(train.T, mode="complete").Q
    orthogonal, inside = basis[:, 7:].T, basis[:, :7].T
    after = updates.descend(network, train, labels, 0.01, 100)
    assert float(after.head.norm) > 1.05 * network.head.norm
    scale = network.features(orthogonal).norm()
    assert (after.features(orthogonal) - network.features(orthogonal)).norm() <= 1e-12 * scale
    assert (after.features(inside) - network.features(inside)).norm() > 1e-2 * scale


def test_a_longer_head_moves_features_linearly_and_f_quadratically():
    """V -> t V at fixed delta: features by t, the F part of logits by t^2, the P part by 1."""
    network, train, labels, inputs = case("perceptron")
    delta = updates.prediction_errors(network.logits(train), labels)
    factors = np.array([0.1, 1, 10, 100])
    sizes = {"features": [], "f": [], "p": []}
    for t in factors:
        scaled = network._replace(head=network.head.scaled(t))
        p, f = kernel.kernel_parts(scaled, inputs, train)
        jacobians = [
            kernel.flatten_jacobian(kernel.feature_jacobian(network.map, network.body, x))
            for x in (inputs, train)
        ]
        moved = kernel.apply_kernel(kernel.feature_kernel(*jacobians), delta @ scaled.head.weight)
        for name, value in {
            "features": moved,
            "f": kernel.apply_kernel(f, delta),
            "p": kernel.apply_kernel(p, delta),
        }.items():  # fmt: skip
            sizes[name].append(float(value.norm()))
    slopes = {name: linregress(np.log(factors), np.log(size)).slope for name, size in sizes.items()}
    assert slopes == pytest.approx({"features": 1, "f": 2, "p": 0}, abs=1e-9)


def test_a_networks_parameters_are_as_large_as_they_should_be():
    network = networks.perceptron_network(400, 300, 4, random())
    assert float(network.body["W_1"].norm()) == pytest.approx(math.sqrt(300), rel=0.02)
    assert isinstance(network, Network)
    assert all(tensor.dtype == torch.float64 for tensor in network.body.values())
