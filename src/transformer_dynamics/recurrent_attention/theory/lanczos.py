"""Lanczos iteration on linear maps that are too large to be written down."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch
from scipy.linalg import eigh_tridiagonal
from torch import Tensor

from replication.base.errors import InputError

Map = Callable[[Tensor], Tensor]


class Tridiagonal(NamedTuple):
    """A symmetric map in the basis of Lanczos' vectors."""

    diagonal: list[float]
    """Entries on the diagonal, one per iteration."""
    beside: list[float]
    """Entries beside it, one fewer."""
    length: float
    """Length of the part of the last image that is normal to all vectors."""


def lanczos(square: Map, start: Tensor, most: int) -> Iterator[Tridiagonal]:
    """Yield the tridiagonal matrix of a symmetric map v -> A v after every iteration.

    Every vector is made normal to all before, twice. The last one spans, with the others, all
    images of the start, which may have any shape.
    """
    basis = (start / torch.linalg.vector_norm(start)).flatten().unsqueeze(0)
    diagonal: list[float] = []
    beside: list[float] = []
    for _ in range(min(most, start.numel())):
        image = square(basis[-1].reshape(start.shape)).flatten()
        diagonal.append(float(image @ basis[-1]))
        for _ in range(2):
            image = image - basis.mT @ (basis @ image)
        length = float(torch.linalg.vector_norm(image))
        yield Tridiagonal([*diagonal], [*beside], length)
        beside.append(length)
        basis = torch.cat([basis, image.unsqueeze(0) / length])


def largest_singular_value(
    push: Map, pull: Map, start: Tensor, tolerance: float = 1e-6, most: int = 500
) -> float:
    """Return s of the maps v -> J v and u -> J^T u, by Lanczos iteration on J^T J.

    It ends when |J^T J v - s^2 v| <= tolerance s^2, so that J has a singular value whose square is
    as near to s^2; s^2 itself is far nearer, to second order. The start, of any shape, decides only
    the number of iterations. Raise InputError if it takes more than `most` iterations, or meets
    numbers that are not finite.
    """
    for diagonal, beside, length in lanczos(lambda vector: pull(push(vector)), start, most):
        if not np.isfinite(diagonal[-1]):
            raise InputError("the map's image is not finite, so it has no largest singular value")
        top = (len(diagonal) - 1, len(diagonal) - 1)
        (square,), along = eigh_tridiagonal(diagonal, beside, select="i", select_range=top)
        if length * abs(along[-1, 0]) <= tolerance * square or len(diagonal) == start.numel():
            return float(np.sqrt(square))
    raise InputError(f"the largest singular value was not found in {most} iterations")
