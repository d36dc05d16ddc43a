"""The bound of attention's Jacobian (Section 5.1, after Castin et al.): states that exceed it."""

import numpy as np

X = np.array([0.0, 1.0, -1.0])  # S = 3 tokens with D = H = 1 and |x_i| <= r = 1
S = len(X)


def attention(x: np.ndarray, a: float) -> np.ndarray:
    """Return MSA(X) with W^V = W^O = 1 and beta W^Q W^K^T = a."""
    scores = a * np.outer(x, x)
    weights = np.exp(scores - scores.real.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True) @ x)


def norm(a: float) -> float:
    """Return |J_MSA|_2, with the columns of J_MSA by complex steps."""
    steps = 1e-30j * np.eye(S)
    columns = [attention(X + step, a).imag / 1e-30 for step in steps]
    return float(np.linalg.norm(np.stack(columns, axis=1), 2))


print("Paper, v1 Eq. 15, for |x_i| <= r: |J_MSA|_2 <= sum_h sqrt(3) |W^O_h| |W^V_h|")
print("  sqrt(|beta W^Q_h W^K_h^T| r^4 (S + 1) + S).")
print("Tokens 0, 1, -1 of one channel, W^V = W^O = 1, beta W^Q W^K^T = a:")
for a in (10.0, 30.0, 100.0, 1000.0):
    printed, squared = (np.sqrt(3 * (q * (S + 1) + S)) for q in (a, a**2))
    print(f"a = {a:g}: |J| = {norm(a):.4g}, bound {printed:.4g}, with |.|^2 {squared:.4g}")
print("So the printed bound fails for large a (one entry of J is (2a + 1)/3);")
print("with the norm of W^Q W^K^T squared it holds.")
