"""Gradients of Post-LN and Pre-LN stacks against those of PyTorch's layers."""

import numpy as np
import pytest
import torch

from replication.base.errors import InputError
from replication.base.random_streams import generator
from transformer_dynamics.gradient_heterogeneity.theory import heterogeneity, placement
from transformer_dynamics.gradient_heterogeneity.theory.placement import Sizes, Stack

SIZES = Sizes(width=12, vocabulary=20, length=5, classes=6)
PLACEMENTS = ("post", "pre")
MATRICES = ("matrix", "embedding", "normalisation", "head")


def example(depth=2, deviation=0.3, sizes=SIZES):
    random = generator(0, "placement")
    parameters = placement.initial_parameters(depth, sizes, random, deviation)
    for name, tensor in parameters.items():
        if placement.tensor_kind(name) in {"bias", "normalisation"}:
            noise = random.normal(0, 0.1, tuple(tensor.shape))
            parameters[name] = tensor + torch.from_numpy(noise)
    tokens = torch.from_numpy(random.integers(0, sizes.vocabulary, (3, sizes.length)))
    labels = torch.from_numpy(random.integers(0, sizes.classes, (3, sizes.length)))
    return parameters, tokens, labels


def gradients(stack, parameters, tokens, labels):
    """Gradients of the mean cross-entropy over all positions, by name of the tensor."""

    def loss(tensors):
        found = placement.logits(stack, tensors, tokens)
        return torch.nn.functional.cross_entropy(found.flatten(0, -2), labels.flatten())

    return torch.func.grad(loss)(parameters)


def norms_and_sizes(gradient, kind):
    """Gradient norms and numbers of parameters of all tensors of a kind."""
    own = [tensor for name, tensor in gradient.items() if placement.tensor_kind(name) == kind]
    return np.array([[float(tensor.norm()), tensor.numel()] for tensor in own]).T


def of_pytorch(which, parameters, depth, heads):
    """The stack of PyTorch's layers with these parameters."""
    width = SIZES.width
    layers = []
    for index in range(depth):
        layer = torch.nn.TransformerEncoderLayer(
            width,
            heads,
            4 * width,
            0.0,
            "gelu",
            placement.EPSILON,
            batch_first=True,
            norm_first=which == "pre",
            dtype=torch.float64,
        )
        own = {name: parameters[f"{index}.{name}"] for name in (*placement.SQUARE, "in", "out")}
        biases = {name: parameters[f"{index}.{name}_bias"] for name in own}
        joint = placement.SQUARE[:3]
        layer.load_state_dict(
            {
                "self_attn.in_proj_weight": torch.cat([own[name] for name in joint]),
                "self_attn.in_proj_bias": torch.cat([biases[name] for name in joint]),
                "self_attn.out_proj.weight": own["output"],
                "self_attn.out_proj.bias": biases["output"],
                "linear1.weight": own["in"],
                "linear1.bias": biases["in"],
                "linear2.weight": own["out"],
                "linear2.bias": biases["out"],
                "norm1.weight": parameters[f"{index}.first_gain"],
                "norm1.bias": parameters[f"{index}.first_shift"],
                "norm2.weight": parameters[f"{index}.second_gain"],
                "norm2.bias": parameters[f"{index}.second_shift"],
            }
        )
        layers.append(layer)
    return layers


@pytest.mark.parametrize("which", PLACEMENTS)
def test_gradients_are_those_of_pytorchs_layers(which):
    parameters, tokens, labels = example()
    stack = Stack(which, 2, 3)
    layers = of_pytorch(which, parameters, 2, 3)
    edge = torch.nn.LayerNorm(SIZES.width, placement.EPSILON, dtype=torch.float64)
    edge.load_state_dict({"weight": parameters["edge_gain"], "bias": parameters["edge_shift"]})
    leaves = {name: parameters[name].clone().requires_grad_() for name in ("tokens", "head")}
    state = leaves["tokens"][tokens] + parameters["positions"]
    for layer in [edge, *layers] if which == "post" else [*layers, edge]:
        state = layer(state)
    expected = state @ leaves["head"].T + parameters["head_bias"]
    assert (placement.logits(stack, parameters, tokens) - expected).abs().max() < 1e-11
    torch.nn.functional.cross_entropy(expected.flatten(0, 1), labels.flatten()).backward()
    found = gradients(stack, parameters, tokens, labels)
    query, key, value = layers[1].self_attn.in_proj_weight.grad.chunk(3)
    pairs = {
        "tokens": leaves["tokens"].grad,
        "head": leaves["head"].grad,
        "edge_gain": edge.weight.grad,
        "1.query": query,
        "1.key": key,
        "1.value": value,
        "1.output": layers[1].self_attn.out_proj.weight.grad,
        "0.in": layers[0].linear1.weight.grad,
        "0.out": layers[0].linear2.weight.grad,
        "0.second_gain": layers[0].norm2.weight.grad,
        "1.out_bias": layers[1].linear2.bias.grad,
    }
    for name, gradient in pairs.items():
        assert (found[name] - gradient).abs().max() < 1e-11 * (1 + gradient.abs().max())
    # Softmax does not see what is added to all keys alike.
    assert found["0.key_bias"].abs().max() < 1e-13 < found["0.query_bias"].abs().max()


