"""Sign of E' in Appendix D.1: Eqs. 26 and 30 and Lemma 14 need the other one."""

import numpy as np
from numpy.typing import NDArray

K, M = 6, 200
rng = np.random.default_rng(0)
f = rng.uniform(0, 1, (M, K)) ** 4
f /= np.linalg.norm(f, axis=0)
identity = np.eye(K)
e = f.T @ f - identity
printed = np.linalg.inv(identity + e) - identity


def violations(e_prime: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Return what Eq. 26, Eq. 30 and Lemma 14 say is zero, by name."""
    eigenvalues = np.linalg.eigvalsh(e)
    return {
        "Eq. 26, F^T (F - F E') = I": f.T @ (f - f @ e_prime) - identity,
        "Eq. 30, (I - E') F^T = F^dagger": (identity - e_prime) @ f.T - np.linalg.pinv(f),
        "Lemma 14, eigenvalues lambda/(1 + lambda)": np.linalg.eigvalsh(e_prime)
        - np.sort(eigenvalues / (1 + eigenvalues)),
    }


def shown(violation: NDArray[np.float64]) -> str:
    """Return the largest absolute entry as text."""
    largest = np.abs(violation).max()
    return f"{largest:.3g}" if largest > 1e-10 else "0 up to rounding"


print("Paper, Appendix D.1: E' := (I + E)^-1 - I.")
print(f"Six overlapping f_n in {M} dimensions; largest violation with E' as printed, with -E':")
for (name, wrong), right in zip(
    violations(printed).items(), violations(-printed).values(), strict=True
):
    print(f"  {name}: {shown(wrong)}; {shown(right)}")
print("So E' = I - (I + E)^-1.")
