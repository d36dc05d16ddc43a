"""Decrease that one step is sure to gain on a quadratic of several blocks, for any direction.

L(theta + u) = L(theta) + g.u + u^T H u/2. With h_b = max(lambda_max(H_bb), 0) and
delta = ||H - blockdiag H||_2, for a step u = -eta d

    decrease >= eta g.d - (eta^2/2) ||d||^2 (Lambda(d) + delta)     less (rho/6) ||u||^3 (1)
    Lambda(d) = sum_b h_b ||d_b||^2/||d||^2

The last term of (1) is for a loss whose Hessian has Lipschitz constant rho. Without it

    best rate      eta* = g.d/(||d||^2 (Lambda(d) + delta))                             (2)
    best decrease  (g.d)^2/(2 ||d||^2 (Lambda(d) + delta))                              (3)

Gradient descent is d = g, where Lambda(d) = Lambda_G and (3) = ||g||^2/(2 (Lambda_G + delta)). Sign
descent is d = sign g, where Lambda(d) = Lambda_P and (3) = ||g||_1^2/(2 P (Lambda_P + delta)), both
with entries of zero gradient left out. Rates by block, eta_b, are d_b = eta_b g_b. (1) is an
equality if delta = 0 and H_bb = h_b I.

theta_b = s_b theta'_b makes g'_b = s_b g_b and h'_b = s_b^2 h_b. A gradient step on theta' is one
on theta with rates eta s_b^2, a step by signs one with rates eta s_b.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replication.base.errors import InputError
from transformer_dynamics.gradient_heterogeneity.theory.heterogeneity import Floats

Method = Literal["gradient", "sign"]
"""Name of a method: gradient descent or sign descent."""
METHODS: tuple[Method, ...] = ("gradient", "sign")
"""Names of both methods."""


@dataclass(frozen=True, eq=False)
class Quadratic:
    """Gradient g and Hessian H at one point, and the division of entries into blocks."""

    hessian: Floats
    """[P, P] Hessian H, symmetric; it need not be definite."""
    gradient: Floats
    """[P] Gradient g."""
    sizes: NDArray[np.int64]
    """[B] Number P_b of entries of each block, P in all."""

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """[B] Index of the first entry of every block."""
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]])

    @property
    def within(self) -> NDArray[np.bool_]:
        """[P, P] True where both entries belong to one block."""
        owner = np.repeat(np.arange(len(self.sizes)), self.sizes)
        return np.equal.outer(owner, owner)

    @cached_property
    def curvatures(self) -> Floats:
        """[B] Curvature h_b of each block, at least 0."""
        blocks = zip(self.starts, self.sizes, strict=True)
        largest = [np.linalg.eigvalsh(self.hessian[i : i + n, i : i + n])[-1] for i, n in blocks]
        return np.maximum(largest, 0.0)

    @cached_property
    def coupling(self) -> float:
        """Curvature between blocks, delta = ||H - blockdiag H||_2."""
        return float(np.linalg.norm(np.where(self.within, 0, self.hessian), ord=2))

    def squares(self, vector: Floats) -> Floats:
        """Return the square ||d_b||^2 of every block of a vector [P], [B]."""
        return np.asarray(np.add.reduceat(np.square(vector), self.starts))

    def direction(self, method: Method) -> Floats:
        """Return the direction d of a method: g or sign g [P]."""
        return np.sign(self.gradient) if method == "sign" else self.gradient

    def decrease(self, update: Floats) -> float:
        """Return L(theta) - L(theta + u) = -(g.u + u^T H u/2) for u [P]."""
        return float(-(self.gradient @ update) - update @ self.hessian @ update / 2)

    def move_by(self, update: Floats) -> "Quadratic":
        """Return the same loss seen from theta + u, where the gradient is g + H u."""
        return replace(self, gradient=self.gradient + self.hessian @ update)

    def rescale(self, scales: Floats) -> "Quadratic":
        """Return the loss as a function of theta', theta_b = s_b theta'_b, for s_b > 0 [B]."""
        s = np.repeat(scales, self.sizes)
        return replace(self, hessian=s[:, None] * self.hessian * s, gradient=s * self.gradient)


def curvature_along(quadratic: Quadratic, direction: Floats) -> float:
    """Return Lambda(d) + delta >= d^T H d/||d||^2 for a direction [P] that is not zero."""
    squares = quadratic.squares(direction)
    along = float(quadratic.curvatures @ squares / squares.sum())
    return along + quadratic.coupling


def sure_decrease(
    quadratic: Quadratic, direction: Floats, eta: float, lipschitz: float = 0.0
) -> float:
    """Return the decrease that a step along d [P] is sure to gain, the right-hand side of (1).

    `lipschitz` is rho, 0 for a quadratic.
    """
    square = float(direction @ direction)
    linear = eta * float(quadratic.gradient @ direction)
    cubic = lipschitz / 6 * (eta * square**0.5) ** 3
    quadratic_term = eta**2 / 2 * square * curvature_along(quadratic, direction)
    return float(linear - quadratic_term - cubic)


def best_rate(quadratic: Quadratic, direction: Floats) -> float:
    """Return the rate (2) of which the sure decrease is largest.

    Raises an `InputError` if no block along d is curved upwards and none is coupled.
    """
    curvature = curvature_along(quadratic, direction)
    if not curvature > 0:
        raise InputError("without curvature no rate is the best one")
    return float(quadratic.gradient @ direction / (direction @ direction)) / curvature


def best_decrease(quadratic: Quadratic, direction: Floats) -> float:
    """Return the largest sure decrease (3), half of the best rate's linear part.

    Raises an `InputError` as `best_rate` does.
    """
    return best_rate(quadratic, direction) * float(quadratic.gradient @ direction) / 2


def block_rates(quadratic: Quadratic) -> Floats:
    """Return the direction d_b = g_b/h_b of a step with a rate by block [P].

    eta = 1 gains sum_b ||g_b||^2/(2 h_b) with it at least, if delta = 0. Raises an `InputError` for
    a block without upward curvature.
    """
    h = quadratic.curvatures
    if not np.all(h > 0):
        raise InputError("a block without curvature has no best rate")
    return np.asarray(quadratic.gradient / np.repeat(h, quadratic.sizes))


class Descent(NamedTuple):
    """A run with the best rate of each step, until the gradient is small."""

    steps: int
    """Number T of steps."""
    bound: float
    """Bound 2 sup(Lambda + delta) (L_0 - L*)/(P epsilon^2), which T must not exceed."""


def descend(quadratic: Quadratic, method: Method, epsilon: float, most: int = 100_000) -> Descent:
    """Descend to a method's own target: ||g|| <= sqrt(P) eps, or ||g||_1 <= P eps.

    The first target implies the second, not the reverse, so that the two bounds, which look alike,
    do not compare the methods: kappa is missing in them. Raises an `InputError` if H is not
    positive definite, or if the target is not reached in `most` steps.
    """
    if not np.linalg.eigvalsh(quadratic.hessian)[0] > 0:
        raise InputError("only a positive definite quadratic has a minimum to descend to")
    gap = float(quadratic.gradient @ np.linalg.solve(quadratic.hessian, quadratic.gradient)) / 2
    count, largest, here = len(quadratic.gradient), 0.0, quadratic
    h, delta = quadratic.curvatures, quadratic.coupling
    for steps in range(most):
        g, d = here.gradient, here.direction(method)
        along, square = float(g @ d), float(d @ d)
        if along <= (count * epsilon if method == "sign" else count * epsilon**2):
            return Descent(steps, 2 * largest * gap / (count * epsilon**2))
        curvature = float(h @ quadratic.squares(d)) / square + delta
        largest = max(largest, curvature)
        here = here.move_by(-along / (square * curvature) * d)
    raise InputError(f"the target was not reached in {most} steps")


def stall_level(curvatures: Floats, eta: float) -> float:
    """Return the mean |g_i| at which sign descent of a constant rate stays, eta mean(h_i)/2.

    Exactly, over any two steps, on a separable quadratic with curvatures h_i [P]: an entry goes to
    and fro between theta and theta - eta, 0 < theta < eta. It is eta Lambda_P/2 for h_i = h_b,
    where (1) for signs turns negative, too.
    """
    return float(eta * np.mean(curvatures) / 2)


def stalled_gradient(curvatures: Floats, start: Floats, eta: float, steps: int) -> float:
    """Return the mean |g_i| over the last two steps of sign descent on sum_i h_i theta_i^2/2.

    Curvatures h_i and the start theta are [P]; there are two steps at least.
    """
    theta, means = start, [0.0, 0.0]
    for step in range(steps):
        theta = theta - eta * np.sign(curvatures * theta)
        means[step % 2] = float(np.mean(np.abs(curvatures * theta)))
    return sum(means) / 2


def draw_quadratic(
    random: np.random.Generator, *, coupled: bool = True, definite: bool = False
) -> Quadratic:
    """Draw a quadratic of 2 to 8 blocks of 1 to 12 entries.

    Blocks are rotated spectra whose scale is lognormal over blocks, over four orders of magnitude;
    so are gradients. Blocks may be indefinite unless H is `definite`, and some entries have no
    gradient. `coupled` adds curvature between blocks.
    """
    sizes = random.integers(1, 13, random.integers(2, 9))
    total, blocks = int(sizes.sum()), []
    for size in sizes:
        rotation = np.linalg.qr(random.normal(size=(size, size)))[0]
        low = 0.05 if definite else -1.0
        spectrum = random.uniform(low, 1.0, size) * np.exp(2 * random.normal())
        blocks.append(rotation * spectrum @ rotation.T)
    hessian = np.zeros((total, total))
    start = 0
    for block in blocks:
        stop = start + len(block)
        hessian[start:stop, start:stop] = block
        start = stop
    scales = np.repeat(np.exp(2 * random.normal(size=len(sizes))), sizes)
    gradient = scales * random.normal(size=total) * (random.random(total) > 0.1)
    gradient[random.integers(total)] = 1.0
    drawn = Quadratic(hessian, gradient, sizes)
    if coupled:
        noise = np.where(drawn.within, 0, random.normal(size=(total, total)))
        noise = (noise + noise.T) * np.exp(random.normal()) / np.sqrt(total)
        drawn = replace(drawn, hessian=hessian + noise)
    if definite:
        lowest = float(np.linalg.eigvalsh(drawn.hessian)[0])
        shift = max(0.05 - lowest, 0.0) * np.eye(total)
        drawn = replace(drawn, hessian=drawn.hessian + shift)
    return drawn


def isotropic_quadratic(
    curvatures: Floats, sizes: NDArray[np.int64], gradient: Floats
) -> Quadratic:
    """Return the quadratic with H_bb = h_b I and delta = 0, where (1) is an equality.

    It is one for every direction and rate. Curvatures h_b >= 0 and sizes P_b are [B], g is [P].
    """
    return Quadratic(np.diag(np.repeat(curvatures, sizes)), gradient, sizes)


def coupled_pair(curvatures: Floats, coupling: float) -> Quadratic:
    """Return a quadratic of two blocks of one entry, where (1) is an equality.

    It has H_12 = delta > 0, the coupling, and g = (1, 1); curvatures h_b >= 0 are [2].
    """
    hessian = np.diag(curvatures) + coupling * (1 - np.eye(2))
    return Quadratic(hessian, np.ones(2), np.ones(2, dtype=np.int64))
