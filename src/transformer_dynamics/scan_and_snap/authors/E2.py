"""Late form of gamma in Theorem 1(b): its logarithm lacks M."""

import numpy as np
from scipy.optimize import brentq

K, ETA_Y = 10, 1.0


def mh(size: int, steps: float) -> float:
    """Return M h after a number of steps of a class, the solution of Eq. 45."""
    seen = size * ETA_Y * steps
    top = np.log(seen + 2)
    return float(brentq(lambda x: np.exp(x) + (size - 1) * x - seen - 1, 0, top))


def gamma(size: int, time: float) -> float:
    """Return gamma at a time, Eq. 85."""
    x = mh(size, time / K)
    return float((size - 1) ** 2 * x / size / (size - 1 + np.exp(x)))


def crossing(size: int) -> float:
    """Return M h where exp(M h) = (M-1) M h (Lemma 8), (1 + omega_1) ln M."""
    return float(brentq(lambda x: np.exp(x) - (size - 1) * x, 1, 3 * np.log(size)))


print("Paper, Theorem 1(b): gamma(t) = O(K ln(eta_Y t/K)/(eta_Y t)) for t >= t_0.")
print("Largest gamma(t) over this form for t_0 <= t <= 10^4 t_0, K = 10, eta_Y = 1;")
print("and over K ln(M eta_Y t/K)/(eta_Y t), which Lemma 9 has:")
for size in (10**2, 10**4, 10**6, 10**12):
    times = 2 * crossing(size) * K / ETA_Y * np.logspace(0, 4, 200)
    found = np.array([gamma(size, time) for time in times]) * ETA_Y * times / K
    printed = (found / np.log(ETA_Y * times / K)).max()
    right = (found / np.log(size * ETA_Y * times / K)).max()
    print(f"  M = {size:.0e}: {printed:.3g}; {right:.3g}")
print("Without M in the logarithm the ratio grows with M without end.")
