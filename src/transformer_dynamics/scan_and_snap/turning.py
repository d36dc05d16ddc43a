"""When the growth of distinct tokens turns."""

import numpy as np
import pandas as pd

from transformer_dynamics.scan_and_snap.measure_settings import Turn


def turn(run: pd.DataFrame, by: Turn) -> float:
    """Time at which B_n(t) of one run rises fastest, in updates.

    Where a parabola through dB_n/dt against ln t, around its largest value, has its peak. It
    interpolates between the recorded updates and evens out noise.

    Args:
        run: columns iteration and growth, the latter B_n(t).
        by: over which times slopes are taken, and to which the parabola is fitted.
    """
    slope, width = by.slope, by.parabola
    run = run.sort_values("iteration")
    times, values = run["iteration"].to_numpy(), run["growth"].to_numpy()
    middles = np.geomspace(slope, times[-1] / slope, 400)
    rise = np.interp(middles * slope, times, values) - np.interp(middles / slope, times, values)
    pace = rise / middles
    fastest = middles[np.argmax(pace)]
    near = (fastest / width <= middles) & (middles <= fastest * width)
    curvature, rising, _ = np.polyfit(np.log(middles[near] / fastest), pace[near], 2)
    if curvature >= 0:
        return float(fastest)
    shift = np.clip(-rising / (2 * curvature), -np.log(width), np.log(width))
    return float(fastest * np.exp(shift))
