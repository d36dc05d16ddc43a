"""Rank caps of P and F against the ranks of the matrices themselves."""

import numpy as np
import pytest
import torch

from transformer_dynamics.encoders.head import Head
from transformer_dynamics.lp_ft.theory import kernel, networks, ranks


def random(seed=0):
    return torch.Generator().manual_seed(seed)


def setting(classes, weight=None):
    network = networks.perceptron_network(5, 12, classes, random())
    if weight is not None:
        network = network._replace(head=Head(weight, network.head.bias))
    inputs = torch.randn((6, 5), generator=random(2), dtype=torch.float64)
    return network, inputs


def heads():
    drawn = torch.randn((3, 12), generator=random(7), dtype=torch.float64)
    return {
        "random": (3, drawn, 18),
        "multinomial": (3, drawn - drawn.mean(0), 12),
        "binary": (2, torch.stack([-drawn[0], drawn[0]]) / 2, 6),
    }


@pytest.mark.parametrize("name", ["random", "multinomial", "binary"])
def test_a_probe_caps_the_rank_of_f(name):
    classes, weight, cap = heads()[name]
    network, inputs = setting(classes, weight)
    p, f = (
        kernel.kernel_matrix(part).numpy() for part in kernel.kernel_parts(network, inputs, inputs)
    )
    assert ranks.f_rank_cap(weight.numpy(), 6) == cap
    assert ranks.numerical_rank(f, 1e-10) == cap
    assert ranks.numerical_rank(p, 1e-12) == classes * 6
    assert ranks.numerical_rank(p + f, 1e-12) >= cap


def test_the_rank_of_p_counts_the_bias():
    def rank(features):
        p = kernel.pretrain_effective_kernel(features, features, 3)
        return ranks.numerical_rank(kernel.kernel_matrix(p).numpy())

    one = torch.ones(3, dtype=torch.float64)
    assert rank(torch.outer(torch.arange(1.0, 5.0, dtype=torch.float64), one)) == 6
    assert rank(one.expand(4, 3)) == 3


def test_a_tolerance_is_a_share_of_the_largest():
    matrix = np.diag([1e3, 1.0, 1e-14])
    assert ranks.numerical_rank(matrix) == 2
    assert ranks.numerical_rank(matrix, 1e-2) == 1
    assert ranks.numerical_rank(matrix.astype(np.float32)) == 2
    assert ranks.numerical_rank(np.zeros((3, 3))) == 0
