"""Who is right more often, in distribution and out of it (Tables 8 and 10)."""

import pandas as pd

from replication.base.errors import UnmeasurableError
from transformer_dynamics.lp_ft.claims.contrasts import FEW, TEST, Trained, differences


def gain(accuracy: Trained) -> pd.DataFrame:
    """Accuracy of LP-FT minus that of FT, on test samples of the set itself."""
    return differences(_of(accuracy, elsewhere=False), "score", [("lp_ft", "ft")])


def gain_of_adapters(accuracy: Trained) -> pd.DataFrame:
    """Accuracy of LP-LoRA minus that of LoRA, on test samples of the set itself."""
    return differences(_of(accuracy, elsewhere=False), "score", [("lp_lora", "lora")])


def gain_over_probing(accuracy: Trained) -> pd.DataFrame:
    """Accuracy of LP-FT minus that of LP, on test samples of the set itself."""
    return differences(_of(accuracy, elsewhere=False), "score", [("lp_ft", "lp")])


def gain_over_adapters(accuracy: Trained) -> pd.DataFrame:
    """Accuracy of LP-FT minus that of LoRA, on test samples of the set itself."""
    return differences(_of(accuracy, elsewhere=False), "score", [("lp_ft", "lora")])


def gain_over_probing_elsewhere(accuracy: Trained) -> pd.DataFrame:
    """Accuracy of LP-FT minus that of LP, out of distribution."""
    return differences(_of(accuracy, elsewhere=True), "score", [("lp_ft", "lp")])


def gain_elsewhere(accuracy: Trained) -> pd.DataFrame:
    """Accuracy of LP-FT minus that of FT, out of distribution."""
    return differences(_of(accuracy, elsewhere=True), "score", [("lp_ft", "ft")])


def _of(accuracy: Trained, *, elsewhere: bool) -> pd.DataFrame:
    """Test sets with enough samples, and `score`: accuracy, of CoLA Matthews' correlation.

    Raises:
        UnmeasurableError: if there is none.
    """
    rows = accuracy.table
    kind = rows["split"] != TEST if elsewhere else rows["split"] == TEST
    tested = rows["split"].where(rows["split"] != TEST, rows["texts"])
    rows = rows[kind & (rows["split"] != "validation") & ~tested.isin(FEW)]
    if rows.empty:
        raise UnmeasurableError("no test set of this kind has 500 samples")
    score = rows["accuracy"].where(rows["texts"] != "cola", rows["matthews"])
    return rows.assign(score=score)
