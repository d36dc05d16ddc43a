"""Closed forms against autograd on the literal formulas, in float64."""

from functools import partial

import literal_steps as literal
import pytest
import torch

from transformer_dynamics.recurrent_attention.settings.models import Model
from transformer_dynamics.recurrent_attention.theory import jacobian
from transformer_dynamics.recurrent_attention.theory.attention import attention
from transformer_dynamics.recurrent_attention.theory.exponents import null_space
from transformer_dynamics.recurrent_attention.theory.recurrence import unit_blocks

SIZES = [(5, 8, 1), (4, 8, 2), (3, 12, 4), (1, 6, 3), (6, 4, 4)]


def gap(found, expected):
    return float((found - expected).abs().max() / expected.abs().max())


@pytest.mark.parametrize(("tokens", "width", "heads"), SIZES)
@pytest.mark.parametrize("scale", [0.3, 3.0])
def test_attention_and_its_jacobian(tokens, width, heads, scale):
    w = literal.weights(tokens, tokens, width, heads)
    x = scale * literal.start(heads, tokens, width)
    expected = literal.msa(x, w, heads)
    given = literal.matrices(w), heads, (width / heads) ** -0.5
    assert gap(attention(x, *given), expected) < 1e-13
    by_autograd = literal.dense(lambda x: literal.msa(x, w, heads), x)
    assert gap(jacobian.attention_jacobian(x, *given), by_autograd) < 1e-12


@pytest.mark.parametrize("block", [2, 3, 6, 12])
@pytest.mark.parametrize("has_gamma", [False, True])
def test_normalisation_and_its_jacobian(block, has_gamma):
    """Lemma A.3, by tokens and by oscillators."""
    y = literal.start(3, 4, 12)
    gamma = literal.weights(3, 4, 12, 1)["gamma"] if has_gamma else None

    def normalised(y):
        done = literal.unit(y, block)
        return done if gamma is None else gamma * done

    assert gap(unit_blocks(y, block), literal.unit(y, block)) < 1e-14
    blocks = jacobian.normalisation_jacobian(y, block, gamma)
    assert blocks.shape == (4 * 12 // block, block, block)
    matrix = torch.block_diag(*blocks)
    assert gap(matrix, literal.dense(normalised, y)) < 1e-12
    other = literal.start(4, 48, 5)
    assert gap(jacobian.multiply_blocks(blocks, other), matrix @ other) < 1e-13
    step = jacobian.normalised_step(y, torch.eye(48, dtype=torch.float64), block, gamma)
    assert gap(step.tokens, normalised(y)) < 1e-14
    assert gap(step.jacobian, matrix) < 1e-14


def closed(w, x, **model):
    """One step with its Jacobian."""
    return jacobian.step_with_jacobian(
        Model(width=x.shape[-1], **model), w, literal.matrices(w), x, w["inputs"]
    )


def steps():
    """Name, closed form, literal formula and start of every kind of step."""
    w = literal.weights(7, 4, 12, 3)
    same = literal.symmetric_weights(8, 4, 12)
    x = literal.start(9, 4, 12)
    for dimension in (None, 2, 4):
        yield (
            f"itrsa {dimension}",
            partial(closed, w, kind="itrsa", heads=3, oscillator=dimension),
            lambda x, n=dimension: literal.itrsa(x, w, 3, n),
            w["gamma"] * literal.unit(x, dimension or 12),
            48 // (dimension or 12),
        )
    yield (
        "itrsa, not normalised",
        partial(closed, w, kind="itrsa", heads=3, normalised=False),
        lambda x: literal.itrsa(x, w, 3, normalised=False),
        x,
        0,
    )
    for dimension in (2, 4, 6, 12):
        yield (
            f"akorn {dimension}",
            partial(closed, w, kind="akorn", heads=3, oscillator=dimension),
            lambda x, n=dimension: literal.akorn(x, w, 3, n),
            literal.unit(x, dimension),
            48 // dimension,
        )
    turned = literal.by_planes(w)
    yield (
        "akorn by planes",
        partial(closed, turned, kind="akorn", heads=3, oscillator=4),
        lambda x: literal.akorn(x, turned, 3, 4),
        literal.unit(x, 4),
        12,
    )
    yield (
        "symmetric",
        partial(closed, same, kind="symmetric", heads=1),
        lambda x: literal.symmetric(x, same),
        literal.unit(x, 12),
        4,
    )


STEPS = [pytest.param(*rest, id=name) for name, *rest in steps()]


@pytest.mark.parametrize(("closed", "formula", "x", "nulls"), STEPS)
def test_steps_and_their_jacobians(closed, formula, x, nulls):
    """Also off the sphere, where Proj is the literal Id - x x^T."""
    for start in (x, 1.3 * x):
        step = closed(start)
        assert gap(step.tokens, formula(start)) < 1e-13
        assert gap(step.jacobian, literal.dense(formula, start)) < 1e-12
        assert step.normals.shape == (48, nulls)


@pytest.mark.parametrize(("closed", "formula", "x", "nulls"), STEPS)
def test_every_normalised_block_has_one_exact_null_direction(closed, formula, x, nulls):
    step = closed(x)
    largest = torch.linalg.matrix_norm(step.jacobian, ord=2)
    singular = torch.linalg.svdvals(literal.dense(formula, x)) / largest
    assert (singular[48 - nulls :] < 1e-14).all()
    assert (singular[: 48 - nulls] > 1e-6).all()
    right = null_space(step)
    identity = torch.eye(nulls, dtype=torch.float64)
    for directions, image in ((step.normals, step.jacobian.T), (right, step.jacobian)):
        assert directions.shape == (48, nulls)
        assert ((directions.T @ directions - identity).abs() < 1e-13).all()
        assert ((image @ directions).abs() < 1e-12 * largest).all()


@pytest.mark.parametrize("name", ["itrsa", "akorn", "akorn by planes", "symmetric"])
def test_leading_axes_are_independent(name):
    """Seeds have weights of their own; boards share them."""
    w = literal.weights(1, 3, 8, 2, leading=(2, 1))
    w = literal.by_planes(w) if name == "akorn by planes" else w
    x = literal.unit(literal.start(1, 3, 8, leading=(2, 4)), 4)
    kind = name.split()[0]
    model = {
        "itrsa": {"heads": 2},
        "akorn": {"heads": 2, "oscillator": 4},
        "symmetric": {"heads": 1},
    }[kind]
    together = closed(w, x, kind=kind, **model)
    for seed in range(2):
        for board in range(4):
            own = {key: each[seed, 0] for key, each in w.items()}
            alone = closed(own, x[seed, board], kind=kind, **model)
            for found, expected in zip(together, alone, strict=True):
                assert gap(found[seed, board], expected) < 1e-13
