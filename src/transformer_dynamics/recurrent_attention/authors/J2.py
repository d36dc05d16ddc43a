"""Proposition 4.2: a state in which E_multi rises under all of its conditions."""

import numpy as np

A = np.array([[0.0, 1.0], [0.0, 0.0]])  # U_1 U_2^T with U_1 = e_1, U_2 = e_2, H = 1
V = (A + A.T) / 2
BETA = 1 / np.sqrt(2)
X = np.array([[-5.0, 0.3], [4.0, 0.3]])


def energy(x: np.ndarray) -> float:
    """Return E_multi of one head, Eq. 12."""
    return -float(np.exp(BETA * x @ A @ x.T).sum())


def velocity(x: np.ndarray) -> np.ndarray:
    """Return dX/dt = SA(X), without projection."""
    weights = np.exp(BETA * x @ A @ x.T)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True) @ x @ V)


print("Paper, Proposition 4.2: dE_multi/dt <= 0 if W^V_h = (A_h + A_h^T)/2, A_h = U_1h U_2h^T.")
print(f"D = 2, H = 1, beta = 1/sqrt(2), A = {A.tolist()}, W^V = {V.tolist()},")
print(f"x_1 = {X[0].tolist()}, x_2 = {X[1].tolist()}: E = {energy(X):.4f}")
v, h = velocity(X), 1e-5
print(f"velocities {v[0].round(3).tolist()}, {v[1].round(3).tolist()}")
rate = (energy(X + h * v) - energy(X - h * v)) / (2 * h)
print(f"dE/dt = {rate:+.4f}, by central differences of E along the flow")
x = X
for _ in range(1245):
    x = x + 1e-3 * velocity(x)
print(f"at t = 1.245, by Euler steps: E = {energy(x):.3f}")
print("So the conditions do not suffice; with A_h = A_h^T = W^V_h and A_h A_h' = 0 it falls.")
