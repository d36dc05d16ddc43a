"""Caption of Figure 9: nu is eta_Y/eta_Z, not eta_Z/eta_Y."""

import numpy as np
from scipy.optimize import brentq


def growth(size: int, ratio: float) -> tuple[float, ...]:
    """Return B_n(t_0) by Eq. 129, and 131 with nu = eta_Z/eta_Y and eta_Y/eta_Z; K = C_0 = 1."""
    crossing = brentq(lambda x: np.exp(x) - (size - 1) * x, 1, 3 * np.log(size))  # Lemma 8
    seen = 2 * size * crossing  # M eta_Y t_0/K, t_0 = 2 (1 + omega_1) K ln M/eta_Y
    mh = brentq(lambda x: np.exp(x) + (size - 1) * x - seen - 1, 0, np.log(seen + 2))  # Eq. 45
    scale = 2 * ((size - 1) / size) ** 2
    exact = np.log(1 + scale * mh**2 / ratio) / 4
    return exact, *(np.log(1 + scale / nu * np.log(seen) ** 2) / 4 for nu in (1 / ratio, ratio))


print("Paper, caption of Figure 9: fixed nu = eta_Z/eta_Y. Appendix F, Eq. 131:")
print("B_n(t_0) = 1/4 ln(C_0 + 2K (M-1)^2 M^-2 nu^-1 ln^2(2 (1 + omega_1) M ln M)).")
print("K = C_0 = 1; B_n(t_0); by Eq. 131 with nu = eta_Z/eta_Y; with nu = eta_Y/eta_Z:")
for size in (100, 10_000):
    for ratio in (0.1, 10.0):
        values = "; ".join(f"{value:.3g}" for value in growth(size, ratio))
        print(f"  M = {size}, eta_Y/eta_Z = {ratio:g}: {values}")
print("So nu = eta_Y/eta_Z, as the text of Appendix F says.")
