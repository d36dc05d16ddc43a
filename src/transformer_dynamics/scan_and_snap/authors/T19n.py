"""Theorem 4, scanning: the growth factor is below what is printed as its lower bound."""

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

K, M, ETA_Y, ETA_Z = 3, 1000, 0.5, 0.005
p = np.zeros((10, K))  # one common token, then three distinct ones of each class
p[0] = 0.8 / 3.8
for n in range(K):
    p[1 + 3 * n : 4 + 3 * n, n] = np.array([0.5, 1.0, 1.5]) / 3.8


def rate(time: float, z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return dz/dt by Eq. 10: gamma by Eqs. 45, 85, beta by Eq. 88 with its sign right (E3)."""
    seen = M * ETA_Y * time / K
    x = brentq(lambda x: np.exp(x) + (M - 1) * x - seen - 1, 0, np.log(seen + 2))
    c = p * np.exp(z)[:, None]
    f = c / np.linalg.norm(c, axis=0)
    overlap = f.T @ f
    prime = np.eye(K) - np.linalg.inv(overlap)
    beta = M / (M - 1) * prime + M / (M - 1) ** 2 * (1 + prime - prime.sum(axis=0))
    np.fill_diagonal(beta, 0)
    moved = f * (f * (beta * overlap).sum(axis=1) - f @ beta.T)
    gamma = (M - 1) ** 2 * x / M / (M - 1 + np.exp(x))
    return np.asarray(ETA_Z * gamma * moved.sum(axis=1))


common, dominant = (p[:, 0] / np.linalg.norm(p[:, 0]))[[0, 3]]  # f_nl(0) = 1/rho_0, f_nl0(0)
times = K * np.log(M) / ETA_Y * np.array([0.25, 0.5, 1])
flow = solve_ivp(rate, (0, times[-1]), np.zeros(10), t_eval=times, rtol=1e-9, atol=1e-12)
print("Paper, Theorem 4: chi_l0(t) >= exp(2 f_nl0^2(0) B_n(t)), which is about")
print("[K^-1 (rho_0^4 + 2 eta_Y eta_Z t^2)]^(f_nl0^2(0)/2), for t < t_0'.")
print(f"K = 3, M = 1000, one common token, eta_Y = 0.5, eta_Z = {ETA_Z}; ln chi_l0 by Eq. 10; of")
print("the second form, over C_0 = rho_0^4/K so that it is 1 at t = 0 (E6):")
for name, time, z in zip(("1/4 t_0'", "1/2 t_0'", "t_0'"), times, flow.y[3], strict=True):
    bound = dominant**2 / 2 * np.log1p(2 * ETA_Y * ETA_Z * time**2 * common**4)
    print(f"  t = {name}: {2 * z:.3g}; {bound:.3g}")
print("It has K for K - 1, f_n.f_n' for beta_nn', eta_Y t/K for gamma: too large, no lower bound.")
