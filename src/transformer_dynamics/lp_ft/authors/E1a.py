"""Proposition 4.4's bound on F^LoRA drops the factor sigma^2 r c of its own proof, and fails."""

import numpy as np

C, D, EPSILON, DRAWS = 10.0, 16, 2 / 3, 1000
random = np.random.default_rng(0)
x = np.zeros(D)
x[0] = C

print("Paper, Proposition 4.4: with probability 1 - 4 exp(-(e^2 - e^3) r/4) or more,")
print("  ||F^LoRA - sigma^2 r F^FT|| <= c e ||V V^T||, for ||x|| <= c.")
print(f"Here sigma = 1, c = {C:g}, e = 2/3, x_i = x_j, {DRAWS} normal A; all over ||V V^T||:")
for r in (64, 256):
    seen = random.normal(size=(DRAWS, r, D)) @ x
    deviation = np.abs((seen**2).sum(axis=1) - r * C**2)
    allowed = 4 * np.exp(-(EPSILON**2 - EPSILON**3) * r / 4)
    printed = (deviation > C * EPSILON).mean()
    corrected = (deviation > C**2 * r * EPSILON).mean()
    print(
        f"  r = {r}: median deviation {np.median(deviation):.4g}, beyond c e: {printed:.3f} of A,"
    )
    print(f"    beyond c^2 sigma^2 r e: {corrected:.3f}, allowed: {allowed:.3g}")
print("So the bound needs c^2 sigma^2 r e; the proof itself ends with c sigma^2 r e.")
