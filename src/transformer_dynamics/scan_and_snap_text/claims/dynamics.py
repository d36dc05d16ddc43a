"""Measures of attention along training: from the metric `dynamics` to evidence."""

from typing import Any

import pandas as pd

from replication.base.errors import OutOfRegimeError
from replication.study.contract import Measured
from replication.study.contrasts import change_along
from transformer_dynamics.scan_and_snap_text.measure_settings import Measures

KEYS = ["corpus", "model", "learning_rate", "seed"]


def change_of_entropy(*dynamics: Measured[Any]) -> pd.DataFrame:
    """Entropy over that of uniform attention, after training minus before."""
    first, last = _ends(dynamics)
    return _evidence(last["entropy_share"] - first["entropy_share"])


def late_change(*dynamics: Measured[Any]) -> pd.DataFrame:
    """Change of attention in the last 100 updates over the largest one before."""
    rows = pd.concat([item.table for item in dynamics])
    before = rows[rows.duplicated(KEYS, keep="last")].groupby(KEYS, sort=False)["change"].max()
    return _evidence(_ends(dynamics)[1]["change"] / before)


def remaining_entropy(*dynamics: Measured[Any]) -> pd.DataFrame:
    """Entropy over that of uniform attention, after training."""
    return _evidence(_ends(dynamics)[1]["entropy_share"])


def distinct_words(*dynamics: Measured[Any]) -> pd.DataFrame:
    """Rank correlation of attention and distinctness of the key, after training."""
    return _evidence(_ends(dynamics)[1]["distinctness"])


def change_of_rare_words(*dynamics: Measured[Any]) -> pd.DataFrame:
    """Attention on rare minus that on function words, over uniform; after training minus before."""
    first, last = _ends(dynamics)
    change = last - first
    return _evidence(change["rare_words"] - change["function_words"])


def early_against_rate(dynamics: Measured[Any], measures: Measures) -> pd.DataFrame:
    """Change of the entropy along the learning rate after `early` updates.

    Raises:
        OutOfRegimeError: if no run records that update.
    """
    rows = dynamics.table[dynamics.table["iteration"] == measures.early]
    if rows.empty:
        raise OutOfRegimeError(f"no run records update {measures.early}")
    return _against_rate(rows)


def against_rate(dynamics: Measured[Any]) -> pd.DataFrame:
    """Change of the entropy along the learning rate, at the last update."""
    table = dynamics.table
    last = table.groupby("corpus")["iteration"].transform("max")
    return _against_rate(table[table["iteration"] == last])


def _against_rate(rows: pd.DataFrame) -> pd.DataFrame:
    updates = rows["iteration"].map("{:,}".format)
    cells = rows["corpus"] + ", after " + updates + " updates"
    return change_along(rows.assign(cell=cells, value=rows["entropy"]), "learning_rate")


def _ends(dynamics: tuple[Measured[Any], ...]) -> list[pd.DataFrame]:
    """The first and the last recorded update of every run, which has its rows in their order."""
    rows = pd.concat([item.table for item in dynamics])
    return [rows.drop_duplicates(KEYS, keep=keep).set_index(KEYS) for keep in ("first", "last")]


def _evidence(values: pd.Series) -> pd.DataFrame:
    """A cell per corpus, model and rate: the value of each seed."""
    rows = values.rename("value").reset_index()
    rates = rows["learning_rate"].map("{:g}".format)
    models = rows["model"].str.replace("_", " ")
    cells = rows["corpus"] + ", " + models + ", rate " + rates
    return rows.assign(cell=cells)[["cell", "seed", "value"]]
