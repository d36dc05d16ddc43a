"""Remark 1, Eq. 43: under the original update a class is not slowed down to (1 - rho) eta_Y."""

import numpy as np
from scipy.special import softmax

ETA_Y, PASSES = 0.1, 50


def learnt(num_classes: int, size: int, rho: float) -> float:
    """Return w_nn of the last class after all passes over the classes by Eq. 7."""
    overlap = np.full((num_classes, num_classes), rho)
    np.fill_diagonal(overlap, 1)
    w = np.zeros((num_classes, size))  # rows w_j = f_j^T Y
    for _ in range(PASSES):
        for n in range(num_classes):
            w += ETA_Y * np.outer(overlap[n], np.eye(1, size, n)[0] - softmax(w[n]))
    return float(w[-1, num_classes - 1])


def alone(size: int) -> float:
    """Return (M-1) h* of Eq. 33, which w_nn is if a class is learnt alone."""
    h = 0.0
    for _ in range(PASSES):
        h += ETA_Y / (size - 1 + np.exp(size * h))
    return (size - 1) * h


print("Paper, Remark 1: w_n(N) = (1 - rho)(M-1) h*(N/K) zeta_n for equal correlations rho.")
print("w_nn after 50 passes by Eq. 7, eta_Y = 0.1; by Eq. 43; learnt alone:")
for K, M, rho in ((2, 1000, 0.2), (4, 1000, 0.08), (10, 1000, 0.5), (20, 20, 0.72)):
    single = alone(M)
    values = learnt(K, M, rho), (1 - rho) * single, single
    print(f"  K = {K}, M = {M}, rho = {rho}: " + "; ".join(f"{value:.4g}" for value in values))
print(
    "Eq. 43 takes the zeta_n of K classes to add up to zero, which needs K = M, and is wrong there,"
)
print(
    "too. Where Assumption 2 holds (the first two) it slows a class down by less than a thousandth."
)
