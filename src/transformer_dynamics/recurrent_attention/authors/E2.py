"""The bound of attention's Jacobian (Section 5.1) has the wrong power of |W^Q W^K^T|."""

import numpy as np

X = np.array([0.0, 1.0, -1.0])  # S = 3 tokens with D = H = 1 and |x_i| <= r = 1
S = len(X)


def norm(a: float) -> float:
    """Return |J_MSA|_2 with W^V = W^O = 1 and beta W^Q W^K^T = a, in closed form."""
    scores = a * np.outer(X, X)
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    mean, square = p @ X, p @ X**2
    query = a * np.diag(square - mean**2)
    key = a * p * X[:, None] * (X[None, :] - mean[:, None])
    return float(np.linalg.norm(p + query + key, 2))


def bound(q: float) -> float:
    """Return the bound as printed, sqrt(3) sqrt(q r^4 (S + 1) + S)."""
    return float(np.sqrt(3 * (q * (S + 1) + S)))


print("Paper, v1 Eq. 15: the bound of |J_MSA| grows as the root of q = |beta W^Q_h W^K_h^T|.")
print("Tokens 0, 1, -1 of one channel, W^V = W^O = 1, q = a:")
for a in (10.0, 100.0, 1000.0, 10000.0):
    n = norm(a)
    print(f"a = {a:g}: |J| = {n:.4g}, over the bound {n / bound(a):.4g},", end=" ")
    print(f"over that with q^2 {n / bound(a**2):.4g}")
print("So |J| grows as q: no constant mends the printed bound, and q is to be squared.")
