"""Eqs. 14, 124 and 129: the printed B_n(t) is not an integral from 0 unless C_0 = 1."""

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq

K, M, ETA_Y, ETA_Z, END = 10, 1000, 0.5, 0.5, 700.0  # of Figure 3


def mh(time: float) -> float:
    """Return M h(t/K), the solution of Eq. 45."""
    seen = M * ETA_Y * time / K
    return float(brentq(lambda x: np.exp(x) + (M - 1) * x - seen - 1, 0, np.log(seen + 2)))


def gamma(time: float) -> float:
    """Return gamma at a time, Eq. 85."""
    x = mh(time)
    return float((M - 1) ** 2 * x / M / (M - 1 + np.exp(x)))


def cumulative(time: float) -> float:
    """Return Gamma(t) of Eq. 128."""
    return ETA_Z / ETA_Y * K * (M - 1) ** 2 * (mh(time) / M) ** 2 / 2


print("Paper, Eqs. 123 and 124: xi_n = gamma/(C_0 + 4 Gamma), B_n = eta_Z times its integral")
print("from 0 to t, B_n = 1/4 ln(C_0 + 4 Gamma). K = 10, M = 1000, eta_Y = eta_Z = 0.5, t = 700;")
print("by quadrature; 1/4 ln(C_0 + 4 Gamma) at t = 700, at t = 0; 1/4 ln(1 + 4 Gamma/C_0):")
grown = 4 * cumulative(END)
for c0 in (0.00625, 0.1, 1.0, 10.0):
    area, _ = quad(lambda t, c0=c0: gamma(t) / (c0 + 4 * cumulative(t)), 0, END, limit=500)
    printed, start, right = (np.log(each) / 4 + 0.0 for each in (c0 + grown, c0, 1 + grown / c0))
    print(f"  C_0 = {c0}: {ETA_Z * area:.4g}; {printed:.4g}, {start:.4g}; {right:.4g}")
print("So B_n(t) = 1/4 ln(1 + 4 Gamma(t)/C_0).")
