"""Eq. 13: the only common token falls K times as fast as printed."""

import numpy as np

M, SHARED = 1000, 0.1
print("Paper, Eq. 13: zdot_ml ~ -eta_Z xi_n of the only common token l of one query.")
print("By Eq. 10, f_nl = 0.1 in each of K classes, the rest of f_n on a token of its own:")
for K in (2, 5, 10, 20):
    f = np.zeros((M, K))
    f[0] = SHARED
    f[1 + np.arange(K), np.arange(K)] = np.sqrt(1 - SHARED**2)
    overlap = f.T @ f
    prime = np.eye(K) - np.linalg.inv(overlap)
    q1, q0 = M / (M - 1), -M / (M - 1) ** 2
    beta = q1 * prime - q0 * (1 - (prime.sum(axis=0)[None, :] - prime))
    np.fill_diagonal(beta, 0)
    xi = (beta[0] * overlap[0]).sum()  # over gamma
    rate = sum(
        f[0, n] * beta[n, k] * (overlap[n, k] * f[0, n] - f[0, k])
        for n in range(K)
        for k in range(K)
        if k != n
    )  # Eq. 97 over eta_Z gamma
    print(f"  K = {K}: zdot_ml = {rate / xi:.4g} eta_Z xi_n; -K (1 - f_nl^2) = {-K * 0.99:.4g}")
print("So zdot_ml = -eta_Z sum_n (1 - f_nl^2) xi_n, about -K eta_Z xi_n (Eq. 100): Eq. 13 has the")
print("probability 1/K of a class for the common token and not for the distinct ones.")
