"""Integration of the flows, with SciPy's integrators."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import solve_ivp

from replication.base.errors import InputError
from transformer_dynamics.scan_and_snap.theory.assumptions import require_times

Floats = NDArray[np.float64]


def require_ascending_times(times: ArrayLike) -> Floats:
    """Return [T] output times of a flow, in updates, in float64.

    Raise InputError if there is none, one is negative, or they do not ascend.
    """
    t = require_times(times)
    if t.ndim != 1 or not len(t) or not np.all(np.diff(t) > 0):
        raise InputError("the times of a flow must be a list that ascends, each time once")
    return t


def integrate(
    slope: Callable[[float, Floats], Floats], initial: Floats, times: Floats, tolerance: float
) -> Floats:
    """Integrate a flow from its [D] state at t = 0; return [T, D] states at ascending times.

    The softmax saturates as it is learnt, so that the fastest rate of these flows falls like 1/t
    and an explicit method of high order is rarely slowed by stiffness. The tolerance is both
    relative and absolute. Raise InputError if the integrator gives up.
    """
    if times[-1] == 0:
        return initial[None].copy()
    span = 0.0, times[-1]
    solution = solve_ivp(slope, span, initial, "DOP853", times, rtol=tolerance, atol=tolerance)
    if not solution.success:
        raise InputError(f"the flow could not be integrated: {solution.message}")
    return np.asarray(solution.y.T)
