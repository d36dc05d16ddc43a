"""Equation (3) with its sum over k is the sum of all derivatives, not that of one class."""

import numpy as np

N, C, H = 12, 3, 4
random = np.random.default_rng(0)
phi, y = random.normal(size=(N, H)) + 1, np.arange(N) % C
v = random.normal(size=(C, H))
lengths = np.linalg.norm(v, axis=1)
rows = v / lengths[:, None]


def loss(norms: np.ndarray) -> complex:
    """Return the summed cross-entropy for rows of these lengths in their fixed directions."""
    logits = phi @ (norms[:, None] * rows).T
    return complex((np.log(np.exp(logits).sum(axis=1)) - logits[range(N), y]).sum())


exact = []
for k in range(C):
    norms = lengths.astype(complex)
    norms[k] += 1e-30j
    exact.append(loss(norms).imag / 1e-30)
logits = phi @ v.T
sigma = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
terms = ((sigma - np.eye(C)[y]) * (phi @ rows.T)).sum(axis=0)

print("Paper, (3): dL/d||v_k|| = sum over samples and over k of")
print("  (sigma_k(f(x_i)) - [y_i = k]) ||phi(x_i)|| cos tau_ki, the same for every k.")
print("By complex steps, k = 1, 2, 3:", ", ".join(f"{value:.4g}" for value in exact))
print(f"(3) as printed, for every k:    {terms.sum():.4g}")
print("(3) without the sum over k:    ", ", ".join(f"{value:.4g}" for value in terms))
print("So the sum over k in (3) has to go; Appendix (8) lacks the 1/N of L besides.")
