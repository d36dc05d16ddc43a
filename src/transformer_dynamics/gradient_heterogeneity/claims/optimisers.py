"""Loss at the end by optimiser, on the fixed slice of the training set, in units of chance.

A loss is divided by ln C, what it is when all classes count as equally probable, so that one margin
serves tasks with few classes and with many.
"""

import numpy as np
import pandas as pd

from replication.base.errors import UnmeasurableError
from replication.study.contract import Measured
from replication.study.evidence import evidence_by_seed
from transformer_dynamics.gradient_heterogeneity.claims.contrasts import (
    CHANCE,
    case_gaps,
    mean_over_steps,
    rows_of_task,
    values_by_seed,
)
from transformer_dynamics.gradient_heterogeneity.settings.metrics import MetricJob
from transformer_dynamics.gradient_heterogeneity.settings.training import USUAL_EPSILON

MetricOf = Measured[MetricJob]
"""The metric `endpoint` or `step_directions` of an experiment."""


def ends(measured: MetricOf, *, task: str | None = None) -> pd.DataFrame:
    """Return the last points of a task, or of all, with the endpoint over ln C as `value`.

    Runs that were lost are at chance. `at` names optimiser and exponent, as sgd_1.
    """
    rows = _ends(measured.table if task is None else rows_of_task(measured.table, task))
    exponents = rows["exponent"].map("{:g}".format)
    return rows.assign(at=rows["optimiser"] + "_" + exponents)


def gap_beyond_cnn(on_texts: MetricOf, on_images: MetricOf) -> pd.DataFrame:
    """Measure the gap of SGD-m to Adam on a transformer minus that on the CNN, both clipped alike.

    Raises:
        UnmeasurableError: if there are several ways of training the CNN.
    """
    cnn = _ends(on_images.table)
    if len({*cnn["case"]}) != 1:
        raise UnmeasurableError("needs one case of the CNN to compare with")
    (alike,) = case_gaps(cnn, _end).values()
    texts = _ends(on_texts.table)
    is_alike = texts.groupby("case")["clip"].transform("first") == cnn["clip"].iloc[0]
    return evidence_by_seed(
        {case: gap - alike for case, gap in case_gaps(texts[is_alike], _end).items()}
    )


def likeness_lost(usual: MetricOf, changed: MetricOf) -> pd.DataFrame:
    """Measure the cosine of Adam's step and its signs, the usual epsilon minus the largest."""
    largest = changed.table["epsilon"].max()
    cells = {}
    for chosen, own in changed.table[changed.table["epsilon"] == largest].groupby("set"):
        beside = usual.table[_alike(usual.table, own) & (usual.table["set"] == chosen)]
        cells[str(chosen).replace("_", " ")] = _likeness(beside) - _likeness(own)
    return evidence_by_seed(cells)


def loss_of_likeness(usual: MetricOf, changed: MetricOf) -> pd.DataFrame:
    """Measure the endpoint of Adam with the largest epsilon minus that with the usual one."""
    ends, known = _ends(changed.table), _ends(usual.table)
    own = ends[ends["epsilon"] == ends["epsilon"].max()]
    beside = known[_alike(known, own)]
    return evidence_by_seed({"largest epsilon": _end(own, "adam") - _end(beside, "adam")})


def _alike(known: pd.DataFrame, own: pd.DataFrame) -> "pd.Series[bool]":
    """Return the rows of the same task and clipping, with the usual epsilon, as a mask."""
    task, clip = own["task"].iloc[0], own["clip"].iloc[0]
    is_usual = known["epsilon"].isna() | (known["epsilon"] == USUAL_EPSILON)
    found: pd.Series[bool] = (known["task"] == task) & (known["clip"] == clip) & is_usual
    return found


def _likeness(rows: pd.DataFrame) -> "pd.Series[float]":
    return mean_over_steps(rows, "adam", "own_sign")


def end_gaps(table: pd.DataFrame) -> dict[str, "pd.Series[float]"]:
    """Return the endpoint over ln C of SGD-m minus that of Adam, by case and seed."""
    return case_gaps(_ends(table), _end)


def _ends(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the last points, with the endpoint over ln C as `value`; lost runs are at chance."""
    rows = rows[rows["is_last"]]
    return rows.assign(value=(rows["endpoint"] / np.log(rows["classes"])).fillna(CHANCE))


def _end(rows: pd.DataFrame, optimiser: str) -> "pd.Series[float]":
    return values_by_seed(rows[rows["optimiser"] == optimiser], "value", optimiser)
