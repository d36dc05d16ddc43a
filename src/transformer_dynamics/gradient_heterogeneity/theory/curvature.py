"""The largest eigenvalue of a tensor's own Hessian block, by power iteration as released.

The released code iterates v <- H v/||H v|| from a random vector until v.H v changes by less than a
thousandth, 100 times at most. This finds the eigenvalue of largest magnitude. If it is negative the
code starts again at right angles to what it has found, five times at most, and takes the first that
is positive, or the largest if none is. So h_b is the largest positive eigenvalue, if the iteration
gets that far and at most four negative ones are larger in magnitude.

A Rayleigh quotient changes slowly far from convergence, too, for instance while a negative and a
positive eigenvalue balance. Then the released tolerance stops an iteration too early.

Three things of the released code are kept: it reports the eigenvalue before the one that ended the
iteration; lengths have 1e-6 added; and so has the eigenvalue that a change is relative to, so that
an eigenvalue below 1e-9 is taken after two products.
"""

from collections.abc import Callable, Mapping
from math import isfinite, nan
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

Loss = Callable[[dict[str, Tensor]], Tensor]
"""Function from parameters by name to a number."""
Product = Callable[[Tensor], Tensor]
"""Map v -> H v."""


class Iteration(NamedTuple):
    """End of an iteration; the values are the released ones."""

    tolerance: float = 1e-3
    """Relative change of an eigenvalue that ends an iteration."""
    most: int = 100
    """Largest number of products for one eigenvalue."""
    vectors: int = 5
    """Largest number of eigenvalues, if none before the last is positive."""
    guard: float = 1e-6
    """Number that is added to lengths and eigenvalues before something is divided by them."""


RELEASED = Iteration()
"""Constants by which the released code ends an iteration."""
NEGLIGIBLE = 1e-3
"""Share of the largest magnitude below which the largest eigenvalue is not told from zero."""
ROUNDING = 1e-14
"""Length, relative to the largest eigenvalue, that is one of rounding."""


class TopEigenvalue(NamedTuple):
    """Result of an iteration."""

    eigenvalue: float
    """First positive eigenvalue, or the largest if none is positive."""
    vector: Tensor
    """Unit vector H v/||H v|| of the last product, shaped as the tensor."""
    products: int
    """Number of Hessian-vector products of all vectors."""
    tried: int
    """Number of eigenvalues that were found; above 1 the one of largest magnitude is not
    positive."""


def block_product(loss: Loss, parameters: Mapping[str, Tensor], name: str) -> Product:
    """Return the map v -> H_bb v of the tensor `name`, all others being constant.

    Both v and H_bb v are shaped as the tensor. The loss of all parameters and its gradient are
    computed once; a product costs one more pass backwards.
    """

    def of_block(tensor: Tensor) -> Tensor:
        return loss({**parameters, name: tensor})

    # H is symmetric, so that pulling v back through the gradient is H v.
    pull = torch.func.vjp(torch.func.grad(of_block), parameters[name])[1]

    def product(vector: Tensor) -> Tensor:
        (image,) = pull(vector)
        found: Tensor = image.detach()
        return found

    return product


def top_eigenvalue(
    product: Product, like: Tensor, random: torch.Generator, iteration: Iteration = RELEASED
) -> TopEigenvalue:
    """Find an eigenvalue of a symmetric map v -> H v by power iteration with deflation.

    `like` has v's shape and type; `random` generates starting vectors.
    """
    found: list[float] = []
    vectors: list[Tensor] = []
    products = 0
    for _ in range(iteration.vectors):
        start = torch.randn(like.shape, generator=random, dtype=like.dtype).to(like.device)
        eigenvalue, vector, used = _power_iteration(product, start, vectors, iteration)
        products += used
        found.append(eigenvalue)
        vectors.append(vector)
        if eigenvalue > 0:
            break
    best = max(range(len(found)), key=found.__getitem__)
    return TopEigenvalue(found[best], vectors[best], products, len(found))


def _power_iteration(
    product: Product, start: Tensor, found: list[Tensor], iteration: Iteration
) -> tuple[float, Tensor, int]:
    """Find one eigenvalue at right angles to others, its vector and the number of products."""
    vector, eigenvalue, used = _unit_vector(start, iteration.guard), 0.0, 0
    while used < iteration.most:
        vector = _unit_vector(_without(vector, found), iteration.guard)
        image = product(vector)
        new = float((image * vector).sum())
        vector = _unit_vector(image, iteration.guard)
        used += 1
        allowed = iteration.tolerance * (abs(eigenvalue) + iteration.guard)
        if used > 1 and abs(eigenvalue - new) < allowed:
            break
        eigenvalue = new
    return eigenvalue, vector, used


def _without(vector: Tensor, others: list[Tensor]) -> Tensor:
    """Return a vector without its parts along other vectors, which have unit length."""
    for other in others:
        vector = vector - (vector * other).sum() * other
    return vector


def _unit_vector(vector: Tensor, guard: float) -> Tensor:
    unit: Tensor = vector / (torch.linalg.vector_norm(vector) + guard)
    return unit


def largest_eigenvalue(
    product: Product,
    like: Tensor,
    random: torch.Generator,
    least: int,
    tolerance: float = RELEASED.tolerance,
    most: int = RELEASED.most,
) -> TopEigenvalue:
    """Find the largest eigenvalue of a symmetric map, whatever its sign, by Lanczos' iteration.

    After k products it is the largest one within the space of v, H v, ..., H^(k-1) v, so that it is
    never above the truth and never below what power iteration has after as many products; negative
    eigenvalues, however large, do not disturb it. With T = S theta S^T the tridiagonal matrix of
    that space and beta the length of what leaves it, some eigenvalue of H is within |beta S_(k,1)|
    of theta_1. After `least` products this ends the iteration once it is below the tolerance,
    relative to theta_1 or, if larger, to `NEGLIGIBLE` times the largest |theta|. Relative to the
    largest |theta| itself it would end where a negative eigenvalue is large and theta_1 has hardly
    begun to grow. Before `least` products theta_1 may be one of the many eigenvalues near zero,
    near which a residual is small, too.

    `like` has v's shape and type. Products end at `most`, or at the number of entries. The
    eigenvalue is NaN if a product is not finite.
    """
    start = torch.randn(like.shape, generator=random, dtype=like.dtype).to(like.device)
    basis = [start / torch.linalg.vector_norm(start)]
    diagonal: list[float] = []
    beside: list[float] = []
    while True:
        image = product(basis[-1])
        diagonal.append(float((image * basis[-1]).sum()))
        # Twice, as rounding otherwise brings back what was found first.
        image = _without(_without(image, basis), basis)
        length = float(torch.linalg.vector_norm(image))
        if not isfinite(length + diagonal[-1]):
            return TopEigenvalue(nan, torch.zeros_like(like), len(basis), 1)
        matrix = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
        values, vectors = np.linalg.eigh(matrix)
        allowed = tolerance * max(values[-1], NEGLIGIBLE * np.abs(values).max())
        number = len(basis)
        has_converged = number >= least and length * abs(vectors[-1, -1]) <= allowed
        # A space that nothing leaves has all eigenvalues that the start can find.
        is_whole = length <= ROUNDING * np.abs(values).max()
        if has_converged or is_whole or number >= min(most, like.numel()):
            vector = torch.zeros_like(like)
            for share, each in zip(vectors[:, -1], basis, strict=True):
                vector = vector.add(each, alpha=float(share))
            return TopEigenvalue(float(values[-1]), vector, number, 1)
        beside.append(length)
        basis.append(image / length)
