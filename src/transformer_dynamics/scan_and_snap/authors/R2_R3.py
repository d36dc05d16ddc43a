"""Theorem 3 in gradient flow: Eqs. 11 and 12 need a decoder far faster than attention."""

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


def rate(_time: float, s: NDArray[np.float64], eta_z: float) -> NDArray[np.float64]:
    """Return the slope of Y, Z and int eta_Z xi_1, T to infinity (Eqs. 3 and 4)."""
    y, c = s[:40].reshape(10, 4), p * np.exp(s[40:50])[:, None]
    f = c / np.linalg.norm(c, axis=0)
    alpha = np.exp(y.T @ f)
    error = np.eye(4, K) - alpha / (copies * alpha).sum(axis=0)
    g = y @ (error * copies)
    moved = f * (g - f * (f * g).sum(axis=0))
    xi = moved[1:4, 0].sum() / (f[1:4, 0] ** 2).sum()  # as the distinct tokens feel it, Eq. 98
    return np.hstack([(ETA_Y * f @ error.T).ravel(), eta_z * moved.sum(axis=1), eta_z * xi]) / K


print("Paper, Theorem 3: (11) r(t) = r(0) chi(t), (12) exp(2 f_nl0^2(0) B_n(t)) <= chi_l0(t).")
print("Gradient flow from zero, K = 3, M = 1000, one common token, eta_Y = 0.5, until 1,000 t_0;")
print("(r(t)/r(0) - 1)/(chi(t) - 1) furthest from 1, which it is by (11), of all distinct tokens;")
print("smallest ln chi_l0/(2 f_nl0^2(0) B_n), which is 1 or more by (12), B_n = int eta_Z xi_n:")
low, high, share = [1, 1, 2], [2, 3, 3], p[3, 0] ** 2 / (p[:, 0] ** 2).sum()
start = (p[high, :1] / p[low, :1]) ** 2
for ratio in (1, 10, 100, 1000):
    at = (0, float(TIMES[-1])), np.zeros(51)
    z = solve_ivp(rate, *at, "DOP853", TIMES, args=(ETA_Y / ratio,), rtol=1e-8, atol=1e-10).y[40:]
    gain = start / (start - 1) * np.expm1(2 * (z[high] - z[low])) / np.expm1(2 * z[high])
    furthest = gain.flat[np.abs(gain - 1).argmax()]
    print(f"  eta_Y/eta_Z = {ratio}: {furthest:.3g}; {(z[3] / share / z[10]).min():.3g}")
