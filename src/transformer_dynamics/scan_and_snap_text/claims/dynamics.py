"""Evidence on attention along training, from the metric `dynamics`."""

from typing import Any

import pandas as pd

from replication.base.errors import OutOfRegimeError
from replication.study.contract import Measured
from replication.study.contrasts import change_along
from transformer_dynamics.scan_and_snap_text.settings.metrics import MetricSettings

KEYS = ["corpus", "model", "learning_rate", "seed"]


def change_of_entropy(*dynamics: Measured[Any]) -> pd.DataFrame:
    """Return the entropy over that of uniform attention, after training minus before."""
    first, last = _first_and_last_rows(dynamics)
    return _evidence_rows(last["entropy_share"] - first["entropy_share"])


def late_change(*dynamics: Measured[Any]) -> pd.DataFrame:
    """Return the change of attention in the last 100 updates over the largest one before."""
    rows = pd.concat([item.table for item in dynamics])
    before = rows[rows.duplicated(KEYS, keep="last")].groupby(KEYS, sort=False)["change"].max()
    return _evidence_rows(_first_and_last_rows(dynamics)[1]["change"] / before)


def remaining_entropy(*dynamics: Measured[Any]) -> pd.DataFrame:
    """Return the entropy over that of uniform attention, after training."""
    return _evidence_rows(_first_and_last_rows(dynamics)[1]["entropy_share"])


def distinctness_correlation(*dynamics: Measured[Any]) -> pd.DataFrame:
    """Return the rank correlation of attention and distinctness of the key, after training."""
    return _evidence_rows(_first_and_last_rows(dynamics)[1]["distinctness"])


def change_of_rare_words(*dynamics: Measured[Any]) -> pd.DataFrame:
    """Return the change of attention on rare minus that on function words, over uniform."""
    first, last = _first_and_last_rows(dynamics)
    change = last - first
    return _evidence_rows(change["rare_words"] - change["function_words"])


def early_entropy_against_rate(dynamics: Measured[Any], metrics: MetricSettings) -> pd.DataFrame:
    """Return the change of the entropy along the learning rate after `early` updates.

    Raises:
        OutOfRegimeError: if no run records that update.
    """
    rows = dynamics.table[dynamics.table["iteration"] == metrics.early]
    if rows.empty:
        raise OutOfRegimeError(f"no run records update {metrics.early}")
    return _change_along_rate(rows)


def entropy_against_rate(dynamics: Measured[Any]) -> pd.DataFrame:
    """Return the change of the entropy along the learning rate, at the last update."""
    table = dynamics.table
    last = table.groupby("corpus")["iteration"].transform("max")
    return _change_along_rate(table[table["iteration"] == last])


def _change_along_rate(rows: pd.DataFrame) -> pd.DataFrame:
    updates = rows["iteration"].map("{:,}".format)
    cells = rows["corpus"] + ", after " + updates + " updates"
    return change_along(rows.assign(cell=cells, value=rows["entropy"]), "learning_rate")


def _first_and_last_rows(dynamics: tuple[Measured[Any], ...]) -> list[pd.DataFrame]:
    """Return first and last recorded update of every run, whose rows stand in their order."""
    rows = pd.concat([item.table for item in dynamics])
    return [rows.drop_duplicates(KEYS, keep=keep).set_index(KEYS) for keep in ("first", "last")]


def _evidence_rows(values: pd.Series) -> pd.DataFrame:
    """Return a comparison per corpus, model and rate: the value of each seed."""
    rows = values.rename("value").reset_index()
    rates = rows["learning_rate"].map("{:g}".format)
    models = rows["model"].str.replace("_", " ")
    cells = rows["corpus"] + ", " + models + ", rate " + rates
    return rows.assign(cell=cells)[["cell", "seed", "value"]]
