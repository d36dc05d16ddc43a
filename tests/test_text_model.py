"""The model on text against PyTorch's own encoder, and its training against torch.optim."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from transformer_dynamics.scan_and_snap.wikitext.model import (
    Layer,
    Parameters,
    encode,
    initial,
    positions,
)
from transformer_dynamics.scan_and_snap.wikitext.output_layer import (
    BLOCK,
)
from transformer_dynamics.scan_and_snap.wikitext.settings import (
    Evaluation,
    TextModel,
    TextTraining,
    TextTrainJob,
    TokenJob,
)
from transformer_dynamics.scan_and_snap.wikitext.tokens import Corpus, columns
from transformer_dynamics.scan_and_snap.wikitext.training import Progress, train

WORDS = BLOCK + 300
LENGTH = 7


class Literal(nn.Module):
    """The released code's model, from PyTorch's own parts."""

    def __init__(self, model: TextModel) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(model.width, 1, model.hidden, dropout=0.0)
        self.embedding = nn.Embedding(WORDS, model.width)
        self.encoder = nn.TransformerEncoder(layer, model.layers, enable_nested_tensor=False)
        self.output = nn.Linear(model.width, WORDS)
        self.positions = positions(LENGTH, model.width)[:, None]

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


def _job(model: TextModel, **training: object) -> TextTrainJob:
    settings = {"updates": 4, "dropout": 0.0, "batch_size": 3, "chunk_length": LENGTH}
    return TextTrainJob(
        tokens=TokenJob(train="0" * 64, valid="0" * 64),
        model=model,
        learning_rate=2.0,
        training=TextTraining.model_validate(settings | training),
        evaluation=Evaluation(shown_chunk=0, batch_size=2, sampled_chunks=1),
        device="cpu",
    )


def _corpus() -> Corpus:
    ids = np.random.default_rng(0).integers(WORDS, size=200).astype(np.int32)
    words = [str(index) for index in range(WORDS)]
    return Corpus(words, np.bincount(ids, minlength=WORDS), ids, ids[:80])


def _final(
    job: TextTrainJob, progress: Progress | None = None, stop: int | None = None
) -> Progress:
    states = train(job, 1, _corpus(), progress)
    return (
        next(state for state in states if stop is None or len(state.losses) == stop)
        if (stop is not None)
        else list(states)[-1]
    )


@pytest.mark.parametrize("layers", [1, 3])
def test_encoder_is_pytorchs(layers: int) -> None:
    model = TextModel(layers=layers, width=12, hidden=8)
    parameters = initial(model, WORDS, torch.Generator().manual_seed(0))
    literal = Literal(model).eval()
    literal.take(parameters)
    words = torch.randint(WORDS, (3, LENGTH), generator=torch.Generator().manual_seed(1))
    encoded = encode(model, parameters.layers, parameters.embedding[words], lambda tensor: tensor)
    ours = encoded.hidden @ parameters.output.weight.T + parameters.output.bias
    torch.testing.assert_close(ours, literal(words.T).transpose(0, 1), atol=1e-5, rtol=1e-5)
    assert len(encoded.attention) == layers
    for attention in encoded.attention:
        torch.testing.assert_close(attention.sum(-1), torch.ones(3, LENGTH))
        assert attention.triu(1).count_nonzero() == 0


@pytest.mark.parametrize("ratio", [1.0, 2.0])
def test_updates_are_torch_optims(ratio: float) -> None:
    model = TextModel(layers=2, width=12, hidden=8)
    job, corpus = _job(model, feed_forward_ratio=ratio), _corpus()
    states = train(job, 1, corpus)
    literal = Literal(model)
    literal.take(next(states).parameters)
    own = list(literal.encoder.layers[0].linear1.parameters())
    own += list(literal.encoder.layers[0].linear2.parameters())
    others = [p for p in literal.parameters() if all(p is not other for other in own)]
    optimizer = torch.optim.SGD([{"params": own, "lr": 2.0 * ratio}, {"params": others, "lr": 2.0}])
    text = columns(corpus.train, 3)
    for index, state in enumerate(states):
        words, targets = (
            torch.from_numpy(part.astype(np.int64)) for part in text.chunk(index, LENGTH)
        )
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(
            literal(words.T).transpose(0, 1).flatten(0, 1), targets.flatten()
        )
        loss.backward()
        norm = nn.utils.clip_grad_norm_(literal.parameters(), 0.5)
        assert norm > 0.5
        optimizer.step()
        assert state.losses[-1] == pytest.approx(loss.item(), rel=1e-5)
    torch.testing.assert_close(
        state.parameters.embedding, literal.embedding.weight.data, atol=2e-5, rtol=1e-4
    )
    torch.testing.assert_close(
        state.parameters.output.weight, literal.output.weight.data, atol=2e-5, rtol=1e-4
    )
    for layer, ours in zip(literal.encoder.layers, state.parameters.layers, strict=True):
        for theirs, tensor in zip(_parameters(layer), _tensors(ours), strict=True):
            torch.testing.assert_close(tensor, theirs.data, atol=2e-5, rtol=1e-4)
