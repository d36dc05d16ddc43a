"""One update of clipped SGD, and the dropout of it."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from replication.base.random_streams import generator
from transformer_dynamics.scan_and_snap_text.settings.training import TextTrainJob
from transformer_dynamics.scan_and_snap_text.training.model import (
    FEED_FORWARD,
    Dropout,
    Layer,
    Parameters,
    run_encoder,
)
from transformer_dynamics.scan_and_snap_text.training.output_layer import cross_entropy_gradient


def update_parameters(
    job: TextTrainJob,
    parameters: Parameters,
    words: NDArray[np.integer],
    targets: NDArray[np.integer],
    dropout: Dropout,
) -> Tensor:
    """Apply one update of clipped SGD in place; return the batch's mean loss before it.

    theta <- theta - eta min(1, clip / |g|) g, where |g| is the norm of the whole gradient. Only the
    embeddings of words in the batch have a gradient, so only they are touched.
    """
    place = parameters.embedding.device
    present, where = (
        torch.from_numpy(ids).to(place) for ids in np.unique(words, return_inverse=True)
    )
    embedding = parameters.embedding[present].requires_grad_()
    layers = [Layer(*(t.detach().requires_grad_() for t in layer)) for layer in parameters.layers]
    hidden = run_encoder(job.model, layers, embedding[where], dropout).hidden.flatten(0, 1)
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


def update_dropout(job: TextTrainJob, seed: int, done: int) -> Dropout:
    """Return the dropout of an update, drawn from the seed and the number of updates before."""
    probability, random = job.training.dropout, torch_generator(seed, f"dropout of update {done}")

    def dropout(tensor: Tensor) -> Tensor:
        if not probability:
            return tensor
        # Drawn on the CPU, so that every device drops the same.
        kept = torch.rand(tensor.shape, generator=random) >= probability
        return tensor * (kept.to(tensor) / (1 - probability))

    return dropout


def torch_generator(seed: int, scope: str) -> torch.Generator:
    """Return the generator of a seed and a scope."""
    return torch.Generator().manual_seed(int(generator(seed, scope).integers(2**63)))
