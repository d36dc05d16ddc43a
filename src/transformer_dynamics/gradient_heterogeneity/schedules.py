"""The share of the rate that each step has, as transformers' trainer computes it."""

from math import cos, pi
from typing import Literal

Schedule = Literal["linear", "constant", "cosine", "warmup"]
"""Falls to 0 in a line; stays; falls to 0 as half a cosine; rises in a line, then falls in one."""


def share(schedule: Schedule, step: int, steps: int, warm_up: float) -> float:
    """The rate of a step, divided by the rate.

    Args:
        schedule: which.
        step: t, steps before it.
        steps: T > t.
        warm_up: share of the steps in which `warmup` rises.

    Returns:
        1 - t/T; 1; (1 + cos(pi t/T))/2; t/W below W, `warm_up` times T, rounded up, and
        (T - t)/(T - W) from there on, so that the first step of `warmup` moves nothing.
    """
    if schedule == "constant":
        return 1.0
    if schedule == "cosine":
        return (1 + cos(pi * step / steps)) / 2
    rising = -int(-warm_up * steps // 1) if schedule == "warmup" else 0
    if step < rising:
        return step / rising
    return (steps - step) / max(steps - rising, 1)
