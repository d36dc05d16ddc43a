"""Prop. 4.1: the tangent kernel as P + F, exact at any parameters.

    Theta(x, x') = df(x)/dtheta df(x')/dtheta^T = P(x, x') + F(x, x'),  C x C for each pair
    P(x, x') = (<phi(x), phi(x')> + 1) I_C                               from V and b
    F(x, x') = V J(x) J(x')^T V^T, J = dphi/dtheta^phi [h, p]            from theta^phi

P is the pre-train-effective part, which linear probing leaves as it is; F is the FT-effective part.
Kernels of n and m inputs are [n, m, C, C]; `kernel_matrix` lays them out as [n C, m C]. Arguments
are phi with its parameters `body`, inputs x [n, ...] and `other` x' [m, ...], features [n, h] and
[m, h], Jacobians J [n, h, p] and [m, h, p], and V as `weight` [C, h].
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from transformer_dynamics.lp_ft.theory.networks import FeatureMap, Network


def feature_jacobian(
    feature_map: FeatureMap, body: Mapping[str, Tensor], inputs: Tensor
) -> dict[str, Tensor]:
    """Compute the Jacobian J of features: by name of a parameter, [n, h, ...] dphi(x)/dtheta."""

    def one(parameters: Mapping[str, Tensor], x: Tensor) -> Tensor:
        return feature_map(parameters, x[None])[0]

    jacobian = torch.func.vmap(torch.func.jacrev(one), in_dims=(None, 0))(dict(body), inputs)
    return dict(jacobian)


def flatten_jacobian(jacobian: Mapping[str, Tensor]) -> Tensor:
    """Return the Jacobian J with all parameters in one axis, [n, h, p]."""
    return torch.cat([part.flatten(2) for part in jacobian.values()], dim=2)


def feature_kernel(jacobian: Tensor, other: Tensor) -> Tensor:
    """Return Theta^phi(x, x') = J(x) J(x')^T, [n, m, h, h]."""
    return torch.einsum("nhp,mkp->nmhk", jacobian, other)


def pretrain_effective_kernel(features: Tensor, other: Tensor, classes: int) -> Tensor:
    """Return P(x, x') = (<phi(x), phi(x')> + 1) I_C, [n, m, C, C]."""
    gram = features @ other.T + 1
    return gram[:, :, None, None] * torch.eye(classes, dtype=gram.dtype, device=gram.device)


def ft_effective_kernel(feature_kernels: Tensor, weight: Tensor) -> Tensor:
    """Return F(x, x') = V Theta^phi(x, x') V^T, [n, m, C, C], from Theta^phi [n, m, h, h]."""
    return torch.einsum("ch,nmhk,dk->nmcd", weight, feature_kernels, weight)


def kernel_parts(network: Network, inputs: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    """Return the parts P and F of a network's kernel, each [n, m, C, C]."""
    first, second = (
        flatten_jacobian(feature_jacobian(network.map, network.body, x)) for x in (inputs, other)
    )
    classes = len(network.head.bias)
    p = pretrain_effective_kernel(network.features(inputs), network.features(other), classes)
    return p, ft_effective_kernel(feature_kernel(first, second), network.head.weight)


def kernel_matrix(kernel: Tensor) -> Tensor:
    """Lay out a kernel [n, m, C, D] as one matrix [n C, m D]."""
    return kernel.transpose(1, 2).flatten(2).flatten(0, 1)


def apply_kernel(kernel: Tensor, errors: Tensor) -> Tensor:
    """Return sum_i K(x, x_i) delta_i, [n, C], from K [n, m, C, D] and delta [m, D]."""
    return torch.einsum("nmcd,md->nc", kernel, errors)
