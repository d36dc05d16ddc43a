"""`python -m benchmarks.text`: what an update of training on text costs.

Against the plain loop: torch.nn.TransformerEncoder, a linear layer over the vocabulary,
torch.nn.CrossEntropyLoss, clip_grad_norm_ and torch.optim.SGD with dense gradients, with the same
batches, dropout and number of threads, both measured by turns in one process.
"""

import math
import resource
import time
from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor, nn

from replication.markdown import table
from transformer_dynamics.scan_and_snap_text.model import positions
from transformer_dynamics.scan_and_snap_text.settings import (
    Evaluation,
    TextModel,
    TextTraining,
    TextTrainJob,
    TokenJob,
)
from transformer_dynamics.scan_and_snap_text.tokens import Corpus, columns
from transformer_dynamics.scan_and_snap_text.training import train

VOCABULARY = 28_782
"""Words of WikiText-2."""
UPDATES = 12
ROUNDS = 3


class PlainModel(nn.Module):
    """The released code's model from PyTorch's own parts."""

    def __init__(self, model: TextModel, length: int, dropout: float) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(model.width, 1, model.hidden, dropout)
        self.embedding = nn.Embedding(VOCABULARY, model.width)
        self.encoder = nn.TransformerEncoder(layer, model.layers, enable_nested_tensor=False)
        self.output = nn.Linear(model.width, VOCABULARY)
        self.dropout = nn.Dropout(dropout)
        self.positions = positions(length, model.width)[:, None]
        self.mask = torch.full((length, length), -math.inf).triu(1)
        for weight in (self.embedding.weight, self.output.weight):
            nn.init.uniform_(weight, -0.1, 0.1)

    def forward(self, words: Tensor) -> Tensor:
        """[T, B] ids to [T, B, V] logits."""
        embedded = self.embedding(words) * math.sqrt(self.embedding.embedding_dim)
        return self.output(self.encoder(self.dropout(embedded + self.positions), self.mask))


def plain_updates(job: TextTrainJob, corpus: Corpus) -> Iterator[None]:
    """The plain loop, one update at a time."""
    training = job.training
    model = PlainModel(job.model, training.chunk_length, training.dropout).train()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=job.learning_rate)
    text = columns(corpus.train, training.batch_size)
    for index in range(text.num_chunks(training.chunk_length)):
        chunk = text.chunk(index, training.chunk_length)
        words, targets = (torch.from_numpy(part.T.astype(np.int64)) for part in chunk)
        optimizer.zero_grad()
        criterion(model(words).view(-1, VOCABULARY), targets.flatten()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), training.clip)
        optimizer.step()
        yield


def main() -> None:
    """Print the table."""
    rows = []
    for layers in (1, 3):
        job, corpus = _job(layers), _corpus()
        plain, ours = plain_updates(job, corpus), train(job, 1, corpus)
        next(plain), next(ours), next(ours)
        seconds: dict[str, list[float]] = {"plain": [], "ours": []}
        for _ in range(ROUNDS):
            for name, updates in (("plain", plain), ("ours", ours)):
                seconds[name].append(_time(lambda updates=updates: next(updates)))
        best = {name: min(values) for name, values in seconds.items()}
        rows.append((f"plain loop, {layers} layer(s)", f"{best['plain']:.3f} s", "1"))
        ratio = f"{best['plain'] / best['ours']:.2f}"
        rows.append((f"this project, {layers} layer(s)", f"{best['ours']:.3f} s", ratio))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print("\n".join(table(("an update, one thread", "best of 3", "ratio"), rows)))
    print(f"\npeak memory of both together: {memory:.0f} MiB")


def _time(update: Callable[[], object]) -> float:
    """Seconds of one update, over several."""
    begin = time.perf_counter()
    for _ in range(UPDATES):
        update()
    return (time.perf_counter() - begin) / UPDATES


def _job(layers: int) -> TextTrainJob:
    return TextTrainJob(
        tokens=TokenJob(train="0" * 64, valid="0" * 64),
        model=TextModel(layers=layers),
        learning_rate=5.0,
        training=TextTraining(epochs=1, dropout=0.3),
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


if __name__ == "__main__":
    main()
