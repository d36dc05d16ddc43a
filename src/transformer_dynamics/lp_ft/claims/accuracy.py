"""Accuracies of methods, in distribution and out of it (Tables 8 and 10)."""

import pandas as pd

from replication.base.errors import UnmeasurableError
from transformer_dynamics.lp_ft.claims.contrasts import (
    TEST,
    RunMetric,
    is_judged,
    method_differences,
)


def gain(accuracy: RunMetric) -> pd.DataFrame:
    """Return the accuracy of LP-FT minus that of FT, on test samples of the set itself."""
    return method_differences(_judged_rows(accuracy, elsewhere=False), "score", [("lp_ft", "ft")])


def gain_of_adapters(accuracy: RunMetric) -> pd.DataFrame:
    """Return the accuracy of LP-LoRA minus that of LoRA, on test samples of the set itself."""
    return method_differences(
        _judged_rows(accuracy, elsewhere=False), "score", [("lp_lora", "lora")]
    )


def gain_over_probing(accuracy: RunMetric) -> pd.DataFrame:
    """Return the accuracy of LP-FT minus that of LP, on test samples of the set itself."""
    return method_differences(_judged_rows(accuracy, elsewhere=False), "score", [("lp_ft", "lp")])


def gain_over_adapters(accuracy: RunMetric) -> pd.DataFrame:
    """Return the accuracy of LP-FT minus that of LoRA, on test samples of the set itself."""
    return method_differences(_judged_rows(accuracy, elsewhere=False), "score", [("lp_ft", "lora")])


def gain_over_probing_elsewhere(accuracy: RunMetric) -> pd.DataFrame:
    """Return the accuracy of LP-FT minus that of LP, on test samples out of distribution."""
    return method_differences(_judged_rows(accuracy, elsewhere=True), "score", [("lp_ft", "lp")])


def gain_elsewhere(accuracy: RunMetric) -> pd.DataFrame:
    """Return the accuracy of LP-FT minus that of FT, on test samples out of distribution."""
    return method_differences(_judged_rows(accuracy, elsewhere=True), "score", [("lp_ft", "ft")])


def _judged_rows(accuracy: RunMetric, *, elsewhere: bool) -> pd.DataFrame:
    """Return the rows of test sets with enough samples, with a column `score`.

    The score is the accuracy; on CoLA it is Matthews' correlation.

    Raises:
        UnmeasurableError: if there is none.
    """
    rows = accuracy.table
    kind = rows["split"] != TEST if elsewhere else rows["split"] == TEST
    tested = rows["split"].where(rows["split"] != TEST, rows["texts"])
    rows = rows[kind & (rows["split"] != "validation") & is_judged(tested, accuracy)]
    if rows.empty:
        raise UnmeasurableError("no test set of this kind has 500 samples")
    score = rows["accuracy"].where(rows["texts"] != "cola", rows["matthews"])
    return rows.assign(score=score)
