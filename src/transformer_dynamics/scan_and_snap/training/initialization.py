"""Initial parameters: zero, or PyTorch's default of a linear layer from either stream."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from replication.base.random_streams import generator
from transformer_dynamics.scan_and_snap.settings.training import Mixture


class Matrices(NamedTuple):
    """Parameters as the paper writes them."""

    decoder: NDArray[np.floating]
    """[M, M] Decoder Y, rows: tokens attended to, columns: next tokens."""
    attention_logits: NDArray[np.floating]
    """[M, M] Attention logits Z, rows: queries, columns: keys."""


def initial_matrices(mixture: Mixture, initialization: str, stream: str, seed: int) -> Matrices:
    """Return Y(0) = Z(0) = 0, as the theory assumes, or both from U(-1/sqrt(M), 1/sqrt(M)).

    The authors' stream draws them before any sequence, in the released model's order: `K1.weight`,
    which is the transpose of Y, then `K2.weight`, which is Z.
    """
    size = mixture.vocabulary_size
    if initialization == "zero":
        return Matrices(*np.zeros((2, size, size)))
    if stream == "authors":
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed + 2)
            first, second = (torch.nn.Linear(size, size, bias=False).weight for _ in range(2))
        return Matrices(first.detach().numpy().T, second.detach().numpy())
    bound = 1 / np.sqrt(size)
    return Matrices(*generator(seed, "initialization").uniform(-bound, bound, (2, size, size)))
