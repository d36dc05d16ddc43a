"""The gradient in the proofs of Propositions 4.1 and 4.2 is that of symmetric A only."""

import numpy as np

BETA = 1 / np.sqrt(2)
STATES = {
    "4.1": ([[0.0, 2.0], [-1.0, 0.0]], [[-1.0, 0.0], [0.8, 0.6]]),
    "4.2": ([[0.0, 1.0], [0.0, 0.0]], [[-5.0, 0.3], [4.0, 0.3]]),
}


def gradients(a: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return dE/dX by complex steps of E, as printed in the proofs (with beta), and with w_ji."""
    exact = np.zeros_like(x)
    for place in np.ndindex(*x.shape):
        moved = x.astype(complex)
        moved[place] += 1e-30j
        exact[place] = -np.exp(BETA * moved @ a @ moved.T).sum().imag / 1e-30
    w = np.exp(BETA * x @ a @ x.T)
    printed = -BETA * (w @ x @ a.T + w @ x @ a)
    right = -BETA * (w @ x @ a.T + w.T @ x @ a)
    return exact, printed, right


print("Paper, proofs: dE/dx_i = -sum_j exp(beta x_i^T A x_j) (A + A^T) x_j, beta put back here.")
for name, state in STATES.items():
    a, x = (np.array(each) for each in state)
    exact, printed, right = gradients(a, x)
    print(f"Proposition {name}, A = {a.tolist()}, X = {x.tolist()}:")
    print("  dE/dx_1 =", [f"{value:.4f}" for value in exact[0]])
    print("  printed =", [f"{value:.4f}" for value in printed[0]])
    print("  with exp(beta x_j^T A x_i) before A^T x_j =", [f"{value:.4f}" for value in right[0]])
print("So the proofs need A = A^T, which W^V = (A + A^T)/2 does not give.")