def test_kinds_of_tensors():
    names = placement.initial_parameters(1, SIZES, generator(0, "kinds"))
    kinds = {kind: [n for n in names if placement.tensor_kind(n) == kind] for kind in MATRICES}
    assert kinds["embedding"] == ["tokens", "positions"]
    assert kinds["head"] == ["head"]
    assert kinds["matrix"] == [f"0.{n}" for n in (*placement.SQUARE, "in", "out")]
    assert kinds["normalisation"] == ["edge_gain", "0.first_gain", "0.second_gain"]
    with pytest.raises(InputError, match="post or pre"):
        placement.logits(Stack("sandwich", 1, 3), names, torch.zeros((1, 2), dtype=torch.long))


def test_initialisations_have_their_spread():
    sizes = Sizes(width=64, vocabulary=100, length=8, classes=50)
    given = placement.initial_parameters(1, sizes, generator(1, "spread"), 0.05, 0.2)
    assert {placement.tensor_kind(n) for n in given} == {*MATRICES, "bias"}
    assert float(given["tokens"].std()) == pytest.approx(0.2, rel=0.05)
    for name in ("0.query", "0.out", "head"):
        assert float(given[name].std()) == pytest.approx(0.05, rel=0.05)
    torch_like = placement.initial_parameters(1, sizes, generator(1, "spread"))
    assert float(torch_like["0.key"].abs().max()) == pytest.approx((6 / 256) ** 0.5, rel=0.01)
    assert float(torch_like["0.out"].abs().max()) == pytest.approx(1 / 16, rel=0.01)
    assert float(torch_like["tokens"].std()) == pytest.approx(1, rel=0.05)


def test_at_random_init_the_order_depends_on_the_measure():
    """Matrices spread more with Post-LN, gains with Pre-LN; the same draws for both."""
    sizes = Sizes(width=32, vocabulary=60, length=8, classes=60)
    random = generator(3, "order")
    parameters = placement.initial_parameters(6, sizes, random)
    tokens, labels = torch.from_numpy(random.integers(0, 60, (2, 4, 8)))
    ginis = {}
    for which in PLACEMENTS:
        gradient = gradients(Stack(which, 6, 4), parameters, tokens, labels)
        norms, _ = norms_and_sizes(gradient, "normalisation")
        ginis[which] = float(heterogeneity.gini(norms))
    assert ginis["pre"] > 2 * ginis["post"]


def test_the_scale_of_embeddings_matters_to_pre_ln_alone():
    """With small matrices, order and size of the spread are those of the embeddings' scale."""
    sizes = Sizes(width=32, vocabulary=60, length=8, classes=60)
    spreads = {}
    for scale in (0.02, 1.0):
        random = generator(5, "embeddings")
        parameters = placement.initial_parameters(4, sizes, random, 0.04, scale)
        tokens, labels = torch.from_numpy(random.integers(0, 60, (2, 4, 8)))
        for which in PLACEMENTS:
            gradient = gradients(Stack(which, 4, 4), parameters, tokens, labels)
            density = heterogeneity.densities(*norms_and_sizes(gradient, "matrix"))
            spreads[which, scale] = float(heterogeneity.log_spread(density))
    assert spreads["post", 0.02] == pytest.approx(spreads["post", 1.0], rel=1e-6)
    assert spreads["pre", 1.0] == pytest.approx(spreads["post", 1.0], rel=0.02)
    assert abs(spreads["pre", 0.02] / spreads["post", 0.02] - 1) > 0.05
