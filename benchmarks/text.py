"""What an update of training on text costs.

Against the plain loop: torch.nn.TransformerEncoder, a linear layer over the vocabulary,
torch.nn.CrossEntropyLoss, clip_grad_norm_ and torch.optim.SGD with dense gradients, with the same
batches, dropout and number of threads, both measured by turns in one process. Without dropout,
which each draws in its own way, both have the same losses from the same start; this is tried first.
"""

import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.turns import ROUNDS, Compared, check_agreement, time_by_turns
from transformer_dynamics.scan_and_snap_text.data.corpus import Corpus, cut_columns
from transformer_dynamics.scan_and_snap_text.settings.training import (
    Evaluation,
    TextModel,
    TextTraining,
    TextTrainJob,
    TokenJob,
)
from transformer_dynamics.scan_and_snap_text.training.loop import training_states
from transformer_dynamics.scan_and_snap_text.training.model import (
    Layer,
    Parameters,
    sinusoidal_positions,
)
from transformer_dynamics.scan_and_snap_text.training.progress import Progress

VOCABULARY = 28_782
"""Words of WikiText-2."""
UPDATES = 12
"""Of one timing."""
AGREED = 3
"""Updates whose losses are compared."""


class PlainModel(nn.Module):
    """The released code's model from PyTorch's own parts."""

    def __init__(self, model: TextModel, length: int, dropout: float) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(model.width, 1, model.hidden, dropout)
        self.embedding = nn.Embedding(VOCABULARY, model.width)
        self.encoder = nn.TransformerEncoder(layer, model.layers, enable_nested_tensor=False)
        self.output = nn.Linear(model.width, VOCABULARY)
        self.dropout = nn.Dropout(dropout)
        self.positions = sinusoidal_positions(length, model.width)[:, None]
        self.mask = torch.full((length, length), -math.inf).triu(1)
        for weight in (self.embedding.weight, self.output.weight):
            nn.init.uniform_(weight, -0.1, 0.1)

    def forward(self, words: Tensor) -> Tensor:
        """[T, B] ids to [T, B, V] logits."""
        embedded = self.embedding(words) * math.sqrt(self.embedding.embedding_dim)
        hidden = self.encoder(self.dropout(embedded + self.positions), self.mask)
        logits: Tensor = self.output(hidden)
        return logits

    @torch.no_grad()
    def take(self, parameters: Parameters) -> None:
        """Copy parameters of this project's model."""
        for theirs, ours in zip(self.encoder.layers, parameters.layers, strict=True):
            named = dict(theirs.named_parameters())
            for name, tensor in zip(NAMES, _tensors(ours), strict=True):
                named[name].copy_(tensor)
        self.embedding.weight.copy_(parameters.embedding)
        self.output.weight.copy_(parameters.output.weight)
        self.output.bias.copy_(parameters.output.bias)


NAMES = (
    "self_attn.in_proj_weight", "self_attn.in_proj_bias", "self_attn.out_proj.weight",
    "self_attn.out_proj.bias", "norm1.weight", "norm1.bias", "linear1.weight", "linear1.bias",
    "linear2.weight", "linear2.bias", "norm2.weight", "norm2.bias",
)  # fmt: skip
"""Of PyTorch's layer, in the order of `Layer`."""


def _tensors(layer: Layer) -> list[Tensor]:
    """One layer's parameters in the order of `NAMES`."""
    return [
        part
        for name, tensor in layer._asdict().items()
        for part in (tensor if name.endswith("norm") else [tensor])
    ]


def plain_updates(
    job: TextTrainJob, corpus: Corpus, start: Parameters | None = None
) -> Iterator[float]:
    """The plain loop: the loss of one update after another.

    Args:
        job: model and training.
        corpus: the text.
        start: parameters that it starts from; those of PyTorch if left out.
    """
    training = job.training
    model = PlainModel(job.model, training.chunk_length, training.dropout).train()
    if start:
        model.take(start)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=job.learning_rate)
    text = cut_columns(corpus.train, training.batch_size)
    for index in range(text.num_chunks(training.chunk_length)):
        chunk = text.chunk(index, training.chunk_length)
        words, targets = (torch.from_numpy(part.T.astype(np.int64)) for part in chunk)
        optimizer.zero_grad()
        loss = criterion(model(words).view(-1, VOCABULARY), targets.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), training.clip)
        optimizer.step()
        yield float(loss.detach())


def agree(layers: int) -> None:
    """Compare the losses of both loops without dropout.

    Args:
        layers: of the model.

    Raises:
        ClickException: if they differ by more than rounding.
    """
    job, corpus = _job(layers, dropout=0.0), _corpus()
    ours = training_states(job, 1, corpus)
    # Yielded once before the first update, and changed in place after it.
    plain = plain_updates(job, corpus, next(ours).parameters)
    exact, found = [next(plain) for _ in range(AGREED)], _losses(ours, AGREED)
    check_agreement(f"{layers} layer(s) of text", exact, found, 1e-4)


def _losses(updates: Iterator[Progress], number: int) -> list[float]:
    return [next(updates).losses[-1] for _ in range(number)]


def updates(layers: int, rounds: int = ROUNDS) -> Compared:
    """Updates with dropout.

    Args:
        layers: of the model.
        rounds: how often each way is timed.
    """
    agree(layers)
    job, corpus = _job(layers), _corpus()
    plain, ours = plain_updates(job, corpus), training_states(job, 1, corpus)
    next(ours)

    # Dropout and starts differ, so that the number of losses is all that they have in common.
    def number(losses: list[float]) -> int:
        return len(losses)

    return time_by_turns(
        f"{UPDATES} updates on text, {layers} layer(s)",
        (
            "plain loop",
            lambda: number([next(plain) for _ in range(UPDATES)]),
            lambda: number(_losses(ours, UPDATES)),
        ),
        0.0,
        rounds,
    )


def compare(rounds: int = ROUNDS) -> Iterator[Compared]:
    """Both depths of the paper."""
    for layers in (1, 3):
        yield updates(layers, rounds)


def _job(layers: int, dropout: float = 0.3) -> TextTrainJob:
    return TextTrainJob(
        tokens=TokenJob(train="0" * 64, valid="0" * 64),
        model=TextModel(layers=layers),
        learning_rate=5.0,
        training=TextTraining(epochs=1, dropout=dropout),
        evaluation=Evaluation(shown_chunk=0, sampled_chunks=1),
        device="cpu",
    )


def _corpus() -> Corpus:
    """Random words in the proportions of a natural text."""
    random = np.random.default_rng(0)
    ids = np.minimum(random.zipf(1.3, size=50_000) - 1, VOCABULARY - 1).astype(np.int32)
    words = [str(index) for index in range(VOCABULARY)]
    # The validation text is as short as can be: recording it is no part of an update.
    return Corpus(words, np.bincount(ids, minlength=VOCABULARY), ids, ids[:720])
