"""Which optimiser has the smaller loss along training, and how near its steps are to signs.

Where all optimisers reach a floor, the end tells little of them. The mean of the training loss over
all updates, in units of chance, counts how fast it falls as well as where it ends. Losses are those
of batches, with dropout, before each update; after training was lost they count as at chance.
"""

import numpy as np
import pandas as pd

from replication.base.errors import OutOfRegimeError, UnmeasurableError
from replication.study.contract import Measured
from replication.study.evidence import evidence_by_seed
from transformer_dynamics.gradient_heterogeneity.claims.contrasts import of_seeds
from transformer_dynamics.gradient_heterogeneity.measure_settings import MeasureJob

Of = Measured[MeasureJob]
"""The metric `curves`, `endpoint` or `step_directions` of an experiment."""
CHANCE = 1.0
"""Loss over ln C of a network that knows nothing."""
HALF = 0.5
"""Share of the loss at chance to which steps are counted."""
WINDOW = 10
"""Batches before and after a step whose losses are averaged where steps are counted."""


def leads_on_cola(curves: Of, ends: Of) -> pd.DataFrame:
    """Mean loss over all updates, SGD-m minus Adam, on CoLA, clipped and not.

    Raises:
        OutOfRegimeError: if nothing is trained on CoLA.
    """
    return _leads(_on("cola", _losses(curves, ends)), ("adam",))


def leads_at_full_batch(curves: Of, ends: Of) -> pd.DataFrame:
    """The same where a batch is all samples."""
    return _leads(_whole(_losses(curves, ends)), ("adam",))


def _leads(rows: pd.DataFrame, optimisers: tuple[str, ...]) -> pd.DataFrame:
    """Of every case."""
    cells = {}
    for case, own in rows.groupby("case", sort=False):
        for name in optimisers:
            cell = f"{case}, {name}" if optimisers[1:] else str(case)
            cells[cell] = _mean(own, "sgd_momentum") - _mean(own, name)
    return evidence_by_seed(cells)


def signum_beside_adam(curves: Of, ends: Of) -> pd.DataFrame:
    """Half of Adam's lead over SGD-m minus the distance of Signum, above Adam and below it."""
    return _beside_adam(_losses(curves, ends), "signum")


def sign_beside_adam(curves: Of, ends: Of) -> pd.DataFrame:
    """The same of SignSGD, where a batch is all samples."""
    return _beside_adam(_whole(_losses(curves, ends)), "signsgd")


def _beside_adam(rows: pd.DataFrame, optimiser: str) -> pd.DataFrame:
    cells: dict[str, pd.Series[float]] = {}
    for case, own in rows.groupby("case", sort=False):
        adam = _mean(own, "adam")
        half = (_mean(own, "sgd_momentum") - adam) / 2
        beside = _mean(own, optimiser) - adam
        cells |= {f"{case}, not above": half - beside, f"{case}, not below": half + beside}
    return evidence_by_seed(cells)


def steps_on_trec6(curves: Of, ends: Of) -> pd.DataFrame:
    """Logarithm of the updates to half of the loss at chance, SGD-m minus Adam, on TREC-6.

    Raises:
        OutOfRegimeError: if nothing is trained on TREC-6.
    """
    return evidence_by_seed(
        {
            str(case): _steps(own, "sgd_momentum") - _steps(own, "adam")
            for case, own in _on("trec6", _losses(curves, ends)).groupby("case", sort=False)
        }
    )


def ratios_at_full_batch(curves: Of, ends: Of) -> pd.DataFrame:
    """Mean over all updates of the logarithm of the loss, SGD-m minus Adam, at full batch."""
    rows = _whole(_losses(curves, ends))
    rows = rows.assign(value=np.log(rows["value"]))
    return _leads(rows, ("adam",))


def nearness_to_signs(directions: Of) -> pd.DataFrame:
    """Cosine of a step and of SignSGD's step, Adam minus SGD-m, mean over points of training."""
    return _nearness(directions.table, "sgd_momentum")


def nearness_beside_signum(directions: Of) -> pd.DataFrame:
    """The same, Adam minus Signum."""
    return _nearness(directions.table, "signum")


def _nearness(table: pd.DataFrame, other: str) -> pd.DataFrame:
    cells = {}
    for (case, chosen), own in table.groupby(["case", "set"], sort=False):
        adam, beside = (_mean(own, name, "gradient_sign") for name in ("adam", other))
        cells[f"{case}, {str(chosen).replace('_', ' ')}"] = adam - beside
    return evidence_by_seed(cells)


def _losses(curves: Of, ends: Of) -> pd.DataFrame:
    """Rows of curves with the loss over ln C as `value`."""
    classes = ends.table.groupby("case")["classes"].first()
    rows = curves.table
    if missing := {*rows["case"]} - {*classes.index}:
        raise UnmeasurableError(f"number of classes of {', '.join(sorted(missing))} is not known")
    values = rows["loss"] / np.log(rows["case"].map(classes))
    return rows.assign(value=values.fillna(CHANCE))


def _on(task: str, rows: pd.DataFrame) -> pd.DataFrame:
    own = rows[rows["task"] == task]
    if own.empty:
        raise OutOfRegimeError(f"nothing is trained on {task}")
    return own


def _whole(rows: pd.DataFrame) -> pd.DataFrame:
    if (rows["batch"] != 0).any():
        raise UnmeasurableError("batches are not all samples")
    return rows


def _mean(rows: pd.DataFrame, optimiser: str, column: str = "value") -> "pd.Series[float]":
    """Over all steps of a run, by seed."""
    own = _one_run(rows, optimiser)
    return of_seeds(own.groupby("seed")[column].mean().reset_index(), column, optimiser)


def _steps(rows: pd.DataFrame, optimiser: str) -> "pd.Series[float]":
    """Logarithm of the updates until the loss is `HALF`, or of all if it never is, by seed."""
    found = {}
    for seed, own in _one_run(rows, optimiser).groupby("seed"):
        losses = own.sort_values("step")["value"]
        smooth = losses.rolling(2 * WINDOW + 1, center=True, min_periods=WINDOW + 1).mean()
        below = np.flatnonzero(smooth.to_numpy() <= HALF)
        found[seed] = np.log(below[0] + 1 if len(below) else len(losses))
    told = pd.DataFrame({"seed": list(found), "value": list(found.values())})
    return of_seeds(told, "value", optimiser)


def _one_run(rows: pd.DataFrame, optimiser: str) -> pd.DataFrame:
    own = rows[rows["optimiser"] == optimiser]
    if own.duplicated(["seed", "step"]).any():
        raise UnmeasurableError(f"{optimiser}: needs one run per seed")
    return own
