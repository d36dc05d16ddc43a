"""Training on text: updates, what is recorded on the way, and how an interrupted run goes on."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from replication.base.errors import InputError
from replication.base.random_streams import generator
from replication.study.devices import device
from transformer_dynamics.scan_and_snap_text.evaluation import Record, Recorder
from transformer_dynamics.scan_and_snap_text.model import (
    FEED_FORWARD,
    Layer,
    Parameters,
    encode,
    initial,
)
from transformer_dynamics.scan_and_snap_text.output_layer import (
    OutputLayer,
    cross_entropy_gradient,
)
from transformer_dynamics.scan_and_snap_text.settings import TextTrainJob
from transformer_dynamics.scan_and_snap_text.tokens import Columns, Corpus, columns

Arrays = dict[str, NDArray[Any]]


class Progress(NamedTuple):
    """The state of a run between two updates."""

    parameters: Parameters
    """As they are now."""
    losses: list[float]
    """Mean cross-entropy of each batch before its update, in nats."""
    records: list[Record]
    """What was recorded so far."""

    def arrays(self) -> Arrays:
        """Everything that is needed to go on."""
        named: Arrays = {"losses": np.array(self.losses)}
        named |= {name: tensor.cpu().numpy() for name, tensor in _named(self.parameters).items()}
        for field in Record._fields:
            for index, record in enumerate(self.records):
                named[f"records/{index}/{field}"] = getattr(record, field)
        return named


def resumed(arrays: Arrays, job: TextTrainJob, vocabulary_size: int) -> Progress:
    """The state that `Progress.arrays` kept."""
    progress = _begun(job, 0, vocabulary_size)
    for name, tensor in _named(progress.parameters).items():
        tensor.copy_(torch.from_numpy(arrays[name]))
    count = sum(name.startswith("records/") for name in arrays) // len(Record._fields)
    records = [
        Record(*(arrays[f"records/{index}/{field}"] for field in Record._fields))
        for index in range(count)
    ]
    return Progress(progress.parameters, arrays["losses"].tolist(), records)


def train(
    job: TextTrainJob, seed: int, corpus: Corpus, progress: Progress | None = None
) -> Iterator[Progress]:
    """Train, and yield the state after every update and once before the first.

    The state is changed in place between two of them. Dropout is drawn anew from the seed and the
    number of the update, so that a run that goes on from a kept state gives the same bits.

    Args:
        job: model, rates, length and device.
        seed: seed of the initialisation and of dropout.
        corpus: the text.
        progress: where to go on; from the beginning if left out.

    Raises:
        InputError: if the text is too short, the device is not there or training diverges.
    """
    text = columns(corpus.train, job.training.batch_size)
    recorder = Recorder(job, corpus, text)
    last = num_updates(job, text)
    recorded = recorded_updates(job, last)
    state = progress or _begun(job, seed, len(corpus.words))
    if not state.losses and 0 in recorded and not state.records:
        state.records.append(recorder.record(state.parameters, is_last=False))
    yield state
    while (done := len(state.losses)) < last:
        words, targets = text.chunk(
            done % text.num_chunks(job.training.chunk_length), job.training.chunk_length
        )
        loss = float(_update(job, state.parameters, words, targets, _dropout(job, seed, done)))
        _check_finite(loss, job, seed, done + 1)
        state.losses.append(loss)
        if done + 1 in recorded:
            state.records.append(recorder.record(state.parameters, is_last=done + 1 == last))
            _check_finite(float(state.records[-1].entropy.sum()), job, seed, done + 1)
        yield state


def _check_finite(value: float, job: TextTrainJob, seed: int, update: int) -> None:
    if not np.isfinite(value):
        raise InputError(
            f"training diverged: learning rate {job.learning_rate:g}, seed {seed}, update"
            f" {update}; lower the rate"
        )


def num_updates(job: TextTrainJob, text: Columns) -> int:
    """Length of a run on a text."""
    training = job.training
    return training.updates or (training.epochs or 0) * text.num_chunks(training.chunk_length)


def recorded_updates(job: TextTrainJob, last: int) -> list[int]:
    """Numbers of updates after which attention is recorded, ascending, the last one included.

    Raises:
        InputError: if one lies beyond the last update.
    """
    late = [update for update in job.training.recorded if update > last]
    if late:
        raise InputError(
            f"training.recorded asks for update {late[0]}, but this text gives {last} updates;"
            " remove it or train longer"
        )
    return sorted({*job.training.recorded, last})


def _begun(job: TextTrainJob, seed: int, vocabulary_size: int) -> Progress:
    place = device(job.device)
    parameters = initial(job.model, vocabulary_size, _random(seed, "initialization"))
    return Progress(
        Parameters(
            parameters.embedding.to(place),
            [Layer(*(tensor.to(place) for tensor in layer)) for layer in parameters.layers],
            OutputLayer(*(tensor.to(place) for tensor in parameters.output)),
        ),
        [],
        [],
    )


def _update(
    job: TextTrainJob,
    parameters: Parameters,
    words: NDArray[np.integer],
    targets: NDArray[np.integer],
    dropout: Callable[[Tensor], Tensor],
) -> Tensor:
    """Apply one update of clipped SGD, in place; returns the batch's mean loss before it.

    theta <- theta - eta min(1, clip / |g|) g, where |g| is the norm of the whole gradient. Only the
    embeddings of words in the batch have a gradient, so only they are touched.
    """
    place = parameters.embedding.device
    present, where = (
        torch.from_numpy(ids).to(place) for ids in np.unique(words, return_inverse=True)
    )
    embedding = parameters.embedding[present].requires_grad_()
    layers = [Layer(*(t.detach().requires_grad_() for t in layer)) for layer in parameters.layers]
    hidden = encode(job.model, layers, embedding[where], dropout).hidden.flatten(0, 1)
    next_words = torch.from_numpy(targets).to(place, torch.int64).flatten()
    loss = cross_entropy_gradient(hidden.detach(), parameters.output, next_words)
    torch.autograd.backward([hidden], [loss.hidden])
    traced = [embedding, *(tensor for layer in layers for tensor in layer)]
    gradients = [tensor.grad for tensor in traced if tensor.grad is not None]
    norm = torch.nn.utils.get_total_norm([*gradients, *loss.layer])
    # The small constant is that of torch.nn.utils.clip_grad_norm_.
    rate = job.learning_rate * min(1.0, job.training.clip / (float(norm) + 1e-6))
    assert embedding.grad is not None
    parameters.embedding.index_add_(0, present, embedding.grad, alpha=-rate)
    for tensor, gradient in zip(parameters.output, loss.layer, strict=True):
        tensor.sub_(gradient, alpha=rate)
    for index, (layer, leaves) in enumerate(zip(parameters.layers, layers, strict=True)):
        for name, tensor, leaf in zip(Layer._fields, layer, leaves, strict=True):
            own = job.training.feed_forward_ratio if index == 0 and name in FEED_FORWARD else 1.0
            if leaf.grad is not None:
                tensor.sub_(leaf.grad, alpha=rate * own)
    return loss.value


def _dropout(job: TextTrainJob, seed: int, done: int) -> Callable[[Tensor], Tensor]:
    probability, random = job.training.dropout, _random(seed, f"dropout of update {done}")

    def dropout(tensor: Tensor) -> Tensor:
        if not probability:
            return tensor
        # Drawn on the CPU, so that every device drops the same.
        kept = torch.rand(tensor.shape, generator=random) >= probability
        return tensor * (kept.to(tensor) / (1 - probability))

    return dropout


def _random(seed: int, scope: str) -> torch.Generator:
    return torch.Generator().manual_seed(int(generator(seed, scope).integers(2**63)))


def _named(parameters: Parameters) -> dict[str, Tensor]:
    """Every parameter by name."""
    layers = {
        f"layers/{index}/{name}": tensor
        for index, layer in enumerate(parameters.layers)
        for name, tensor in layer._asdict().items()
    }
    output = {f"output/{name}": tensor for name, tensor in parameters.output._asdict().items()}
    return {"embedding": parameters.embedding, **layers, **output}
