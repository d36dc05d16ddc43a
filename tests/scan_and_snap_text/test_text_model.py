"""The model on text against PyTorch's own encoder, and its training against torch.optim."""

import math
from itertools import product

import numpy as np
import pytest
import torch
from text_examples import LENGTH, SMALL, WORDS, kept, random_words, text_job, trained
from torch import Tensor, nn

from transformer_dynamics.scan_and_snap_text.data.corpus import cut_columns
from transformer_dynamics.scan_and_snap_text.settings.training import TextModel
from transformer_dynamics.scan_and_snap_text.training.loop import training_states
from transformer_dynamics.scan_and_snap_text.training.model import (
    FEED_FORWARD,
    Layer,
    Parameters,
    initial_parameters,
    run_encoder,
    sinusoidal_positions,
)
from transformer_dynamics.scan_and_snap_text.training.output_layer import (
    BLOCK,
    OutputLayer,
    cross_entropy,
    cross_entropy_gradient,
)

pytestmark = pytest.mark.numerical


class Part(nn.Module):
    """One layer from PyTorch's modules, with any of its parts left out."""

    def __init__(self, model: TextModel, layer: Layer, attention_dropout: float) -> None:
        super().__init__()
        self.model = model
        self.attention = nn.MultiheadAttention(model.width, 1, batch_first=True)
        self.attention_norm = nn.LayerNorm(model.width)
        self.inner = nn.Linear(model.width, model.hidden)
        self.outer = nn.Linear(model.hidden, model.width)
        self.forward_norm = nn.LayerNorm(model.width)
        for theirs, tensor in zip(self.parameters(), _tensors(layer), strict=True):
            theirs.data.copy_(tensor)
        # Attention times a number is the same as values times that number.
        self.attention.in_proj_weight.data[-model.width :] *= attention_dropout
        self.attention.in_proj_bias.data[-model.width :] *= attention_dropout

    def forward(self, state: Tensor, dropout: nn.Module) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(state.shape[1])
        mixed, _ = self.attention(state, state, state, attn_mask=mask)
        state = self.attention_norm(state * self.model.residual + dropout(mixed))
        if self.model.feed_forward:
            forward = self.outer(dropout(self.inner(state).relu()))
            state = self.forward_norm(state * self.model.residual + dropout(forward))
        return state


class Times(nn.Module):
    """Stands in for dropout, without chance."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, tensor: Tensor) -> Tensor:
        return tensor * self.factor


class Literal(nn.Module):
    """The released code's model, from PyTorch's own parts."""

    def __init__(self, model: TextModel) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(model.width, 1, model.hidden, dropout=0.0)
        self.embedding = nn.Embedding(WORDS, model.width)
        self.encoder = nn.TransformerEncoder(layer, model.layers, enable_nested_tensor=False)
        self.output = nn.Linear(model.width, WORDS)
        self.positions = sinusoidal_positions(LENGTH, model.width)[:, None]

    def forward(self, words: Tensor) -> Tensor:
        """[T, B] ids to [T, B, V] logits."""
        embedded = self.embedding(words) * math.sqrt(self.embedding.embedding_dim)
        mask = torch.full((len(words), len(words)), -math.inf).triu(1)
        return self.output(self.encoder(embedded + self.positions[: len(words)], mask))

    def take(self, parameters: Parameters) -> None:
        """Copy the parameters."""
        with torch.no_grad():
            for layer, ours in zip(self.encoder.layers, parameters.layers, strict=True):
                for theirs, tensor in zip(_parameters(layer), _tensors(ours), strict=True):
                    theirs.copy_(tensor)
            self.embedding.weight.copy_(parameters.embedding)
            self.output.weight.copy_(parameters.output.weight)
            self.output.bias.copy_(parameters.output.bias)


def _parameters(layer: nn.Module) -> list[Tensor]:
    names = (
        "self_attn.in_proj_weight self_attn.in_proj_bias self_attn.out_proj.weight"
        " self_attn.out_proj.bias norm1.weight norm1.bias linear1.weight linear1.bias"
        " linear2.weight linear2.bias norm2.weight norm2.bias"
    )
    named = dict(layer.named_parameters())
    return [named[name] for name in names.split()]


def _tensors(layer: Layer) -> list[Tensor]:
    """One layer's parameters in the order of `_parameters`."""
    return [
        part
        for name, tensor in layer._asdict().items()
        for part in (tensor if name.endswith("norm") else [tensor])
    ]


