"""Accuracies of methods, in distribution and out of it (Tables 8 and 10)."""

import pandas as pd

from replication.base.errors import UnmeasurableError
from transformer_dynamics.lp_ft.claims.contrasts import TEST, RunMetric, is_judged, trained


def judged(accuracy: RunMetric, *, elsewhere: bool) -> pd.DataFrame:
    """Return the rows of test sets with enough samples, with a column `score`.

    The score is the accuracy; on CoLA it is Matthews' correlation. Sets elsewhere are those out of
    distribution. An `UnmeasurableError` if there is none.
    """
    rows = trained(accuracy)
    kind = rows["split"] != TEST if elsewhere else rows["split"] == TEST
    tested = rows["split"].where(rows["split"] != TEST, rows["texts"])
    rows = rows[kind & (rows["split"] != "validation") & is_judged(tested, accuracy)]
    if rows.empty:
        raise UnmeasurableError("no test set of this kind has 500 samples")
    score = rows["accuracy"].where(rows["texts"] != "cola", rows["matthews"])
    return rows.assign(score=score)
