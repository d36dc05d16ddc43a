"""Sign in Eq. 88: with the printed beta_nn' Eq. 9 does not give the back-propagated gradient."""

import numpy as np
from scipy.special import softmax

H = 0.01
print("Paper, Eq. 88: beta_nn' has the term q_0 (1 + sum_{k != n} E'_kn').")
print("Classes seen equally often (theta = sigma = 0), Y = F (I - E') W, w_n = (M-1) h zeta_n;")
print("largest error of g_n by Eq. 9 over the largest |g_n|, as printed and with")
print("-q_0 (1 - sum_{k != n} E'_kn'):")
for K, M in ((2, 34), (6, 200), (20, 240)):
    rng = np.random.default_rng(0)
    f = rng.uniform(0, 1, (M, K)) ** 4
    f /= np.linalg.norm(f, axis=0)
    prime = np.eye(K) - np.linalg.inv(f.T @ f)  # with its right sign, E1
    e_n = np.eye(M)[:, :K]
    zeta = M / (M - 1) * (e_n - 1 / M)
    y = f @ (np.eye(K) - prime) @ ((M - 1) * H * zeta).T
    g = y @ (e_n - softmax(y.T @ f, axis=0))
    gamma = (M - 1) ** 2 * H / (M - 1 + np.exp(M * H))
    q1, q0 = M / (M - 1), -M / (M - 1) ** 2
    others = prime.sum(axis=0)[None, :] - prime  # [n, n']: sum over k != n of E'_kn'
    iota = q1 * (1 - np.diag(prime)) - q0 * np.diag(others)
    errors = []
    for term in (q0 * (1 + others), -q0 * (1 - others)):
        beta = q1 * prime + term
        np.fill_diagonal(beta, 0)
        error = gamma * (f * iota - f @ beta.T) - g
        errors.append(np.linalg.norm(error, axis=0).max() / np.linalg.norm(g, axis=0).max())
    right = "0 up to rounding" if errors[1] < 1e-10 else f"{errors[1]:.3g}"
    print(f"  K = {K}, M = {M}: {errors[0]:.3g}; {right}")
print("So beta_nn' = q_1 E'_nn' - q_0 (1 - sum_{k != n} E'_kn'), about E'_nn' + 1/M.")