@pytest.mark.parametrize("layers", [1, 3])
def test_encoder_is_pytorchs(layers: int) -> None:
    model = TextModel(layers=layers, width=12, hidden=8)
    parameters = initial_parameters(model, WORDS, torch.Generator().manual_seed(0))
    literal = Literal(model).eval()
    literal.take(parameters)
    words = torch.randint(WORDS, (3, LENGTH), generator=torch.Generator().manual_seed(1))
    encoded = run_encoder(
        model, parameters.layers, parameters.embedding[words], lambda tensor: tensor
    )
    ours = encoded.hidden @ parameters.output.weight.T + parameters.output.bias
    torch.testing.assert_close(ours, literal(words.T).transpose(0, 1), atol=1e-5, rtol=1e-5)
    assert len(encoded.attention) == layers
    for attention in encoded.attention:
        torch.testing.assert_close(attention.sum(-1), torch.ones(3, LENGTH))
        assert attention.triu(1).count_nonzero() == 0


@pytest.mark.parametrize(
    ("has_positions", "feed_forward", "residual"), [*product([True, False], repeat=3)]
)
@pytest.mark.parametrize(
    ("attention_dropout", "scaled_embeddings"), [(1.0, True), (0.5, True), (0.5, False)]
)
def test_a_part_can_be_left_out(
    has_positions, feed_forward, residual, attention_dropout, scaled_embeddings
):
    """With numbers in the place of dropout: 0.7, or another one for attention."""
    model = SMALL.model_copy(
        update={
            "positions": has_positions,
            "feed_forward": feed_forward,
            "residual": residual,
            "scaled_embeddings": scaled_embeddings,
        }
    )
    parameters = scattered(model)
    embedded = parameters.embedding[torch.arange(2 * LENGTH).reshape(2, LENGTH)]

    def dropout(tensor: Tensor) -> Tensor:
        return tensor * (attention_dropout if tensor.shape[-1] == LENGTH else 0.7)

    state = embedded * math.sqrt(model.width) if scaled_embeddings else embedded
    if has_positions:
        state = (state + sinusoidal_positions(LENGTH, model.width)) * 0.7
    for layer in parameters.layers:
        state = Part(model, layer, attention_dropout)(state, Times(0.7))
    found = run_encoder(model, parameters.layers, embedded, dropout).hidden
    torch.testing.assert_close(found, state, atol=1e-5, rtol=1e-5)


def scattered(model: TextModel) -> Parameters:
    """Parameters none of which is zero, one, or the same in two layers."""
    random = torch.Generator().manual_seed(3)
    parameters = initial_parameters(model, WORDS, random)
    for layer in parameters.layers:
        for tensor in layer:
            tensor.add_(torch.randn(tensor.shape, generator=random), alpha=0.3)
    return parameters


def test_dropout_stands_where_pytorch_has_it():
    parameters = scattered(SMALL)
    literal = Literal(SMALL)
    literal.take(parameters)
    for layer in literal.encoder.layers:
        layer.dropout = layer.dropout1 = layer.dropout2 = Times(0.7)
    words = torch.randint(WORDS, (3, LENGTH), generator=torch.Generator().manual_seed(1))
    state = literal.embedding(words.T) * math.sqrt(SMALL.width) + literal.positions
    mask = nn.Transformer.generate_square_subsequent_mask(LENGTH)
    expected = literal.encoder(state * 0.7, mask).transpose(0, 1)
    found = run_encoder(
        SMALL,
        parameters.layers,
        parameters.embedding[words],
        lambda tensor: tensor if tensor.shape[-1] == LENGTH else tensor * 0.7,
    )
    torch.testing.assert_close(found.hidden, expected.data, atol=1e-5, rtol=1e-5)


def test_positions_by_hand():
    found = sinusoidal_positions(3, 4)
    assert found.shape == (3, 4)
    for place in range(3):
        slow = place / 100
        expected = [math.sin(place), math.cos(place), math.sin(slow), math.cos(slow)]
        assert found[place].tolist() == pytest.approx(expected, abs=1e-6)


def test_without_positions_only_the_order_of_the_past_is_lost():
    model = SMALL.model_copy(update={"positions": False})
    parameters = scattered(model)
    words = torch.arange(LENGTH)[None]
    shuffled = torch.cat([words[:, :-1].flip(1), words[:, -1:]], dim=1)
    one_layer = model.model_copy(update={"layers": 1})

    def last(model: TextModel, words: Tensor) -> Tensor:
        layers = parameters.layers[: model.layers]
        return run_encoder(model, layers, parameters.embedding[words], lambda t: t).hidden[0, -1]

    torch.testing.assert_close(last(one_layer, shuffled), last(one_layer, words))
    with_positions = one_layer.model_copy(update={"positions": True})
    difference = last(with_positions, shuffled) - last(with_positions, words)
    assert difference.abs().max() > 0.01


