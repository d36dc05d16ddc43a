"""Overconfidence of long heads, and the effect of temperature scaling (Tables 3, 14, 15)."""

import pandas as pd

from replication.base.errors import UnmeasurableError
from transformer_dynamics.lp_ft.claims.contrasts import TEST, RunMetric, is_judged, trained


def judged(calibration: RunMetric) -> pd.DataFrame:
    """Return the rows of test sets with enough samples; an `UnmeasurableError` if there is none."""
    rows = trained(calibration)
    rows = rows[(rows["split"] == TEST) & is_judged(rows["texts"], calibration)]
    if rows.empty:
        raise UnmeasurableError("no set has 500 test samples, on which calibration is judged")
    return rows
