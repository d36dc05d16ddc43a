"""Linear probing to optimality, in float64.

    minimise ||V||_F^2/2 + C_reg sum_i CE(V phi_i + b, y_i)

over V and a free b. It is convex; Newton's method with conjugate gradients finds its minimum.
Features are centred within it, which changes b alone: pretrained features have a common part that
makes the problem badly conditioned. sum_k b_k, on which nothing depends, stays 0.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from replication.errors import InputError
from transformer_dynamics.encoders.calibration import negative_log_likelihood

Floats = NDArray[np.float64]
TOLERANCE = 1e-6
"""Of the largest entry of the gradient."""
MOST_STEPS = 200
"""Of Newton's method; about ten are usual."""
MOST_HALVINGS = 60
"""Of one step."""


class Probe(NamedTuple):
    """A head at the optimum."""

    weight: Floats
    """[C, h] V."""
    bias: Floats
    """[C] b, of sum 0."""
    gradient: float
    """Largest absolute entry of the gradient of the objective in V and b that is left."""
    strength: float
    """C_reg; the larger it is, the weaker is the penalty."""

    def logits(self, features: NDArray[np.floating]) -> Floats:
        """V phi + b: [n, h] to [n, C]."""
        return np.asarray(features, dtype=np.float64) @ self.weight.T + self.bias


def probe(
    features: NDArray[np.floating],
    labels: NDArray[np.integer],
    classes: int,
    strength: float = 1.0,
    tolerance: float = TOLERANCE,
) -> Probe:
    """The optimal head.

    Args:
        features: [n, h] phi_i.
        labels: [n] y_i.
        classes: C; one may have no sample.
        strength: C_reg.
        tolerance: where to stop, in units of `Probe.gradient`.

    Raises:
        InputError: for features that are not finite, C_reg <= 0, or if the optimum is not reached.
    """
    phi = np.asarray(features, dtype=np.float64)
    if not (len(phi) and np.isfinite(phi).all() and strength > 0):
        raise InputError(f"a probe needs finite features and C_reg > 0, but C_reg is {strength}")
    mean = phi.mean(axis=0)
    problem = _Problem(phi - mean, np.eye(classes)[labels], strength)
    point = np.zeros((classes, phi.shape[1] + 1))
    for _ in range(MOST_STEPS):
        gradient, curvature = problem.derivatives(point)
        # In V itself, not in that of centred features.
        left = gradient[:, :-1] + gradient[:, -1:] * mean
        largest = float(max(np.abs(left).max(), np.abs(gradient[:, -1]).max()))
        if largest <= tolerance:
            weight, bias = point[:, :-1], point[:, -1] - point[:, :-1] @ mean
            return Probe(weight.copy(), bias - bias.mean(), largest, strength)
        direction = _solved(curvature, -gradient)
        point = point + problem.step(point, direction, gradient) * direction
    raise InputError(
        f"the probe has a gradient of {largest:.1e} left after {MOST_STEPS} steps, above"
        f" {tolerance:g}; choose a smaller C_reg than {strength:g} or a larger tolerance"
    )


def select(
    train: tuple[NDArray[np.floating], NDArray[np.integer]],
    validation: tuple[NDArray[np.floating], NDArray[np.integer]],
    classes: int,
    strengths: Iterable[float],
) -> Probe:
    """The probe with the highest validation accuracy; of equal ones that of the strongest penalty.

    Args:
        train: features [n, h] and labels [n].
        validation: features [m, h] and labels [m].
        classes: C.
        strengths: C_reg to choose from.

    Raises:
        InputError: if a probe fails.
    """
    probes = [probe(*train, classes, strength) for strength in sorted(strengths)]
    features, labels = validation
    return max(probes, key=lambda each: np.mean(each.logits(features).argmax(axis=1) == labels))


class _Problem(NamedTuple):
    """The objective at [V, b] as one matrix [C, h + 1]."""

    features: Floats
    one_hot: Floats
    strength: float

    def _logits(self, point: Floats) -> Floats:
        return np.asarray(self.features @ point[:, :-1].T + point[:, -1])

    def value(self, point: Floats) -> float:
        loss = negative_log_likelihood(self._logits(point), self.one_hot.argmax(axis=1))
        return float(np.sum(point[:, :-1] ** 2) / 2 + self.strength * len(self.features) * loss)

    def derivatives(self, point: Floats) -> tuple[Floats, Callable[[Floats], Floats]]:
        """Gradient [C, h + 1], and the Hessian as a function of a direction."""
        given = np.exp(log_softmax(self._logits(point), axis=1))

        def pulled(changes: Floats, penalised: Floats) -> Floats:
            """Derivatives in [V, b] from those in the logits [n, C]."""
            scaled = self.strength * changes
            in_weight = scaled.T @ self.features + penalised[:, :-1]
            return np.concatenate([in_weight, scaled.sum(axis=0)[:, None]], axis=1)

        def curvature(direction: Floats) -> Floats:
            moved = self._logits(direction)
            inner = (given * moved).sum(axis=1, keepdims=True)
            return pulled(given * (moved - inner), direction)

        return pulled(given - self.one_hot, point), curvature

    def step(self, point: Floats, direction: Floats, gradient: Floats) -> float:
        """How far to go: all the way, or half of it until the objective falls enough (Armijo)."""
        start, slope, length = self.value(point), float(np.sum(gradient * direction)), 1.0
        # Near the optimum, the fall is below the rounding of the objective.
        slack = 1e-13 * abs(start)
        for _ in range(MOST_HALVINGS):
            if self.value(point + length * direction) <= start + 1e-4 * length * slope + slack:
                break
            length /= 2
        return length


def _solved(curvature: Callable[[Floats], Floats], target: Floats) -> Floats:
    """Solve H x = target by conjugate gradients, the better the nearer the optimum is."""
    size = float(np.linalg.norm(target))
    wanted = min(0.1, np.sqrt(size)) * size
    solution = np.zeros_like(target)
    residual, direction = target.copy(), target.copy()
    squared = float(np.sum(residual**2))
    for _ in range(10 * target.shape[1]):
        bent = curvature(direction)
        length = squared / float(np.sum(direction * bent))
        solution = solution + length * direction
        residual = residual - length * bent
        before, squared = squared, float(np.sum(residual**2))
        if np.sqrt(squared) <= wanted:
            break
        direction = residual + squared / before * direction
    return solution