@pytest.mark.parametrize("bound", [0.1, 0.02])
def test_initial_parameters_are_pytorchs_defaults(bound: float):
    model = TextModel(layers=2, width=64, hidden=32, initial_bound=bound)
    parameters = initial_parameters(model, 500, torch.Generator().manual_seed(0))
    torch.manual_seed(0)
    literal = nn.TransformerEncoderLayer(64, 1, 32)
    for first, second in zip(*parameters.layers, strict=True):
        assert first is not second
        torch.testing.assert_close(first, second, rtol=0, atol=0)
    for theirs, ours in zip(_parameters(literal), _tensors(parameters.layers[0]), strict=True):
        assert theirs.shape == ours.shape
        # Uniform distributions: equal ends within what some thousand draws of them tell.
        assert ours.max() == pytest.approx(theirs.max().item(), rel=0.12)
        assert ours.min() == pytest.approx(theirs.min().item(), rel=0.12)
        assert ours.std() == pytest.approx(theirs.std().item(), rel=0.25)
    for tensor in (parameters.embedding, parameters.output.weight):
        assert tensor.shape == (500, 64)
        assert 0.999 * bound < tensor.abs().max() <= bound
        assert abs(tensor.mean()) < 0.02 * bound
    assert parameters.output.bias.count_nonzero() == 0


@pytest.mark.parametrize("clip", [0.5, 1e3])
@pytest.mark.parametrize("ratio", [1.0, 2.0])
def test_updates_are_torch_optims(ratio: float, clip: float) -> None:
    rate = 2.0 if clip < 1 else 0.01
    job, corpus = text_job(SMALL, rate, feed_forward_ratio=ratio, clip=clip), random_words()
    states = training_states(job, 1, corpus)
    literal = Literal(SMALL)
    literal.take(next(states).parameters)
    lowest = literal.encoder.layers[0]
    own = [*lowest.linear1.parameters(), *lowest.linear2.parameters()]
    others = [p for p in literal.parameters() if all(p is not other for other in own)]
    optimizer = torch.optim.SGD(
        [{"params": own, "lr": rate * ratio}, {"params": others, "lr": rate}]
    )
    text = cut_columns(corpus.train, 3)
    for index, state in enumerate(states):
        words, targets = (
            torch.from_numpy(part.astype(np.int64)) for part in text.chunk(index, LENGTH)
        )
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(
            literal(words.T).transpose(0, 1).flatten(0, 1), targets.flatten()
        )
        loss.backward()
        norm = nn.utils.clip_grad_norm_(literal.parameters(), clip)
        assert (norm > clip) == (clip < 1)
        optimizer.step()
        assert state.losses[-1] == pytest.approx(loss.item(), rel=1e-5)
    theirs = [literal.embedding.weight, literal.output.weight, literal.output.bias]
    ours = [state.parameters.embedding, *state.parameters.output]
    for layer, trained_layer in zip(literal.encoder.layers, state.parameters.layers, strict=True):
        theirs += _parameters(layer)
        ours += _tensors(trained_layer)
    for expected, found in zip(theirs, ours, strict=True):
        torch.testing.assert_close(found, expected.data, atol=2e-5, rtol=1e-4)


def test_a_part_that_is_left_out_is_not_trained():
    job = text_job(SMALL.model_copy(update={"feed_forward": False}))
    before = kept(next(training_states(job, 1, random_words())))
    after = kept(trained(job))
    for layer in range(SMALL.layers):
        for name in Layer._fields:
            same = (before[f"layers/{layer}/{name}"] == after[f"layers/{layer}/{name}"]).all()
            assert same == (name in {*FEED_FORWARD, "forward_norm"}), name


def test_an_update_is_as_long_as_the_clip_allows():
    job = text_job(rate=3.0, clip=0.01)
    states = training_states(job, 1, random_words())
    before = kept(next(states))
    after = kept(next(states))
    moved = sum(
        float(((after[name].astype(float) - values) ** 2).sum())
        for name, values in before.items()
        if name.partition("/")[0] in {"embedding", "layers", "output"}
    )
    assert math.sqrt(moved) == pytest.approx(3.0 * 0.01, rel=1e-3)


@pytest.mark.parametrize("words", [1, 5, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 2 * BLOCK + 300])
@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_gradient_of_the_output_layer_is_autograds(words: int, scale: float) -> None:
    random = torch.Generator().manual_seed(words)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=random, dtype=torch.float64)

    hidden, weight, bias = normal(23, 6) * scale, normal(words, 6), normal(words)
    targets = torch.randint(words, (23,), generator=random)
    ends = (0, words - 1, BLOCK - 1, BLOCK, 2 * BLOCK - 1, 2 * BLOCK)
    targets[: len(ends)] = torch.tensor(ends).clamp(max=words - 1)
    leaves = [tensor.clone().requires_grad_() for tensor in (hidden, weight, bias)]
    expected = nn.functional.cross_entropy(leaves[0] @ leaves[1].T + leaves[2], targets)
    expected.backward()
    layer = OutputLayer(weight, bias)
    found = cross_entropy_gradient(hidden, layer, targets)
    torch.testing.assert_close(found.value, expected.data)
    torch.testing.assert_close(cross_entropy(hidden, layer, targets).mean(), expected.data)
    for ours, leaf in zip((found.hidden, *found.layer), leaves, strict=True):
        torch.testing.assert_close(ours, leaf.grad, atol=1e-12, rtol=1e-9)
