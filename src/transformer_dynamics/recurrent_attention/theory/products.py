"""Jacobians as products, for tokens whose matrices would not fit.

A Jacobian J of n = S D rows is two maps, V -> J V and U -> J^T U, made of backward derivatives; no
array has n^2 numbers. Tokens X are [S, D], without leading axes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.linalg import eigh_tridiagonal
from scipy.sparse.linalg import ArpackError, LinearOperator, eigs, eigsh
from torch import Tensor
from torch.func import vmap

from replication.base.errors import InputError
from transformer_dynamics.recurrent_attention.settings.models import MOST_ROWS, Model
from transformer_dynamics.recurrent_attention.theory.attention import Weights
from transformer_dynamics.recurrent_attention.theory.exponents import Map, linear_maps
from transformer_dynamics.recurrent_attention.theory.jacobian import Step, step_with_jacobian
from transformer_dynamics.recurrent_attention.theory.lanczos import lanczos
from transformer_dynamics.recurrent_attention.theory.pseudo_energy import count_directions
from transformer_dynamics.recurrent_attention.theory.recurrence import (
    Parameters,
    next_tokens,
    split_blocks,
    unit_blocks,
)

COLUMNS = 16
"""Number of columns that are multiplied at once: more take more memory and are hardly faster."""
PROBES, ITERATIONS = 4, 200
"""Numbers of random vectors, and of Lanczos iterations at most, of a log-determinant."""
SETTLED, TOLERANCE = 5, 1e-6
"""Number of iterations that may change a quadrature by no more, before it counts."""
Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Products:
    """A square matrix J by its products with [n, k] frames, as `jacobian @ frame` has them."""

    push: Map
    """V -> J V [n, k]."""
    pull: Map
    """U -> J^T U [n, k]."""
    like: Tensor
    """A vector [n] of the type and on the device of the others."""

    @classmethod
    def of(cls, function: Map, at: Tensor) -> "Products":
        """Return the Jacobian of a function of tokens [S, D] at a point."""

        def on_frames(one: Map) -> Map:
            columns = vmap(one, in_dims=-1, out_dims=-1, chunk_size=COLUMNS)
            return lambda frame: columns(torch.unflatten(frame, 0, at.shape)).flatten(0, 1)

        push, pull = map(on_frames, linear_maps(function, at))
        return cls(push, pull, at.flatten())

    @classmethod
    def of_matrix(cls, matrix: Tensor) -> "Products":
        """Return a matrix [n, n] as products."""
        return cls(matrix.matmul, matrix.mT.matmul, matrix[0])

    def __matmul__(self, frame: Tensor) -> Tensor:
        return self.push(frame)

    @property
    def mT(self) -> "Products":
        """The transpose."""
        return Products(self.pull, self.push, self.like)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self.like), len(self.like)

    def isfinite(self) -> Tensor:
        """Return true for every row [n] whose product with a vector is a number."""
        return torch.isfinite(self @ _signs(self.like, 0).unsqueeze(-1)).squeeze(-1)

    def on_vectors(self) -> Callable[[Vector], Vector]:
        """Return v -> J v for vectors of NumPy."""

        def product(vector: Vector) -> Vector:
            given = torch.from_numpy(np.array(vector)).to(self.like)
            return np.asarray((self @ given.reshape(-1, 1)).squeeze(-1).cpu().numpy())

        return product


def jacobian_step(
    model: Model, parameters: Parameters, weights: Weights, inputs: Tensor
) -> Callable[[Tensor], Step[Any]]:
    """Return the step of a model with its Jacobian: as products where matrices would not fit.

    Weights are the `effective_weights` of the parameters of one model; inputs are C [S, D].
    """
    is_small = inputs.numel() <= MOST_ROWS
    step = step_with_jacobian if is_small else step_by_products
    return partial(step, model, parameters, weights, inputs=inputs)


def step_by_products(
    model: Model, parameters: Parameters, weights: Weights, tokens: Tensor, inputs: Tensor
) -> Step[Products]:
    """Return one step with its Jacobian as products; arguments of `jacobian.step_with_jacobian`.

    Normals are those of the blocks [B, N], not columns of a matrix.
    """
    step = partial(next_tokens, model, parameters, weights, inputs=inputs)
    ahead = step(tokens)
    normals = split_blocks(ahead, model.block).flatten(0, 1)[:0]
    if model.normalised:
        gamma = parameters["gamma"] if model.kind == "itrsa" else torch.ones_like(ahead[0])
        # X' = gamma y/|y|, and the image of the Jacobian is normal to y/gamma.
        normals = split_blocks(unit_blocks(ahead / gamma.square(), model.block), model.block)
        normals = normals.flatten(0, 1)
    return Step(ahead, Products.of(step, tokens), normals)


def mean_exponent(steps: Sequence[Step[Products]]) -> tuple[float, float]:
    """Return the mean of the exponents that are not null, and its standard error.

    Both are NaN if a step is too ill-conditioned for them, as M M^T squares its condition.

    Of the first step, with L the normals of its image, the log-volume is log det(J J^T + L L^T)/2;
    of a later one, with B the normals of the step before, log det(M M^T)/2 of M = J + L B^T, see
    `exponents.mean_exponent`. Log-determinants are traces of logarithms, each the mean over random
    vectors of a Gauss quadrature by Lanczos (Ubaru, Chen and Saad, SIAM J. Matrix Anal. 38, 2017).
    """
    size, nulls = len(steps[0].jacobian.like), len(steps[0].normals)
    squares = [partial(_first_square, steps[0])]
    squares += [partial(_later_square, step, before.normals) for before, step in pairwise(steps)]
    found = [
        sum(_log_quadrature(square, _signs(steps[0].jacobian.like, probe)) for square in squares)
        for probe in range(PROBES)
    ]
    means = size * np.array(found) / (2 * len(steps) * (size - nulls))
    return float(means.mean()), float(means.std(ddof=1) / np.sqrt(PROBES))


def largest_eigenvalues(jacobian: Products, count: int) -> NDArray[np.complex128]:
    """Return eigenvalues of largest modulus, then those of largest |imaginary part|, by Arnoldi.

    There are `count` of each kind, at most 2 (count + 1) in all; those of both kinds come once. The
    conjugate of the last one of a kind may lack. Raise InputError if the iteration does not find
    them.
    """
    start = _signs(jacobian.like, 0).cpu().numpy()
    operator = LinearOperator(jacobian.shape, matvec=jacobian.on_vectors(), dtype=np.float64)
    # Where most eigenvalues are nearly real, those of largest imaginary part need a wide space.
    kept = min(len(start), 4 * count + 20)
    try:
        largest, turning = (
            eigs(operator, count, which=kind, v0=start, ncv=kept, return_eigenvectors=False)
            for kind in ("LM", "LI")
        )
    except ArpackError as error:
        raise InputError(f"the largest eigenvalues were not found: {error}") from error
    apart = np.abs(turning[:, None] - largest).min(axis=1) > 1e-9 * np.abs(largest).max()
    return np.concatenate([largest, turning[apart]])


def leading_directions(jacobian: Products, share: float) -> Tensor:
    """Return orthonormal eigenvectors of the largest eigenvalues of J + J^T [n, K], by Lanczos.

    K is a share of all n directions, rounded down. Raise InputError if it is 0, or the iteration
    fails.
    """
    size = len(jacobian.like)
    push, pull = jacobian.on_vectors(), jacobian.mT.on_vectors()
    operator = LinearOperator(
        jacobian.shape, matvec=lambda vector: push(vector) + pull(vector), dtype=np.float64
    )
    start = _signs(jacobian.like, 0).cpu().numpy()
    try:
        _, basis = eigsh(operator, count_directions(share, size), which="LA", v0=start)
    except ArpackError as error:
        raise InputError(f"the leading directions were not found: {error}") from error
    return torch.from_numpy(basis).to(jacobian.like)


def _first_square(step: Step[Products], vector: Tensor) -> Tensor:
    """Return J J^T u + L L^T u."""
    image = step.jacobian @ (step.jacobian.mT @ vector.unsqueeze(-1))
    return image.squeeze(-1) + _spread(step.normals, _along(step.normals, vector))


def _later_square(step: Step[Products], before: Tensor, vector: Tensor) -> Tensor:
    """Return M M^T u, M = J + L B^T."""
    back = (step.jacobian.mT @ vector.unsqueeze(-1)).squeeze(-1)
    back = back + _spread(before, _along(step.normals, vector))
    ahead = (step.jacobian @ back.unsqueeze(-1)).squeeze(-1)
    return ahead + _spread(step.normals, _along(before, back))


def _along(normals: Tensor, vector: Tensor) -> Tensor:
    """Return L^T u [B] of the normals of blocks [B, N]."""
    return (normals * vector.reshape(len(normals), -1)).sum(dim=-1) if len(normals) else vector[:0]


def _spread(normals: Tensor, values: Tensor) -> Tensor | float:
    """Return L c [n], or 0 without normals."""
    return (normals * values.unsqueeze(-1)).flatten() if len(normals) else 0.0


def _log_quadrature(square: Map, start: Tensor) -> float:
    """Return z^T log(A) z for a unit vector z, A symmetric and positive.

    It ends when the last iterations have hardly changed it. It is NaN if `ITERATIONS` are not
    enough, if an image is not finite, or if A is not positive up to rounding.
    """
    found: list[float] = []
    for diagonal, beside, length in lanczos(square, start, ITERATIONS):
        if not np.isfinite(diagonal[-1]):
            return np.nan
        values, vectors = eigh_tridiagonal(diagonal, beside)
        if values[0] <= 0:
            return np.nan
        found.append(float(vectors[0] ** 2 @ np.log(values)))
        # A short remainder is rounding: the vectors so far span all that the map sees.
        is_whole = length < 1e-12 * max(diagonal) or len(found) == start.numel()
        if is_whole or _has_settled(found):
            return found[-1]
    return np.nan


def _has_settled(found: Sequence[float]) -> bool:
    """Say whether the last iterations have changed a value by less than the tolerance."""
    return len(found) > SETTLED and abs(found[-1] - found[-1 - SETTLED]) <= TOLERANCE


def _signs(like: Tensor, number: int) -> Tensor:
    """Return the same unit vector [n] of random signs every time."""
    random = torch.Generator().manual_seed(number)
    signs = torch.randint(2, like.shape, generator=random, dtype=torch.float64) * 2 - 1
    unit: Tensor = (signs / np.sqrt(len(signs))).to(like)
    return unit
