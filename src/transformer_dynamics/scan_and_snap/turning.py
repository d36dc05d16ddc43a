"""When the growth of distinct tokens turns."""

import numpy as np
import pandas as pd

WIDTH = 1.5
"""Factor of time around the fastest rise in which a parabola stands for the rise."""


def turn(run: pd.DataFrame) -> float:
    """Time at which B_n(t) of one run rises fastest, in updates.

    Where a parabola through dB_n/dt against ln t, around its largest value, has its peak. It
    interpolates between the recorded updates and evens out noise.

    Args:
        run: columns iteration and growth, the latter B_n(t).
    """
    run = run.sort_values("iteration")
    times, values = run["iteration"].to_numpy(), run["growth"].to_numpy()
    middles = np.geomspace(1.2, times[-1] / 1.2, 400)
    rise = np.interp(middles * 1.2, times, values) - np.interp(middles / 1.2, times, values)
    pace = rise / middles
    fastest = middles[np.argmax(pace)]
    near = (fastest / WIDTH <= middles) & (middles <= fastest * WIDTH)
    curvature, slope, _ = np.polyfit(np.log(middles[near] / fastest), pace[near], 2)
    if curvature >= 0:
        return float(fastest)
    shift = np.clip(-slope / (2 * curvature), -np.log(WIDTH), np.log(WIDTH))
    return float(fastest * np.exp(shift))
