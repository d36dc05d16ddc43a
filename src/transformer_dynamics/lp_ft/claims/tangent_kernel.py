"""Prop. 4.1, Cor. 4.3 and what follows from them (Sec. 4.1 to 4.3), in float64."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from replication.base.random_streams import generator
from replication.study.evidence import Cases, evidence
from transformer_dynamics.encoders.head import Head
from transformer_dynamics.encoders.probe import probe
from transformer_dynamics.lp_ft.theory import ft_ratio, kernel, networks, ranks, updates
from transformer_dynamics.lp_ft.theory.networks import Network

NETWORKS = ("linear map", "perceptron", "transformer")
"""Feature maps on which statements are tried."""
TRAINED = (0, 5)
"""Numbers of steps of gradient descent after which Prop. 4.1 is tried."""
RATES = (1e-3, 1e-4, 1e-5)
"""Learning rates of one step, for the slope of its error."""
FACTORS = (0.1, 1.0, 10.0, 100.0)
"""Factors by which the head is multiplied."""
STEPS = (1, 100)
"""Numbers of steps of gradient descent, for Cor. 4.3."""
SAMPLES, OTHERS, CLASSES = 7, 3, 3
"""Number N of training inputs, number of other inputs, and number of classes C."""
STRENGTHS = (0.1, 1.0, 10.0)
"""Strengths C_reg of probes."""
OPTIMUM = 1e-11
"""Tolerance of probes: the largest entry of the gradient that is left."""
CONVERGED = 1e-9
"""Share of the largest singular value below which one is a zero of these small kernels."""


class Case(NamedTuple):
    """A network with inputs."""

    network: Network
    """Network f_0."""
    train: Tensor
    """[N, ...] Training inputs x_i."""
    labels: Tensor
    """[N] Classes y_i."""
    others: Tensor
    """[n, ...] Other inputs x."""


def draw_case(name: str) -> Case:
    """Draw a network, one of `NETWORKS`, and inputs."""
    random = torch.Generator().manual_seed(int(generator(0, name).integers(2**62)))
    labels = torch.arange(SAMPLES) % CLASSES
    number = SAMPLES + OTHERS
    if name == "transformer":
        network = networks.transformer_network(11, 5, 8, CLASSES, random)
        inputs = torch.randint(0, 11, (number, 5), generator=random)
    else:
        made = networks.linear_network if name == "linear map" else networks.perceptron_network
        network = made(12, 9, CLASSES, random)
        inputs = torch.randn((number, 12), generator=random, dtype=torch.float64)
    return Case(network, inputs[:SAMPLES], labels, inputs[SAMPLES:])


def literal_kernel(network: Network, inputs: Tensor, other: Tensor) -> Tensor:
    """Return [n, m, C, C] df(x)/dtheta df(x')/dtheta^T over all parameters, with the head's."""
    whole = {**network.body, "V": network.head.weight, "b": network.head.bias}

    def logits(parameters: Mapping[str, Tensor], x: Tensor) -> Tensor:
        features = network.map(parameters, x[None])[0]
        return parameters["V"] @ features + parameters["b"]

    jacobian = torch.func.vmap(torch.func.jacrev(logits), in_dims=(None, 0))
    first, second = (
        torch.cat([part.flatten(2) for part in jacobian(whole, x).values()], dim=2)
        for x in (inputs, other)
    )
    return torch.einsum("ncp,mdp->nmcd", first, second)


@evidence
def decomposition() -> Cases:
    """Yield the largest entry of Theta - P - F over the largest of Theta."""
    for name in NETWORKS:
        found = draw_case(name)
        for steps in TRAINED:
            network = updates.descend(found.network, found.train, found.labels, 0.05, steps)
            p, f = kernel.kernel_parts(network, found.others, found.train)
            theta = literal_kernel(network, found.others, found.train)
            yield (
                f"{name}, after {steps} steps",
                _largest_entry(theta - p - f) / _largest_entry(theta),
            )


@evidence
def order_of_the_error() -> Cases:
    """Yield the slope in ln eta of the relative error of (1) and (2) beside a real step."""
    for name in NETWORKS:
        network, train, labels, inputs = draw_case(name)
        predicted = {
            "logits": updates.logit_change(network, train, labels, inputs),
            "features": updates.feature_change(network, train, labels, inputs),
        }
        if name == "linear map":
            # Features of a linear map move as (2) says, whatever eta is.
            del predicted["features"]
        for what, change in predicted.items():
            wrong = []
            for eta in RATES:
                after = updates.descend(network, train, labels, eta)
                real = (getattr(after, what)(inputs) - getattr(network, what)(inputs)) / eta
                wrong.append(float((real - change).norm() / change.norm()))
            yield f"{name}, {what}", np.polyfit(np.log(RATES), np.log(wrong), 1)[0]


@evidence
def orders_in_the_norm() -> Cases:
    """Yield the slope in ln t of the terms of (1) and (2) for a head t V, minus the stated one.

    At the same delta: features move by t, the F term of logits by t^2, the P term not at all.
    """
    for name in NETWORKS:
        network, train, labels, inputs = draw_case(name)
        delta = updates.prediction_errors(network.logits(train), labels)
        sizes: dict[tuple[str, int], list[float]] = {}
        for factor in FACTORS:
            head = network.head.scaled(factor)
            p, f = kernel.kernel_parts(network._replace(head=head), inputs, train)
            first, second = (
                kernel.flatten_jacobian(kernel.feature_jacobian(network.map, network.body, x))
                for x in (inputs, train)
            )
            terms = {
                ("features", 1): (kernel.feature_kernel(first, second), delta @ head.weight),
                ("F term", 2): (f, delta),
                ("P term", 0): (p, delta),
            }
            for key, (block, right) in terms.items():
                sizes.setdefault(key, []).append(float(kernel.apply_kernel(block, right).norm()))
        for (what, order), size in sizes.items():
            slope = np.polyfit(np.log(FACTORS), np.log(size), 1)[0]
            yield f"{name}, {what}, order {order}", slope - order


@evidence
def orthogonal_features() -> Cases:
    """Yield the change of features of inputs orthogonal to those of training, over their length."""
    network, train, labels, _ = draw_case("linear map")
    orthogonal = torch.linalg.qr(train.T, mode="complete").Q[:, SAMPLES:].T
    before = network.features(orthogonal)
    for steps in STEPS:
        after = updates.descend(network, train, labels, 0.01, steps).features(orthogonal)
        change = (after - before).norm(dim=1) / before.norm(dim=1)
        yield f"{steps} step{'s' * (steps > 1)}", change.max()


@evidence
def products_instead_of_kernels() -> Cases:
    """Yield the error of both terms of an FT ratio by one gradient and one product.

    It is the largest error of an entry, over the largest entry.
    """
    for name in NETWORKS:
        network, train, labels, _ = draw_case(name)
        slow = ft_ratio.terms_by_kernel(network, train, labels)
        fast = ft_ratio.terms_by_products(network.map, network.body, network.head, train, labels)
        for term, exact, found in zip("PF", slow, fast, strict=True):
            yield f"{name}, {term} term", _largest_entry(found - exact) / _largest_entry(exact)


@evidence
def p_term_at_the_optimum() -> Cases:
    """Yield the deviation of the probe's P term on its own samples from V phi/C_reg.

    It is the largest deviation of an entry, over the largest entry.
    """
    for name in NETWORKS:
        network, train, labels, _ = draw_case(name)
        features = network.features(train)
        for strength in STRENGTHS:
            found = probe(features.numpy(), labels.numpy(), CLASSES, strength, OPTIMUM)
            head = Head(torch.from_numpy(found.weight), torch.from_numpy(found.bias))
            delta = updates.prediction_errors(head.logits(features), labels)
            term = ft_ratio.p_term(features, features, delta)
            expected = ft_ratio.optimal_p_term(head, features, strength)
            yield (
                f"{name}, C_reg = {strength:g}",
                _largest_entry(term - expected) / _largest_entry(expected),
            )


@evidence
def rank_caps() -> Cases:
    """Yield the rank of F over N rank V, and that of P over C min(N, h + 1)."""
    network, train, _, _ = draw_case("perceptron")
    weight = network.head.weight
    heads = {
        "a random head": weight,
        "a multinomial probe": weight - weight.mean(0),
        "a binary probe": torch.stack([-weight[0], weight[0]]) / 2,
    }
    for name, each in heads.items():
        head = Head(each, torch.zeros(len(each), dtype=each.dtype))
        blocks = kernel.kernel_parts(network._replace(head=head), train, train)
        p, f = (kernel.kernel_matrix(block).numpy() for block in blocks)
        largest = len(each) * min(SAMPLES, each.shape[1] + 1)
        yield f"P with {name}", ranks.numerical_rank(p, CONVERGED) / largest
        cap = ranks.f_rank_cap(each.numpy(), SAMPLES)
        yield f"F with {name}", ranks.numerical_rank(f, CONVERGED) / cap


@evidence
def least_eigenvalue() -> Cases:
    """Yield the least eigenvalue of P and of F over the largest."""
    for name in NETWORKS:
        network, train, _, _ = draw_case(name)
        for which, block in zip("PF", kernel.kernel_parts(network, train, train), strict=True):
            spectrum = torch.linalg.eigvalsh(kernel.kernel_matrix(block))
            yield f"{name}, {which}", spectrum[0] / spectrum[-1]


def _largest_entry(values: Tensor) -> float:
    return float(values.abs().max())
