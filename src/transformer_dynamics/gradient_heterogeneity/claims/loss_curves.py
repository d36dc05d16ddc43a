"""Loss along training by optimiser, and nearness of its steps to signs.

Where all optimisers reach a floor, the end tells little of them. The mean of the training loss over
all updates, in units of chance, counts how fast it falls as well as where it ends. Losses are those
of batches, with dropout, before each update; after training was lost they count as at chance.
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
    rows_of_run,
    rows_of_task,
    values_by_seed,
)
from transformer_dynamics.gradient_heterogeneity.settings.metrics import MetricJob

MetricOf = Measured[MetricJob]
"""The metric `curves`, `endpoint` or `step_directions` of an experiment."""
HALF = 0.5
"""Share of the loss at chance to which steps are counted."""
WINDOW = 10
"""Number of batches before and after a step whose losses are averaged where steps are counted."""


def losses(curves: MetricOf, ends: MetricOf, *, full_batch: bool = False) -> pd.DataFrame:
    """Return the rows of curves with the loss over ln C as `value`.

    An `UnmeasurableError` if a batch is not all samples where it should be.
    """
    return _full_batch_losses(curves, ends) if full_batch else _losses(curves, ends)


def beside_adam(
    curves: MetricOf, ends: MetricOf, *, optimiser: str, full_batch: bool
) -> pd.DataFrame:
    """Measure half of Adam's lead over SGD-m minus another optimiser's distance, above and below.

    The lead is that in the mean loss over all updates.
    """
    cells: dict[str, pd.Series[float]] = {}
    for case, own in losses(curves, ends, full_batch=full_batch).groupby("case", sort=False):
        adam = _mean_loss(own, "adam")
        half = (_mean_loss(own, "sgd_momentum") - adam) / 2
        beside = _mean_loss(own, optimiser) - adam
        cells |= {f"{case}, not above": half - beside, f"{case}, not below": half + beside}
    return evidence_by_seed(cells)


def steps_on_trec6(curves: MetricOf, ends: MetricOf) -> pd.DataFrame:
    """Measure the log of the updates to half of the loss at chance, SGD-m minus Adam, on TREC-6.

    Raises:
        OutOfRegimeError: if nothing is trained on TREC-6.
    """
    return evidence_by_seed(case_gaps(rows_of_task(_losses(curves, ends), "trec6"), _log_steps))


def schedules(
    linear: MetricOf, linear_ends: MetricOf, others: MetricOf, other_ends: MetricOf
) -> pd.DataFrame:
    """Measure the mean loss, SGD-m minus Signum, under a schedule minus under the linear one."""
    usual = case_gaps(_losses(linear, linear_ends), _mean_loss, "signum")
    return evidence_by_seed(
        {
            f"{case}, {schedule}": gap - usual[case]
            for schedule, rows in _losses(others, other_ends).groupby("schedule", sort=False)
            for case, gap in case_gaps(rows, _mean_loss, "signum").items()
        }
    )


def _losses(curves: MetricOf, ends: MetricOf) -> pd.DataFrame:
    """Return the rows of curves with the loss over ln C as `value`."""
    classes = ends.table.groupby("case")["classes"].first()
    rows = curves.table
    if missing := {*rows["case"]} - {*classes.index}:
        raise UnmeasurableError(f"number of classes of {', '.join(sorted(missing))} is not known")
    values = rows["loss"] / np.log(rows["case"].map(classes))
    return rows.assign(value=values.fillna(CHANCE))


def _full_batch_losses(curves: MetricOf, ends: MetricOf) -> pd.DataFrame:
    rows = _losses(curves, ends)
    if (rows["batch"] != 0).any():
        raise UnmeasurableError("batches are not all samples")
    return rows


def _mean_loss(rows: pd.DataFrame, optimiser: str) -> "pd.Series[float]":
    return mean_over_steps(rows, optimiser, "value")


def _log_steps(rows: pd.DataFrame, optimiser: str) -> "pd.Series[float]":
    """Return the log of the updates until the loss is `HALF`, or of all if it never is, by seed."""
    found = {}
    for seed, own in rows_of_run(rows, optimiser).groupby("seed"):
        losses = own.sort_values("step")["value"]
        smooth = losses.rolling(2 * WINDOW + 1, center=True, min_periods=WINDOW + 1).mean()
        below = np.flatnonzero(smooth.to_numpy() <= HALF)
        found[seed] = np.log(below[0] + 1 if len(below) else len(losses))
    told = pd.DataFrame({"seed": list(found), "value": list(found.values())})
    return values_by_seed(told, "value", optimiser)
