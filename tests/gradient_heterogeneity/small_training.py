"""A network of a table, a layer and a head in float64, and settings with which it is trained."""

from typing import NamedTuple

import configured
import numpy as np
import torch

from replication.base.random_streams import generator
from transformer_dynamics.gradient_heterogeneity.training.networks import Block, Network

SHAPES = {
    "table": (7, 5), "matrix": (5, 5), "matrix_bias": (5,), "head": (3, 5), "head_bias": (3,),
}  # fmt: skip
BLOCKS = {
    "table": Block(0, "embedding", 35),
    "matrix": Block(1, "matrix", 25),
    "matrix_bias": Block(1, "bias", 5),
    "head": Block(3, "head", 15),
    "head_bias": Block(3, "bias", 3),
}
OPTIMISERS = ("sgd", "sgd_momentum", "signsgd", "signum", "rmsprop", "adam")


class Words(NamedTuple):
    """Texts of two words; the label is the first one's."""

    words: np.ndarray
    labels: np.ndarray

    def take(self, indices):
        return Words(self.words[indices], self.labels[indices])


def words(number, seed):
    drawn = generator(seed, "words").integers(0, 6, (number, 2))
    return Words(drawn, drawn[:, 0] % 3)


def logits(parameters, batch, training=False):
    """The mean of both words' rows, tanh of a layer of it, and the head; noise in training."""
    phi = parameters["table"][torch.from_numpy(batch.words)].mean(dim=1)
    state = torch.tanh(phi @ parameters["matrix"].T + parameters["matrix_bias"])
    if training:
        state = state * torch.rand(state.shape, dtype=state.dtype)
    return state @ parameters["head"].T + parameters["head_bias"]


def net(seed=0, dropout=False, scale=1.0):
    random = generator(seed, "network")
    start = {name: torch.from_numpy(random.normal(0, scale, SHAPES[name])) for name in SHAPES}
    return Network(
        forward=lambda theta, batch, training: logits(theta, batch, training and dropout),
        start=start,
        blocks=dict(BLOCKS),
        train=words(20, 1),
        validation=words(6, 2),
        test=words(9, 3),
    )


def training(optimiser="adam", **changes):
    given = {"rate": 1e-2, "steps": 8, "batch_size": 6, "points": 4, "slice": 10}
    return configured.training(optimiser, **(given | changes))
