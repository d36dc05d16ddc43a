"""FT ratios of heads by direction and norm, as a table."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from replication.study.contract import Run
from transformer_dynamics.lp_ft.settings.metrics import HeadMetricJob
from transformer_dynamics.lp_ft.training.head_control import COLUMNS, HEADS, SAMPLES


def measure(job: HeadMetricJob, runs: Iterable[Run], data: Sequence[object]) -> pd.DataFrame:
    """Return the FT ratio and the lengths of its terms for each head and set of samples.

    Columns are seed, direction, norm (random or probe), samples (summed over: `all` of the probe's,
    or a `subset`), and those of `head_control.COLUMNS`: ft_ratio, head_norm, and means over the
    subset, for eta = 1 of the summed loss, of the lengths of p_term, f_term, logit_change and
    feature_change; error, mean ||delta_i||.
    """
    tables = []
    for run in runs:
        values = np.asarray(run.arrays["steps"])
        axes = {"seed": run.seeds, "direction": HEADS, "norm": HEADS, "samples": SAMPLES}
        index = pd.MultiIndex.from_product(list(axes.values()), names=list(axes))
        flat = values.reshape(-1, len(COLUMNS))
        tables.append(pd.DataFrame(flat, index=index, columns=list(COLUMNS)).reset_index())
    return pd.concat(tables, ignore_index=True)
