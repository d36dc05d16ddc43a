"""A step on the mean loss of Section 4.1 is N times shorter than (1) and (2) say."""

import numpy as np

N, C, H, ETA = 7, 3, 9, 1e-3
random = np.random.default_rng(0)
phi, v, y = random.normal(size=(N, H)), random.normal(size=(C, H)), np.arange(N) % C

print("Paper, Section 4.1: L is the mean of the cross-entropies; (1), (2) and (8) have no 1/N.")
f = phi @ v.T
delta = np.eye(C)[y] - np.exp(f) / np.exp(f).sum(axis=1, keepdims=True)
stated = ETA * (phi @ phi.T) @ delta
real = phi @ (ETA * delta.T @ phi / N).T
print(f"Linear probing of {N} samples, change of logits in one step by (1) over the real change:")
print(f"  {np.linalg.norm(stated) / np.linalg.norm(real):.3f}")
print("So eta is the rate of the summed loss; with this rate, the results stand.")
