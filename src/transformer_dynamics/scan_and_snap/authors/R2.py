"""Theorem 3 in gradient flow: r(t) = r(0) chi(t) needs a decoder far faster than attention."""

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

K, M, ETA_Y = 3, 1000, 0.5
TIMES = np.geomspace(0.1, 1000, 41) * 109.4  # t_0 = 109.4
p = np.zeros((10, K))  # one common token, then three distinct ones of each class
p[0] = 0.8 / 3.8
for n in range(K):
    p[1 + 3 * n : 4 + 3 * n, n] = np.array([0.5, 1.0, 1.5]) / 3.8
copies = np.array([1, 1, 1, M - K])[:, None]  # columns of Y: of the next tokens, and of all others


def flow(eta_z: float) -> NDArray[np.float64]:
    """Return Z along gradient ascent, T to infinity (Eqs. 3 and 4)."""

    def rate(_time: float, s: NDArray[np.float64]) -> NDArray[np.float64]:
        y, c = s[:40].reshape(10, 4), p * np.exp(s[40:])[:, None]
        f = c / np.linalg.norm(c, axis=0)
        alpha = np.exp(y.T @ f)
        error = np.eye(4, K) - alpha / (copies * alpha).sum(axis=0)
        g = y @ (error * copies)
        moved = f * (g - f * (f * g).sum(axis=0))
        return np.concatenate([(ETA_Y / K * f @ error.T).ravel(), eta_z / K * moved.sum(axis=1)])

    return solve_ivp(rate, (0, 109400), [0.0] * 50, "DOP853", TIMES, rtol=1e-8, atol=1e-10).y[40:]


print("Paper, Theorem 3: r_l/l'|n(t) = r_l/l'|n(0) chi_l(t), chi_l = exp(2 (z_ml(t) - z_ml(0))).")
print("Gradient flow from zero, K = 3, M = 1000, one common token, eta_Y = 0.5, until 1,000 t_0;")
print("(r(t)/r(0) - 1)/(chi(t) - 1), which is 1 by the theorem, furthest from 1:")
for ratio in (1, 10, 100, 1000):
    run, found = flow(ETA_Y / ratio), []
    for low, high in ((1, 2), (1, 3), (2, 3)):
        start = (p[high, 0] / p[low, 0]) ** 2
        gain = start / (start - 1) * np.expm1(2 * (run[high] - run[low]))  # r(t)/r(0) - 1
        found.append(gain / np.expm1(2 * run[high]))
    print(f"  eta_Y/eta_Z = {ratio}: {max(np.ravel(found), key=lambda x: abs(x - 1)):.3g}")
