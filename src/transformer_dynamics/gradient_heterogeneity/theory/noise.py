"""Average decrease of one step, when the gradient is that of a batch.

Samples are independent. Entry i of a sample's gradient has mean g_i and standard deviation s_i, so
that a batch of m has s_i/sqrt m, and sigma_b^2 = sum of s_i^2 over block b:

    SGD:      E decrease >= eta ||g||^2
                 - (eta^2/2)(||g||^2 (Lambda_G + delta) + sum_b (h_b + delta) sigma_b^2/m)       (1)
    SignSGD:  E decrease >= eta sum_i |g_i| (1 - 2 q_i) - (eta^2/2) P (Lambda_P + delta)         (2)

q_i is any bound of the probability that a batch gives entry i the wrong sign, or none. By Markov
q_i = s_i/(sqrt m |g_i|), so that (2) starts with eta (||g||_1 - 2 ||s||_1/sqrt m). By Cantelli
q_i = s_i^2/(s_i^2 + m g_i^2), which is never more and at most half of Markov's: then (2) starts
with eta (||g||_1 - ||s||_1/sqrt m) at least. Cantelli's is reached by gradients of two values.

For Gaussian noise the averages themselves are known, with e_i = erf(sqrt(m/2) |g_i|/s_i):

    SGD:      eta ||g||^2 - (eta^2/2)(g^T H g + sum_i H_ii s_i^2/m)                              (3)
    SignSGD:  eta sum_i |g_i| e_i - (eta^2/2)(sum_ij a_i H_ij a_j + sum_i H_ii (1 - a_i^2))      (4)

where a_i = e_i sign g_i and entries are independent of each other.
"""

from typing import Literal

import numpy as np
from scipy.special import erf

from transformer_dynamics.gradient_heterogeneity.theory.heterogeneity import Floats
from transformer_dynamics.gradient_heterogeneity.theory.quadratics import (
    Quadratic,
    curvature_along,
)


def wrong_sign_probability(
    gradient: Floats, deviations: Floats, batch: int, inequality: Literal["Markov", "Cantelli"]
) -> Floats:
    """Return a bound q_i <= 1 [P] of the probability that a batch gives entry i the wrong sign.

    The gradient is g_i [P], deviations are s_i > 0 [P], the batch is m.
    """
    ratio = np.abs(gradient) * np.sqrt(batch) / deviations
    if inequality == "Cantelli":
        return np.asarray(1 / (1 + ratio**2))
    return np.asarray(1 / np.maximum(ratio, 1))


def sgd_bound(quadratic: Quadratic, eta: float, deviations: Floats, batch: int) -> float:
    """Return the right-hand side of (1), the least average decrease of SGD; s_i are [P]."""
    g = quadratic.gradient
    square = float(g @ g)
    noise = quadratic.squares(deviations) @ (quadratic.curvatures + quadratic.coupling) / batch
    return eta * square - eta**2 / 2 * (square * curvature_along(quadratic, g) + float(noise))


def sign_bound(quadratic: Quadratic, eta: float, wrong: Floats) -> float:
    """Return the right-hand side of (2), the least average decrease of SignSGD; q_i are [P]."""
    every = np.ones(len(wrong))
    linear = float(np.abs(quadratic.gradient) @ (1 - 2 * wrong))
    return eta * linear - eta**2 / 2 * len(wrong) * curvature_along(quadratic, every)


def sgd_mean(quadratic: Quadratic, eta: float, deviations: Floats, batch: int) -> float:
    """Return the average decrease (3) of SGD, for any noise with uncorrelated entries."""
    g, h = quadratic.gradient, quadratic.hessian
    noise = np.diag(h) @ np.square(deviations) / batch
    return float(eta * (g @ g) - eta**2 / 2 * (g @ h @ g + noise))


def sign_mean(quadratic: Quadratic, eta: float, deviations: Floats, batch: int) -> float:
    """Return the average decrease (4) of SignSGD, for Gaussian noise with s_i > 0."""
    g, h = quadratic.gradient, quadratic.hessian
    mean = erf(np.sqrt(batch / 2) * g / deviations)
    square = mean @ h @ mean + np.diag(h) @ (1 - mean**2)
    return float(eta * (g @ mean) - eta**2 / 2 * square)
