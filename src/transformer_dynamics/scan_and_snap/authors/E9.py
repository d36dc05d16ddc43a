"""Remark 2: no constant shift c keeps h*(s) <= h(s + c) for all later s."""

import numpy as np


def least_shifts(size: int, eta_y: float, steps: list[int]) -> list[float]:
    """Return the c with h(s + c) = h*(s) at some s, h* by Eq. 33 and h by Eq. 45."""
    h, found = 0.0, []
    for step in range(1, max(steps) + 1):
        h += eta_y / (size - 1 + np.exp(size * h))
        if step in steps:
            time = (np.exp(size * h) + (size - 1) * size * h - 1) / (size * eta_y)
            found.append(time - step)
    return found


print("Paper, Remark 2: some constant c = O(ln M) has h(s) <= h*(s) <= h(s + c) for all s > s_1.")
print(
    "Least c at s = 10^2, 10^3, 10^4 and 10^5 over eta_Y; its growth per factor e of s at the end:"
)
for size, eta_y in ((50, 1.0), (1000, 1.0), (50, 0.5)):
    shifts = least_shifts(size, eta_y, [round(10**power / eta_y) for power in (2, 3, 4, 5)])
    pace = (shifts[-1] - shifts[-2]) / np.log(10)
    values = ", ".join(f"{shift:.3g}" for shift in shifts)
    print(f"  M = {size}, eta_Y = {eta_y:g}: {values}; {pace:.3g}")
print("c grows by half an update per factor e of time, without end; h* - h itself tends to 0.")
