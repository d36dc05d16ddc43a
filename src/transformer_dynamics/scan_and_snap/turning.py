"""When the growth of distinct tokens turns."""

import numpy as np
import pandas as pd


def turn(run: pd.DataFrame) -> float:
    """Time at which B_n(t) of one run rises fastest, in updates.

    Args:
        run: columns iteration and growth, the latter B_n(t).
    """
    run = run.sort_values("iteration")
    times, values = run["iteration"].to_numpy(), run["growth"].to_numpy()
    middles = np.geomspace(1.2, times[-1] / 1.2, 400)
    rise = np.interp(middles * 1.2, times, values) - np.interp(middles / 1.2, times, values)
    return float(middles[np.argmax(rise / middles)])
