"""The FT ratio of Sec. 5.3 and why it is large after linear probing.

    FT ratio = mean_x ||sum_i F(x, x_i) delta_i||/||sum_i (P + F)(x, x_i) delta_i||

over the samples of the kernel themselves; it may exceed 1. It needs no kernel. With one gradient of
a batch, g, one Jacobian-vector product and sums,

    g = sum_i J_i^T V^T delta_i
    sum_i F(x, x_i) delta_i = V J(x) g
    sum_i P(x, x_i) delta_i = (sum_i delta_i phi_i^T) phi(x) + sum_i delta_i

Two things make it large. (a) The length of the head: F grows with ||V||^2, P does not. (b) The
optimality of the probe: with penalty ||V||^2/2 + C_reg sum_i CE_i and a free b, at the optimum
sum_i delta_i = 0 and sum_i delta_i phi_i^T = V/C_reg. If the kernel's samples are those of the
probe, then sum_i P(x, x_i) delta_i = V phi(x)/C_reg, which is small.
"""

import warnings
from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from transformer_dynamics.encoders.head import Head
from transformer_dynamics.lp_ft.theory.kernel import apply_kernel, kernel_parts
from transformer_dynamics.lp_ft.theory.networks import FeatureMap, Network
from transformer_dynamics.lp_ft.theory.updates import prediction_errors


class Terms(NamedTuple):
    """The two parts of the change of the logits of each sample, for eta = 1."""

    p: Tensor
    """[n, C] P term, sum_i P(x, x_i) delta_i."""
    f: Tensor
    """[n, C] F term, sum_i F(x, x_i) delta_i."""

    @property
    def ratio(self) -> float:
        """FT ratio, the mean over samples of ||F term||/||P term + F term||."""
        whole = torch.linalg.vector_norm(self.p + self.f, dim=1)
        return float((torch.linalg.vector_norm(self.f, dim=1) / whole).mean())


def terms_by_kernel(network: Network, inputs: Tensor, labels: Tensor) -> Terms:
    """Return both terms from P and F as matrices, of inputs x_i [n, ...] with classes y_i [n]."""
    p, f = kernel_parts(network, inputs, inputs)
    delta = prediction_errors(network.logits(inputs), labels)
    return Terms(apply_kernel(p, delta), apply_kernel(f, delta))


def terms_by_products(
    feature_map: FeatureMap, body: Mapping[str, Tensor], head: Head, inputs: Tensor, labels: Tensor
) -> Terms:
    """Return both terms from one gradient and one Jacobian-vector product, of any encoder.

    `feature_map` gives phi of all inputs x_i [n, ...] from `body`, theta^phi; labels y_i are [n].
    """
    here = dict(body)

    def phi(parameters: dict[str, Tensor]) -> Tensor:
        return feature_map(parameters, inputs)

    features, pull = torch.func.vjp(phi, here)[:2]
    delta = prediction_errors(head.logits(features), labels)
    (gradient,) = pull(delta @ head.weight)
    with warnings.catch_warnings():
        # PyTorch's own rules for forward mode go through its torch.jit, which it calls deprecated.
        warnings.simplefilter("ignore", DeprecationWarning)
        moved = torch.func.jvp(phi, (here,), (gradient,))[1]
    return Terms(p_term(features, features, delta), moved @ head.weight.T)


def p_term(features: Tensor, train: Tensor, delta: Tensor) -> Tensor:
    """Return sum_i P(x, x_i) delta_i = (sum_i delta_i phi_i^T) phi(x) + sum_i delta_i, [n, C].

    `features` are phi(x) [n, h], `train` phi_i [N, h], `delta` delta_i [N, C].
    """
    return features @ (delta.T @ train).T + delta.sum(0)


def optimal_p_term(head: Head, features: Tensor, strength: float) -> Tensor:
    """Return V phi(x)/C_reg, [n, C]: `p_term` at the optimum of the probe on the same samples.

    `head` is the probe, `strength` its C_reg; features phi(x) are [n, h].
    """
    return features @ head.weight.T / strength


def ratio_of_norms(p_norm: float, f_norm: float) -> float:
    """Return ||F||/(||P|| + ||F||), cause (a) alone, from Frobenius norms of whole kernels."""
    return f_norm / (p_norm + f_norm)


def ratio_of_adapters(ratio: float, scalar: float) -> float:
    """Return the FT ratio with F replaced by s F, if both terms are collinear, as with two classes.

    It is 1/(1 + x/s) with x = 1/ratio - 1, where s = ||F^LoRA||/||F|| is `scalar` and `ratio` that
    of full fine-tuning.
    """
    return 1 / (1 + (1 / ratio - 1) / scalar)
