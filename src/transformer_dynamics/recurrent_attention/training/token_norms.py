"""Spectral norm of the Jacobian of untrained attention against the number of tokens (Figure 1).

The paper does not say which tensor is normalised; `READINGS` are the possible ones.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm

from replication.base.random_streams import generator
from transformer_dynamics.recurrent_attention.settings.token_norms import TokenNormsJob
from transformer_dynamics.recurrent_attention.theory.attention import Weights, attention
from transformer_dynamics.recurrent_attention.theory.exponents import linear_maps
from transformer_dynamics.recurrent_attention.theory.lanczos import largest_singular_value
from transformer_dynamics.recurrent_attention.theory.recurrence import unit_blocks

Map = Callable[[torch.Tensor], torch.Tensor]


def unit_tokens(tokens: torch.Tensor) -> torch.Tensor:
    """Divide every token by its length."""
    return unit_blocks(tokens, tokens.shape[-1])


READINGS: dict[str, Callable[[Map, torch.Tensor], torch.Tensor]] = {
    "SA(X)": lambda attend, x: attend(x),
    "SA(Norm(X))": lambda attend, x: attend(unit_tokens(x)),
    "Norm(SA(X))": lambda attend, x: unit_tokens(attend(x)),
    "Norm(X + SA(X))": lambda attend, x: unit_tokens(x + attend(x)),
}
"""Functions that are differentiated, by name; the first is without normalisation."""
BOUNDS = {"linear": 1.0, "xavier": 3**0.5}
"""Largest weight over 1/sqrt(D), by initialisation."""


def train(
    job: TokenNormsJob,
    seeds: list[int],
    data: Sequence[Mapping[str, NDArray[Any]]],
    checkpoint: object,
) -> dict[str, NDArray[np.float64]]:
    """Draw weights and texts for every seed, and return |J|_2; nothing is trained.

    `norms` [seed, reading, initialisation, heads, tokens] are means over texts.
    """
    shape = (len(READINGS), len(job.initialisations), len(job.heads), len(job.tokens))
    norms = np.empty((len(seeds), *shape))
    with tqdm(total=norms.size, unit="norm", file=sys.stderr) as progress:
        for index, seed in enumerate(seeds):
            texts = _draw_texts(job, seed)
            weights = [_draw_weights(job, seed, name) for name in job.initialisations]
            for place in np.ndindex(shape):
                reading, initialisation, heads, tokens = place
                attend = partial(
                    attention,
                    weights=weights[initialisation],
                    heads=job.heads[heads],
                    beta=(job.dimension / job.heads[heads]) ** -0.5,
                )
                read = partial(list(READINGS.values())[reading], attend)
                found = [
                    _jacobian_norm(read, text[: job.tokens[tokens]], job.tolerance)
                    for text in texts
                ]
                norms[index, *place] = np.mean(found)
                progress.update()
    return {"norms": norms}


def _jacobian_norm(function: Map, text: torch.Tensor, tolerance: float) -> float:
    """Return |J|_2 of a function of tokens at a text."""
    push, pull = linear_maps(function, text)
    start = torch.from_numpy(generator(0, "start of the search").normal(size=text.shape))
    return largest_singular_value(push, pull, start, tolerance)


def _draw_texts(job: TokenNormsJob, seed: int) -> torch.Tensor:
    """Draw the longest texts [texts, S, D]: words by Zipf's law, each with one embedding."""
    weight = np.arange(1, job.vocabulary + 1, dtype=np.float64) ** -job.zipf
    words = generator(seed, "words").choice(
        job.vocabulary, size=(job.texts, max(job.tokens)), p=weight / weight.sum()
    )
    embeddings = generator(seed, "embeddings").normal(size=(job.vocabulary, job.dimension))
    return job.radius * unit_tokens(torch.from_numpy(embeddings[words]))


def _draw_weights(job: TokenNormsJob, seed: int, initialisation: str) -> Weights:
    """Draw four matrices [D, D]; those of two initialisations are in proportion."""
    bound = BOUNDS[initialisation] / job.dimension**0.5
    shape = (len(Weights._fields), job.dimension, job.dimension)
    drawn = torch.from_numpy(generator(seed, "weights").uniform(-bound, bound, shape))
    return Weights(*drawn)
