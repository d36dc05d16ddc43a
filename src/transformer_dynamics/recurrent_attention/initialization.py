"""Parameters before training."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replication.generators import generator
from transformer_dynamics.recurrent_attention.model_settings import Model

FROZEN = ("value_start", "output_start", "basis_start")
"""Parameters that are not trained."""
READOUT_BLOCK = 4
"""Channels of which the readout takes a norm."""


def initial(model: Model, digits: int, seed: int) -> Mapping[str, NDArray[np.float32]]:
    """The parameters of one seed by name.

    Matrices W [in, out] are uniform within 1/sqrt(in), as linear layers of PyTorch are; embeddings
    and positions have entries of the standard deviation `model.embedding`, or 1/sqrt(D), so that
    tokens have norms of about 1; eta = 1, gamma = 1, omega = 1/2; orthogonal matrices are uniform.

    Args:
        model: which model.
        digits: number of digits, which is that of rows and of columns.
        seed: of the run.
    """
    random, width = generator(seed, "initialization"), model.width
    scale = width**-0.5 if model.embedding is None else model.embedding

    def linear(rows: int, columns: int) -> NDArray[np.float64]:
        bound = rows**-0.5
        return random.uniform(-bound, bound, (rows, columns))

    made: dict[str, Any] = {
        "embedding": random.normal(0, scale, (digits + 1, width)),
        "positions": random.normal(0, scale, (digits**2, width)),
        "readout": linear(width, READOUT_BLOCK * width),
        "readout_bias": np.zeros(width),
        "layer_1": linear(width, width),
        "layer_2": linear(width, width),
        "layer_3": linear(width, width),
        "layer_4": linear(width, digits),
        **{f"bias_{layer}": np.zeros(width) for layer in (1, 2, 3)},
        "bias_4": np.zeros(digits),
        "eta": np.ones(()),
    }
    if model.kind == "itrsa" and model.normalised:
        made["gamma"] = np.ones(width)
    if model.kind == "akorn":
        made["omega"] = np.full((), 0.5)
    if model.kind == "symmetric":
        made["symmetric"] = linear(width, width)
    elif model.projections == "hard":
        made |= _rotation("basis", random, width)
    else:
        made |= {"query": linear(width, width), "key": linear(width, width)}
        for name in ("value", "output"):
            is_free = model.projections == "free"
            free = {name: linear(width, width)}
            made |= free if is_free else _rotation(name, random, width)
    return {name: np.asarray(value, np.float32) for name, value in made.items()}


def _rotation(name: str, random: np.random.Generator, width: int) -> dict[str, Any]:
    """An orthogonal matrix to start at, and no way gone from it."""
    start, triangle = np.linalg.qr(random.normal(size=(width, width)))
    return {
        f"{name}_start": start * np.sign(np.diagonal(triangle)),
        f"{name}_angles": np.zeros((width, width)),
    }
