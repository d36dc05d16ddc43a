"""Parameters before training, drawn from the seed."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replication.base.random_streams import generator
from transformer_dynamics.recurrent_attention.settings.models import Network

FROZEN = ("value_start", "output_start", "basis_start")
"""Parameters that are not trained."""


def initial_parameters(model: Network, digits: int, seed: int) -> Mapping[str, NDArray[np.float32]]:
    """Return the parameters of one seed by name; `digits` is the number of digits.

    Matrices W [in, out] are uniform within a bound, `model.matrices`; embeddings and positions have
    entries of the standard deviation `model.embedding`, or 1/sqrt(D), so that tokens have norms of
    about 1; eta, gamma and omega are those of the model; orthogonal matrices are uniform.
    Parameters that a model lacks are drawn all the same, so that all else is as in the others.
    """
    random, width = generator(seed, "initialization"), model.width
    scale = width**-0.5 if model.embedding is None else model.embedding

    def uniform(rows: int, columns: int) -> NDArray[np.float64]:
        bound = _largest_entry(model, rows, columns)
        return random.uniform(-bound, bound, (rows, columns))

    made: dict[str, Any] = {
        "embedding": random.normal(0, scale, (digits + 1, width)),
        "positions": random.normal(0, scale, (digits**2, width)),
        "readout": uniform(width, model.readout_block * width),
        "readout_bias": np.zeros(width),
        "layer_1": uniform(width, width),
        "layer_2": uniform(width, width),
        "layer_3": uniform(width, width),
        "layer_4": uniform(width, digits),
        **{f"bias_{layer}": np.zeros(width) for layer in (1, 2, 3)},
        "bias_4": np.zeros(digits),
        "eta": np.full((), model.eta),
    }
    if model.positions == "none":
        del made["positions"]
    if model.kind == "itrsa" and model.normalised:
        made["gamma"] = np.full(width, model.gamma)
    if model.kind == "akorn":
        name, shape = ("omega", ()) if model.omegas == "one" else ("omegas", (width // 2,))
        made[name] = np.full(shape, model.omega)
    if model.kind == "symmetric":
        made["symmetric"] = uniform(width, width)
    elif model.projections == "hard":
        made |= _draw_orthogonal("basis", random, width)
    else:
        made |= {"query": uniform(width, width), "key": uniform(width, width)}
        for name in ("value", "output"):
            free = {name: uniform(width, width)}
            is_free = model.projections == "free"
            made |= free if is_free else _draw_orthogonal(name, random, width)
    return {name: np.asarray(value, np.float32) for name, value in made.items()}


def _largest_entry(model: Network, rows: int, columns: int) -> float:
    """Return the largest entry of a uniform matrix [rows, columns]."""
    if model.matrices == "xavier":
        return float((6 / (rows + columns)) ** 0.5)
    return float(rows**-0.5)


def _draw_orthogonal(name: str, random: np.random.Generator, width: int) -> dict[str, Any]:
    """Draw the orthogonal matrix that `effective_weights` starts from, with angles 0."""
    start, triangle = np.linalg.qr(random.normal(size=(width, width)))
    return {
        f"{name}_start": start * np.sign(np.diagonal(triangle)),
        f"{name}_angles": np.zeros((width, width)),
    }
