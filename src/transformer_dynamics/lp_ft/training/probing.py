"""Linear probing by gradient descent, on features that do not change."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from transformer_dynamics.encoders.calibration import negative_log_likelihood
from transformer_dynamics.encoders.head import Head
from transformer_dynamics.lp_ft.data.samples import Samples
from transformer_dynamics.lp_ft.settings.runs import ProbeChoice

Floats = NDArray[np.float64]


class DescentPath(NamedTuple):
    """Gradient descent of a head, at some of its steps; the first is 0."""

    steps: NDArray[np.int64]
    """[points] Number of steps before each point."""
    norms: Floats
    """[points] Norm ||V||_F."""
    bias_norms: Floats
    """[points] Norm ||b||."""
    logit_norms: Floats
    """[points] Mean ||f(x)|| over training samples."""
    losses: Floats
    """[points] Mean cross-entropy, in nats."""
    accuracies: Floats
    """[points] Share of right predictions on training samples."""
    falling: Floats
    """[points] Share of rows k of V whose cross-entropy falls as they become longer, Eq. (3)."""


def recorded_steps(choice: ProbeChoice) -> NDArray[np.int64]:
    """Return the steps of the path that are recorded, ascending."""
    spread = np.geomspace(1, choice.steps, choice.points - 1).round().astype(np.int64)
    return np.unique(np.concatenate([[0], spread]))


def descent_path(start: Head, train: Samples, choice: ProbeChoice) -> DescentPath:
    """Follow full-batch gradient descent on mean_i CE_i alone, whose gradient Eq. (3) is of.

    A penalty, as that of the optimum, would shorten the head. The step is 1/L, where
    L = (1/2) lambda_max(mean_i [phi_i, 1][phi_i, 1]^T) bounds the curvature, so that none increases
    the loss. `choice` has the number of steps, and of those that are recorded.
    """
    phi = np.asarray(train.features, np.float64)
    weight, bias = (each.double().numpy() for each in start)
    widened = np.concatenate([phi, np.ones((len(phi), 1))], axis=1)
    eta = 2 / np.linalg.eigvalsh(widened.T @ widened / len(phi))[-1]
    one_hot = np.eye(len(weight))[train.labels]
    kept, rows = set(recorded_steps(choice).tolist()), []
    for step in range(choice.steps + 1):
        logits = phi @ weight.T + bias
        error = (np.exp(log_softmax(logits, axis=1)) - one_hot) / len(phi)
        gradient = error.T @ phi
        if step in kept:
            radial = np.sum(gradient * weight, axis=1)
            right = np.mean(logits.argmax(axis=1) == train.labels)
            loss = negative_log_likelihood(logits, train.labels)
            lengths = [np.linalg.norm(each) for each in (weight, bias)]
            length = np.linalg.norm(logits, axis=1).mean()
            rows.append((step, *lengths, length, loss, right, np.mean(radial < 0)))
        weight = weight - eta * gradient
        bias = bias - eta * error.sum(axis=0)
    steps, *columns = (np.array(column) for column in zip(*rows, strict=True))
    return DescentPath(steps, *columns)
