"""Linear probing to optimality, in float64.

    minimise ||V||_F^2/2 + C_reg sum_i CE(V phi_i + b, y_i)

over V and a free b. It is convex; scikit-learn's Newton method with conjugate gradients finds its
minimum, and the gradient that is left is computed and checked here. Features are centred within it,
which changes b alone: pretrained features have a common part that makes the problem badly
conditioned. sum_k b_k, on which nothing depends, is 0.
"""

import warnings
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from replication.base.errors import InputError

Floats = NDArray[np.float64]
SMALL = 0.01
"""Value of C_reg below which the tolerance shrinks with it, as the gradient in b does."""
MOST_STEPS = 200
"""Largest number of steps of Newton's method; about ten are usual."""


class Probe(NamedTuple):
    """A head at the optimum."""

    weight: Floats
    """[C, h] Matrix V."""
    bias: Floats
    """[C] Bias b, of sum 0."""
    gradient: float
    """Largest absolute entry of the gradient of the objective in V and b that is left."""
    strength: float
    """Strength C_reg; the larger it is, the weaker is the penalty."""

    def logits(self, features: NDArray[np.floating]) -> Floats:
        """Return the logits V phi + b [n, C] of features [n, h]."""
        return np.asarray(features, dtype=np.float64) @ self.weight.T + self.bias


def probe(
    features: NDArray[np.floating],
    labels: NDArray[np.integer],
    classes: int,
    strength: float,
    tolerance: float,
) -> Probe:
    """Return the head at the optimum of linear probing, of features phi [n, h] and labels y [n].

    `strength` is C_reg. The search ends when no entry of the gradient is above `tolerance`, times
    C_reg if that is above 1, and times C_reg/`SMALL` if it is below `SMALL`. Raises an `InputError`
    for features that are not finite, C_reg <= 0, a class without a sample, or a missed optimum.
    """
    phi = np.asarray(features, dtype=np.float64)
    if not (len(phi) and np.isfinite(phi).all()):
        raise InputError(
            f"a probe needs finite features, but of {len(phi)} samples only"
            f" {np.isfinite(phi).all(axis=1).sum()} have them; check the encoder and the samples"
        )
    if not strength > 0:
        raise InputError(f"a probe needs C_reg > 0, but it is {strength:g}; choose a larger one")
    missing = {*range(classes)} - {*np.unique(labels).tolist()}
    if missing:
        # Its b would go to minus infinity.
        raise InputError(f"a probe needs samples of all classes; class {min(missing)} has none")
    mean = phi.mean(axis=0)
    goal = tolerance * min(1.0, strength / SMALL)
    weight, centred_bias = _fitted(phi - mean, labels, strength, goal / (1 + np.abs(mean).max()))
    bias = centred_bias - weight @ mean
    error = strength * (softmax(phi @ weight.T + bias, axis=1) - np.eye(classes)[labels])
    left = max(np.abs(weight + error.T @ phi).max(), np.abs(error.sum(axis=0)).max())
    # The loss is multiplied by C_reg, and so is its rounding.
    if not left <= goal * max(1.0, strength):
        raise InputError(
            f"the probe has a gradient of {left:.1e} left after {MOST_STEPS} steps, above"
            f" what is allowed; choose another C_reg than {strength:g} or a larger tolerance"
        )
    return Probe(weight, bias - bias.mean(), float(left), strength)


def _fitted(
    features: Floats, labels: NDArray[np.integer], strength: float, tolerance: float
) -> tuple[Floats, Floats]:
    """Return V and b whose gradient is below the tolerance, if that can be reached."""
    from sklearn.linear_model import LogisticRegression

    is_binary = len(np.unique(labels)) == 2
    # Of two classes scikit-learn has one row w, V = (-w/2, w/2), whose ||w||^2 is 2 ||V||_F^2, and
    # its tolerance is of the objective divided by C n.
    scaled = 2 * strength if is_binary else strength
    model = LogisticRegression(
        C=scaled,
        solver="newton-cg",
        tol=tolerance / (scaled * len(features)),
        max_iter=MOST_STEPS,
    )
    with warnings.catch_warnings():
        # Whatever stopped it, the gradient that is left is checked.
        warnings.simplefilter("ignore")
        model.fit(features, labels)
    weight, bias = model.coef_, model.intercept_
    if is_binary:
        return np.concatenate([-weight, weight]) / 2, np.concatenate([-bias, bias]) / 2
    return weight, bias


def select(
    train: tuple[NDArray[np.floating], NDArray[np.integer]],
    validation: tuple[NDArray[np.floating], NDArray[np.integer]],
    classes: int,
    strengths: Iterable[float],
    tolerance: float,
) -> Probe:
    """Return the probe with the highest validation accuracy; of equal ones the strongest penalty.

    Both sets are features [n, h] and labels [n]; `strengths` are those C_reg that are tried, each
    to the tolerance of `probe`. Raises an `InputError` if a probe fails.
    """
    probes = [probe(*train, classes, strength, tolerance) for strength in sorted(strengths)]
    features, labels = validation
    return max(probes, key=lambda each: np.mean(each.logits(features).argmax(axis=1) == labels))


def select_by_folds(
    features: NDArray[np.floating],
    labels: NDArray[np.integer],
    classes: int,
    strengths: Iterable[float],
    tolerance: float,
    folds: int,
) -> Probe:
    """Return the probe of all samples whose strength is chosen by cross-validation on them.

    It is scikit-learn's LogisticRegressionCV at the optimum: stratified folds in the order of the
    samples, accuracies averaged over folds, and the strongest of equal penalties. Strengths are its
    C, which is 2 C_reg for two classes. Features are [n, h], labels [n]. Raises an `InputError` if
    a probe fails, or a class has fewer samples than there are folds.
    """
    from sklearn.model_selection import StratifiedKFold

    fewest = int(np.bincount(labels, minlength=classes).min())
    if fewest < folds:
        raise InputError(
            f"{folds} folds need {folds} samples of each class, but one has {fewest}; set probe >"
            " folds to less, or take more samples"
        )
    known = [strength / 2 if classes == 2 else strength for strength in sorted(strengths)]
    scores = np.zeros((folds, len(known)))
    splits = StratifiedKFold(folds).split(features, labels)
    for own, (others, held) in zip(scores, splits, strict=True):
        for place, strength in enumerate(known):
            found = probe(features[others], labels[others], classes, strength, tolerance)
            own[place] = np.mean(found.logits(features[held]).argmax(axis=1) == labels[held])
    best = known[int(scores.mean(axis=0).argmax())]
    return probe(features, labels, classes, best, tolerance)
