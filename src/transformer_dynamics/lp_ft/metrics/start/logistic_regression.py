"""Binary logistic regression as scikit-learn's LogisticRegressionCV defines it, to the optimum.

    minimise ||w||^2/2 + C sum_i ln(1 + exp(-s_i (w . x_i + c))),   s_i = 2 y_i - 1

over w and a free c, where C is chosen by the accuracy of k stratified folds, averaged, and the
smallest of equal ones is taken. scikit-learn's L-BFGS stops earlier, at a gradient of 1e-4, and its
Newton methods stop on rows of kernels, whose entries span twelve orders. So rows are centred and
turned to their principal axes here, x_i - m = S u_i, and v = S w is found by Newton's method.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

from replication.base.errors import InputError

Floats = NDArray[np.float64]
MOST_STEPS = 500
"""Largest number of steps of Newton's method."""
MOST_HALVINGS = 60
"""Largest number of halvings of one step."""
TOLERANCE = 1e-10
"""Relative fall of the objective that may still be left, about."""


class Axes(NamedTuple):
    """Centred rows by their singular vectors."""

    mean: Floats
    """[p] Mean m."""
    left: Floats
    """[n, r] Left singular vectors u_i."""
    lengths: Floats
    """[r] Singular values S."""
    right: Floats
    """[r, p] Right singular vectors."""

    @classmethod
    def of_rows(cls, rows: Floats) -> "Axes":
        """Compute the axes of rows [n, p]."""
        mean = rows.mean(axis=0)
        left, lengths, right = np.linalg.svd(rows - mean, full_matrices=False)
        kept = lengths > max(rows.shape) * np.finfo(np.float64).eps * max(lengths[0], 1e-300)
        return cls(mean, left[:, kept], lengths[kept], right[kept])

    def project(self, rows: Floats) -> Floats:
        """Return [n, r] other rows in these axes."""
        return np.asarray((rows - self.mean) @ self.right.T / self.lengths)


class Fit(NamedTuple):
    """A classifier, with the axes of the rows that it was fitted to."""

    axes: Axes
    weight: Floats
    """[r] Weights v in these axes."""
    intercept: float
    """Intercept c of centred rows."""
    strength: float
    """Strength C."""

    @property
    def coefficients(self) -> tuple[Floats, float]:
        """Weights w [p] and intercept c of rows that are not centred."""
        w = self.axes.right.T @ (self.weight / self.axes.lengths)
        return w, self.intercept - float(w @ self.axes.mean)

    def scores(self, rows: Floats) -> Floats:
        """Return [n] w . x + c of rows [n, p]."""
        return np.asarray(self.axes.project(rows) @ self.weight + self.intercept)


def fit_cross_validated(rows: Floats, is_one: NDArray[np.bool_], strengths: Sequence[float],
                    folds: int) -> Fit:  # fmt: skip
    """Fit all rows x [n, p] with the best of the strengths C, and return the classifier.

    `is_one` is y [n]. Samples are not shuffled into the folds. Raises an `InputError` if a fit
    fails, or a class has fewer samples than there are folds.
    """
    from sklearn.model_selection import StratifiedKFold

    if min(is_one.sum(), (~is_one).sum()) < folds:
        raise InputError(f"{folds} folds need as many samples of either class; take more samples")
    ascending = sorted(strengths)
    scores = np.zeros(len(ascending))
    for others, held in StratifiedKFold(folds).split(rows, is_one):
        for index, fit in enumerate(fit_path(rows[others], is_one[others], ascending)):
            scores[index] += np.mean((fit.scores(rows[held]) > 0) == is_one[held])
    # Sums of equal accuracies in another order may differ in their last digit.
    best = int(np.argmax(scores >= scores.max() - 1e-9))
    return fit_path(rows, is_one, ascending[: best + 1])[-1]


def fit_path(rows: Floats, is_one: NDArray[np.bool_], strengths: Sequence[float]) -> list[Fit]:
    """Fit rows x [n, p] for every strength C, ascending, each from the fit before.

    Classes y are [n]. Raises an `InputError` if a fit fails.
    """
    axes = Axes.of_rows(rows)
    point = np.zeros(len(axes.lengths) + 1)
    found = []
    for strength in strengths:
        point = _minimise(axes, np.where(is_one, 1.0, -1.0), strength, point)
        found.append(Fit(axes, point[:-1], float(point[-1]), strength))
    return found


def _minimise(axes: Axes, signs: Floats, strength: float, point: Floats) -> Floats:
    """Minimise the objective, and return the weights v and the intercept c, [r + 1]."""
    design = np.concatenate([axes.left, np.ones((len(signs), 1))], axis=1)
    penalty = np.append(axes.lengths**-2.0, 0.0)

    def value(at: Floats) -> float:
        losses = np.logaddexp(0, -signs * (design @ at))
        return float(penalty @ at**2 / 2 + strength * losses.sum())

    for _ in range(MOST_STEPS):
        wrong = expit(-signs * (design @ point))
        gradient = penalty * point - strength * design.T @ (signs * wrong)
        curved = strength * design.T @ (design * (wrong * (1 - wrong))[:, None])
        curved[np.diag_indices_from(curved)] += penalty
        # Entries span many orders; with a unit diagonal they do not.
        scale = 1 / np.sqrt(np.maximum(np.diag(curved), 1e-300))
        scaled = curved * np.outer(scale, scale)
        scaled[np.diag_indices_from(scaled)] += 1e-13
        direction = -scale * cho_solve(cho_factor(scaled), scale * gradient)
        slope, start, length = float(gradient @ direction), value(point), 1.0
        if -slope / 2 <= TOLERANCE * start:
            return point
        for _ in range(MOST_HALVINGS):
            if value(point + length * direction) <= start + 1e-4 * length * slope:
                break
            length /= 2
        point = point + length * direction
    raise InputError(
        f"kernel regression has not converged in {MOST_STEPS} steps; leave out C = {strength:g}"
    )
