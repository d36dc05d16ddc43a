"""Section 4: without the modification of Eq. 26 the drive of attention is not of the same order."""

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp


def drive(k: int, m: int, rho: float, size: float, times: list[float]) -> NDArray[np.float64]:
    """Return xi_n at eta_Y = 1, f_n.f_n' = rho for all pairs, attention fixed.

    k is the number of classes, m the size of the vocabulary. `size` is the part of the modification
    in the update of Y, 0 by Eq. 7 and 1 by Eq. 26. Times are in updates.
    """
    gram = (1 - rho) * np.eye(k) + rho  # F^T F
    direction = (1 - size) * np.eye(k) + size * np.linalg.inv(gram)  # I - E' by Eq. 26
    copies = np.append(np.ones(k), m - k)  # tokens that are no next token have equal columns

    def error(state: NDArray[np.float64]) -> NDArray[np.float64]:
        weights = np.exp(gram @ state.reshape(k, k + 1))  # of Y = F C
        alpha = weights / (weights * copies).sum(axis=1, keepdims=True)
        return np.asarray(np.eye(k, k + 1) - alpha)

    run = solve_ivp(
        lambda _, state: (direction @ error(state) / k).ravel(), (0, times[-1]),
        np.zeros(k * (k + 1)), "DOP853", times, rtol=1e-10, atol=1e-12,
    )  # fmt: skip
    g = [(error(state) * copies) @ state.reshape(k, k + 1).T for state in run.y.T]
    return np.array([-rho * (each[0].sum() - each[0, 0]) for each in g])


print("Paper, Section 4, on Eq. 7: Theorem 1 still holds with a smaller effective learning rate.")
print("All f_n.f_n' = rho, just above what Assumption 2 allows; xi_n by Eq. 7 over xi_n by Eq. 26")
print("at t = K/(2 eta_Y), and at t_0':")
for k, m, rho in ((2, 1000, 0.08), (3, 10_000, 0.025), (5, 100_000, 0.008)):
    true, modified = (drive(k, m, rho, size, [k / 2, k * np.log(m)]) for size in (0, 1))
    print(f"  K = {k}, M = {m}, rho = {rho}: {', '.join(f'{x:.2g}' for x in true / modified)}")
