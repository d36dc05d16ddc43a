"""Eq. (3), against autograd on a head whose rows are length times direction."""

import torch

from transformer_dynamics.lp_ft.theory import head_norm


def normal(*shape, seed):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def by_autograd(weight, features, labels):
    lengths = weight.norm(dim=1).requires_grad_()
    logits = features @ (lengths[:, None] * (weight / weight.norm(dim=1, keepdim=True)).detach()).T
    torch.nn.functional.cross_entropy(logits, labels, reduction="sum").backward()
    return lengths.grad


def test_norm_gradient_is_that_of_autograd():
    weight, features = normal(4, 6, seed=0), normal(20, 6, seed=1)
    labels = torch.arange(20) % 4
    expected = by_autograd(weight, features, labels)
    found = head_norm.norm_gradient(weight, features, labels)
    assert (found - expected).abs().max() <= 1e-12 * expected.abs().max()
    # As printed, with a sum over k on the right, it is their sum, and no row's own derivative.
    assert (found.sum() - expected).abs().min() > 1e-3


def test_along_probing_most_rows_want_to_grow():
    labels = torch.arange(60) % 3
    features = normal(60, 8, seed=4) + 2 * normal(3, 8, seed=5)[labels]
    start = 0.02 * normal(3, 8, seed=6)
    path = head_norm.probing_path(start, features, labels, eta=1e-3, steps=300)
    assert path.shape == (301, 3, 8)
    weight = start.clone().requires_grad_()
    torch.nn.functional.cross_entropy(features @ weight.T, labels, reduction="sum").backward()
    stepped = (weight - 1e-3 * weight.grad).detach()
    expected = by_autograd(stepped, features, labels)
    along = torch.stack([head_norm.norm_gradient(v, features, labels) for v in path])
    assert (along[1] - expected).abs().max() <= 1e-12 * expected.abs().max()
    assert float((along < 0).double().mean()) > 0.9
