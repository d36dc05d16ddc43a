"""Lemma A.1 needs more of the entries of A than mean 0 and variance 1: light tails."""

import numpy as np

R, D, EPSILON, DRAWS, DEGREES = 256, 16, 0.25, 2000, 2.1
random = np.random.default_rng(0)
x = np.full(D, D**-0.5)
laws = {
    "normal": random.normal(size=(DRAWS, R, D)),
    "Student's t, 2.1 degrees of freedom, over its deviation": random.standard_t(
        DEGREES, (DRAWS, R, D)
    )
    / np.sqrt(DEGREES / (DEGREES - 2)),
}
allowed = 4 * np.exp(-(EPSILON**2 - EPSILON**3) * R / 4)

print("Paper, Lemma A.1: entries of A have mean 0 and variance 1; then Proposition 4.4's")
print("  probability of a deviation beyond sigma^2 r e of ||A x||^2, ||x|| = 1, is at most")
print(f"  4 exp(-(e^2 - e^3) r/4), with r = {R} and e = {EPSILON}: {allowed:.3f}")
for name, drawn in laws.items():
    beyond = np.abs(((drawn @ x) ** 2).sum(axis=1) - R) > R * EPSILON
    print(f"Share of {DRAWS} A beyond it, {name}: {beyond.mean():.3f}")
print("So mean and variance do not suffice; entries with light tails do.")
