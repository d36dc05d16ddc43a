"""Kernels of an encoder against dense Jacobians of autograd, in float64."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

sys.path.append(str(Path(__file__).parents[1] / "encoders"))
from artificial_files import encoder

from replication.base.errors import InputError
from transformer_dynamics.encoders import model as models
from transformer_dynamics.encoders.tokens import Tokens
from transformer_dynamics.lp_ft.theory import lora
from transformer_dynamics.lp_ft.training import classifier, feature_kernel, gradients, grams

TRAIN = 4
# Several tokens occur twice in a text and in several texts; lengths differ.
WORDS = [[2, 4, 5, 4, 3], [2, 7, 3], [2, 8, 9, 10, 4, 5, 6, 7, 3], [2, 7, 7, 3], [2, 1, 4, 3]]


def texts():
    longest = max(map(len, WORDS))
    tokens = np.array([row + [0] * (longest - len(row)) for row in WORDS], dtype=np.int32)
    lengths = np.array([len(row) for row in WORDS], dtype=np.int32)
    seconds = np.minimum(np.array([3, 3, 5, 2, 4], dtype=np.int32), lengths)
    return Tokens(tokens, lengths, seconds, np.arange(5) % 3)


def built(kind="bert"):
    prefix = {"bert": "", "mpnet": "mpnet.", "roberta": "roberta."}[kind]
    return models.build(encoder(kind, prefix)[0]).double()


def heads():
    random = torch.Generator().manual_seed(2)
    first, second = (torch.randn(3, 8, generator=random, dtype=torch.float64) for _ in range(2))
    # As of a probe: its rows sum to zero, so that its rank is 2.
    return [0.1 * first, 5 * (second - second.mean(dim=0))]


def jacobian(model, given, names=None):
    """[n, h, p] one text at a time, by autograd of the literal parameters."""
    body = {name: tensor.detach() for name, tensor in model.named_parameters()}
    chosen = [name for name in body if names is None or name in names]
    rows = []
    for index in range(len(given.labels)):
        tokens, lengths, seconds = models.tensors(given.take(np.array([index])))
        phi = models.feature_map(model, lengths, seconds)

        def of(*values, phi=phi, tokens=tokens):
            return phi(body | dict(zip(chosen, values, strict=True)), tokens)[0]

        parts = torch.autograd.functional.jacobian(of, tuple(body[name] for name in chosen))
        rows.append(torch.cat([part.flatten(1) for part in parts], dim=1))
    return torch.stack(rows)


def dense(flat, weight, other=None):
    other = weight if other is None else other
    return torch.einsum("ch,nhp,mkp,dk->nmcd", weight, flat, flat[:TRAIN], other)


def close(found, exact, tolerance=1e-10):
    return (found - exact).abs().max() <= tolerance * exact.abs().max()


def drawn(model, rank, number=2):
    random = np.random.default_rng(5)
    names = classifier.adapted_layers(model)
    return [
        {name: torch.from_numpy(random.normal(size=(rank, 8))) for name in names}
        for _ in range(number)
    ]


@pytest.mark.parametrize("kind", ["bert", "mpnet", "roberta"])
def test_the_kernel_of_all_parameters_is_that_of_autograd(kind):
    model, given = built(kind), texts()
    directions, coefficients = feature_kernel.orthonormal_directions(heads())
    assert len(directions) == 5
    plan = feature_kernel.KernelPlan(directions, TRAIN)
    found = feature_kernel.feature_kernels(model, given, plan)
    flat = jacobian(model, given)
    assert close(found.whole, dense(flat, directions))
    for weight, coefficient in zip(heads(), coefficients, strict=True):
        effective = feature_kernel.ft_effective_kernel(found.whole, coefficient)
        assert effective.shape == (5, TRAIN, 3, 3)
        assert close(effective, dense(flat, weight))
    train = found.whole[:TRAIN]
    assert torch.equal(train, train.permute(1, 0, 3, 2))


@pytest.mark.parametrize("room", [1, 10**4])
def test_little_room_changes_nothing_but_the_number_of_passes(room):
    model, given = built(), texts()
    directions, _ = feature_kernel.orthonormal_directions(heads())
    whole = feature_kernel.feature_kernels(
        model, given, feature_kernel.KernelPlan(directions, TRAIN)
    )
    plan = feature_kernel.KernelPlan(directions, TRAIN, room=room)
    groups = list(feature_kernel._module_groups(model, int(given.lengths.sum()), plan))
    assert len(groups) > 5
    assert sorted(name for group in groups for name in group) == sorted(
        gradients.parametric_modules(model)
    )
    assert close(feature_kernel.feature_kernels(model, given, plan).whole, whole.whole, 1e-12)


@pytest.mark.parametrize("kind", ["bert", "mpnet"])
def test_the_kernel_of_adapters_is_that_of_a_literal_adapted_model(kind):
    """W + (alpha/r) B A, differentiated by A and B at B = 0."""
    rank, alpha = 3, 7.0
    model, given = built(kind), texts()
    directions, _ = feature_kernel.orthonormal_directions(heads())
    names = classifier.adapted_layers(model)
    assert len(names) == 4
    projections = drawn(model, rank)
    plan = feature_kernel.KernelPlan(directions, TRAIN, projections, names, alpha)
    found = feature_kernel.feature_kernels(model, given, plan)
    body = {name: tensor.detach() for name, tensor in model.named_parameters()}
    matrices = [f"{name}.weight" for name in names]
    for draw, a in enumerate(projections):
        starts = [tensor for name in names for tensor in (a[name], torch.zeros(8, rank).double())]
        rows = []
        for index in range(len(given.labels)):
            tokens, lengths, seconds = models.tensors(given.take(np.array([index])))
            phi = models.feature_map(model, lengths, seconds)

            def of(*values, phi=phi, tokens=tokens):
                pairs = zip(values[::2], values[1::2], matrices, strict=True)
                moved = {name: body[name] + alpha / rank * b @ a for a, b, name in pairs}
                return phi(body | moved, tokens)[0]

            parts = torch.autograd.functional.jacobian(of, tuple(starts))
            rows.append(torch.cat([part.flatten(1) for part in parts], dim=1))
        assert close(found.adapters[draw], dense(torch.stack(rows), directions))
    flat = jacobian(model, given, set(matrices))
    assert close(found.adapted, dense(flat, directions))


def test_the_mean_over_projections_is_a_multiple_of_the_adapted_kernel():
    """E_A F^LoRA = sigma^2 r (alpha/r)^2 F of the adapted matrices."""
    rank, alpha, draws = 4, 4.0, 400
    model, given = built(), texts()
    names = classifier.adapted_layers(model)
    random = np.random.default_rng(0)
    deviation = lora.kaiming_deviation(8)
    projections = [
        {name: torch.from_numpy(random.normal(0, deviation, (rank, 8))) for name in names}
        for _ in range(draws)
    ]
    directions, _ = feature_kernel.orthonormal_directions(heads())
    plan = feature_kernel.KernelPlan(directions, TRAIN, projections, names, alpha)
    found = feature_kernel.feature_kernels(model, given, plan)
    expected = lora.expected_scalar(deviation, rank, alpha)
    assert lora.scalar_factor(found.adapters.mean(dim=0), found.adapted) == pytest.approx(
        expected, rel=0.1
    )
    mean = found.adapters.mean(dim=0)
    assert (mean * found.adapted).sum() > 0.98 * mean.norm() * found.adapted.norm()


def test_both_ways_of_a_matrix_agree():
    random = torch.Generator().manual_seed(0)

    def normal(*shape):
        return torch.randn(shape, generator=random, dtype=torch.float64)

    lengths = [3, 1, 4, 2]
    found = [gradients.Factors(normal(length, 6), normal(2, length, 5)) for length in lengths]
    formed = torch.stack([one.outputs.mT @ one.inputs for one in found]).flatten(0, 1).flatten(1)
    exact = formed @ formed[:6].T
    by_positions = torch.zeros_like(exact)
    grams._add_by_positions(by_positions, found, 4)
    assert close(by_positions, exact, 1e-12)
    for room in (1, 10**6):
        gram = torch.zeros_like(exact)
        grams.add_matrix(gram, found, room)
        assert close(grams.complete_gram(gram), exact, 1e-12)


def test_products_are_complete_beyond_one_block(monkeypatch):
    monkeypatch.setattr(grams, "BLOCK", 2)
    rows = torch.randn(9, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    gram = torch.zeros(9, 5, dtype=torch.float64)
    grams.add_product(gram, rows)
    assert close(grams.complete_gram(gram), rows @ rows[:5].T, 1e-13)


def test_a_resumed_kernel_has_the_same_bits():
    class Kept:
        def __init__(self):
            self.arrays = []

        def read(self):
            return self.arrays[2] if self.arrays else None

        def is_due(self):
            return True

        def write(self, arrays):
            self.arrays.append({name: value.copy() for name, value in arrays.items()})

    model, given, kept = built(), texts(), Kept()
    directions, _ = feature_kernel.orthonormal_directions(heads())
    names = classifier.adapted_layers(model)
    plan = feature_kernel.KernelPlan(directions, TRAIN, drawn(model, 2, 1), names, room=10**4)
    whole = feature_kernel.feature_kernels(model, given, plan, kept)
    written = len(kept.arrays)
    again = feature_kernel.feature_kernels(model, given, plan, kept)
    assert len(kept.arrays) == 2 * written - 3
    assert all(torch.equal(a, b) for a, b in zip(whole, again, strict=True))


def test_directions_span_heads():
    weights = heads()
    directions, coefficients = feature_kernel.orthonormal_directions(weights)
    assert close(directions @ directions.T, torch.eye(5).double(), 1e-14)
    for weight, coefficient in zip(weights, coefficients, strict=True):
        assert close(coefficient @ directions, weight, 1e-13)
    # A binary probe (-w/2, w/2) has one direction.
    assert (
        len(
            feature_kernel.orthonormal_directions([weights[0][:1] * torch.tensor([[-1.0], [1.0]])])[
                0
            ]
        )
        == 1
    )


def test_parameters_are_left_as_they_were():
    model, given = built(), texts()
    next(model.parameters()).requires_grad_(False)
    before = [tensor.requires_grad for tensor in model.parameters()]
    directions, _ = feature_kernel.orthonormal_directions(heads())
    feature_kernel.feature_kernels(model, given, feature_kernel.KernelPlan(directions, TRAIN))
    assert [tensor.requires_grad for tensor in model.parameters()] == before
    assert not any(module._forward_hooks for module in model.modules())


def test_what_is_not_known_is_refused():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Conv1d(1, 1, 1))
    with pytest.raises(InputError, match="the encoder's 1 is a Conv1d"):
        gradients.parametric_modules(model)
