"""Proposition 4.1: a state in which E_single rises although W^V = (A + A^T)/2."""

import numpy as np

A = np.array([[0.0, 2.0], [-1.0, 0.0]])  # W^Q, with W^K = Id
V = (A + A.T) / 2
BETA = 1 / np.sqrt(2)
X = np.array([[-1.0, 0.0], [0.8, 0.6]])


def energy(x: np.ndarray) -> float:
    """Return E_single, Eq. 10."""
    return -float(np.exp(BETA * x @ A @ x.T).sum())


def velocity(x: np.ndarray, values: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return dX/dt = Proj_X(SA(X)), Eq. 3."""
    weights = np.exp(BETA * x @ scores @ x.T)
    moved = weights / weights.sum(axis=1, keepdims=True) @ x @ values
    return np.asarray(moved - x * (x * moved).sum(axis=1, keepdims=True))


print("Paper, Proposition 4.1: dE_single/dt <= 0 along (3) if W^V = (A + A^T)/2.")
print(f"D = 2, one head, beta = 1/sqrt(2), A = {A.tolist()}, W^V = {V.tolist()},")
print(f"x_1 = {X[0].tolist()}, x_2 = {X[1].tolist()}: E = {energy(X):.4f}")
v, h = velocity(X, V, A), 1e-5
rate = (energy(X + h * v) - energy(X - h * v)) / (2 * h)
print(f"dE/dt = {rate:+.4f}, by central differences of E along (3)")
x = X
for _ in range(1683):
    x = x + 1e-3 * velocity(x, V, A)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
print(f"at t = 1.683, by Euler steps on the sphere: E = {energy(x):.3f}")
print("So the condition on W^V does not suffice; with A = A^T = W^V the energy falls.")
