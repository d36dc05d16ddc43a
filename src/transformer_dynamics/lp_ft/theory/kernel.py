"""Prop. 4.1: the tangent kernel as P + F, exact at any parameters.

    Theta(x, x') = df(x)/dtheta df(x')/dtheta^T = P(x, x') + F(x, x'),  C x C for each pair
    P(x, x') = (<phi(x), phi(x')> + 1) I_C                               from V and b
    F(x, x') = V J(x) J(x')^T V^T, J = dphi/dtheta^phi [h, p]            from theta^phi

P is the pre-train-effective part, which linear probing leaves as it is; F is the FT-effective part.
Kernels of n and m inputs are [n, m, C, C]; `matrix` lays them out as [n C, m C].
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from transformer_dynamics.lp_ft.theory.networks import FeatureMap, Network


def feature_jacobian(
    feature_map: FeatureMap, body: Mapping[str, Tensor], inputs: Tensor
) -> dict[str, Tensor]:
    """J of each input, by parameter.

    Args:
        feature_map: phi.
        body: theta^phi.
        inputs: [n, ...] x.

    Returns:
        By name [n, h, ...] dphi(x)/dtheta.
    """

    def one(parameters: Mapping[str, Tensor], x: Tensor) -> Tensor:
        return feature_map(parameters, x[None])[0]

    jacobian = torch.func.vmap(torch.func.jacrev(one), in_dims=(None, 0))(dict(body), inputs)
    return dict(jacobian)


def flattened(jacobian: Mapping[str, Tensor]) -> Tensor:
    """J with all parameters in one axis, [n, h, p]."""
    return torch.cat([part.flatten(2) for part in jacobian.values()], dim=2)


def feature_kernel(jacobian: Tensor, other: Tensor) -> Tensor:
    """Theta^phi(x, x') = J(x) J(x')^T.

    Args:
        jacobian: [n, h, p] J(x).
        other: [m, h, p] J(x').

    Returns:
        [n, m, h, h].
    """
    return torch.einsum("nhp,mkp->nmhk", jacobian, other)


def pretrain_effective(features: Tensor, other: Tensor, classes: int) -> Tensor:
    """P(x, x') = (<phi(x), phi(x')> + 1) I_C.

    Args:
        features: [n, h] phi(x).
        other: [m, h] phi(x').
        classes: C.

    Returns:
        [n, m, C, C].
    """
    gram = features @ other.T + 1
    return gram[:, :, None, None] * torch.eye(classes, dtype=gram.dtype, device=gram.device)


def ft_effective(feature_kernels: Tensor, weight: Tensor) -> Tensor:
    """F(x, x') = V Theta^phi(x, x') V^T.

    Args:
        feature_kernels: [n, m, h, h] Theta^phi.
        weight: [C, h] V.

    Returns:
        [n, m, C, C].
    """
    return torch.einsum("ch,nmhk,dk->nmcd", weight, feature_kernels, weight)


def parts(network: Network, inputs: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    """P and F of a network.

    Args:
        network: f, at any parameters.
        inputs: [n, ...] x.
        other: [m, ...] x'.

    Returns:
        P and F, each [n, m, C, C].
    """
    first, second = (
        flattened(feature_jacobian(network.map, network.body, x)) for x in (inputs, other)
    )
    classes = len(network.head.bias)
    p = pretrain_effective(network.features(inputs), network.features(other), classes)
    return p, ft_effective(feature_kernel(first, second), network.head.weight)


def matrix(kernel: Tensor) -> Tensor:
    """A kernel as one matrix: [n, m, C, D] to [n C, m D]."""
    return kernel.transpose(1, 2).flatten(2).flatten(0, 1)


def applied(kernel: Tensor, errors: Tensor) -> Tensor:
    """sum_i K(x, x_i) delta_i.

    Args:
        kernel: [n, m, C, D] K.
        errors: [m, D] delta_i.

    Returns:
        [n, C].
    """
    return torch.einsum("nmcd,md->nc", kernel, errors)
