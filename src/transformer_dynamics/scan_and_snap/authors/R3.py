"""Eq. 12 in gradient flow: its lower bound needs a decoder far faster than attention."""

from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

K, M, ETA_Y, T_0 = 3, 1000, 0.5, 109.4
p = np.zeros((10, K))  # one common token, then three distinct ones of each class
p[0] = 0.8 / 3.8
for n in range(K):
    p[1 + 3 * n : 4 + 3 * n, n] = np.array([0.5, 1.0, 1.5]) / 3.8
copies = np.array([1, 1, 1, M - K])[:, None]  # columns of Y: of the next tokens, and of all others


def rate(_time: float, s: NDArray[np.float64], eta_z: float) -> NDArray[np.float64]:
    """Return the gradient of Eq. 15 for T to infinity, by Eqs. 3 and 4, and dB_1/dt."""
    y, c = s[:40].reshape(10, 4), p * np.exp(s[40:50])[:, None]
    f = c / np.linalg.norm(c, axis=0)
    alpha = np.exp(y.T @ f)
    error = np.eye(4, K) - alpha / (copies * alpha).sum(axis=0)
    g = y @ (error * copies)
    moved = f * (g - f * (f * g).sum(axis=0))
    xi = moved[1:4, 0].sum() / (f[1:4, 0] ** 2).sum()  # as the distinct tokens feel it, Eq. 98
    change = moved.sum(axis=1)
    return np.concatenate([(ETA_Y / K * f @ error.T).ravel(), eta_z / K * np.append(change, xi)])


print("Paper, Eq. 12: exp(2 f_nl0^2(0) B_n(t)) <= chi_l0(t), B_n = int eta_Z xi_n.")
print("Gradient flow from zero, K = 3, M = 1000, one common token, eta_Y = 0.5, until 1,000 t_0;")
print("smallest ln chi_l0/(2 f_nl0^2(0) B_n), which is 1 or more by the bound:")
times, start = np.geomspace(0.1, 1000, 41) * T_0, np.zeros(51)
share = p[3, 0] ** 2 / (p[:, 0] ** 2).sum()
for ratio in (1, 10, 100, 1000):
    flow = partial(rate, eta_z=ETA_Y / ratio)
    run = solve_ivp(flow, (0, times[-1]), start, "DOP853", times, rtol=1e-9, atol=1e-11).y
    print(f"  eta_Y/eta_Z = {ratio}: {(run[43] / (share * run[50])).min():.3g}")
