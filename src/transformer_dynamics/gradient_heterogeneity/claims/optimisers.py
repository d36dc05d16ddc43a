"""Which optimiser ends lower: losses of the fixed slice of the training set, in units of chance.

A loss is divided by ln C, what it is when all classes count as equally probable, so that one margin
serves tasks with few classes and with many.
"""

import numpy as np
import pandas as pd

from replication.base.errors import OutOfRegimeError, UnmeasurableError
from replication.study.contract import Measured
from replication.study.evidence import evidence_by_seed
from transformer_dynamics.gradient_heterogeneity.claims.contrasts import of_seeds
from transformer_dynamics.gradient_heterogeneity.measure_settings import MeasureJob
from transformer_dynamics.gradient_heterogeneity.optimizer_settings import USUAL_EPSILON

Of = Measured[MeasureJob]
"""The metric `endpoint` or `step_directions` of an experiment."""
CHANCE = 1.0
"""Loss over ln C of a run that was lost, as of a network that knows nothing."""


def gaps_on_cola(measured: Of) -> pd.DataFrame:
    """SGD-m minus Adam on CoLA, clipped and not."""
    return _gaps_on("cola", measured.table)


def gaps_on_trec6(measured: Of) -> pd.DataFrame:
    """The same on TREC-6."""
    return _gaps_on("trec6", measured.table)


def _gaps_on(task: str, table: pd.DataFrame) -> pd.DataFrame:
    """Of the cases of one task.

    Raises:
        OutOfRegimeError: if there is none.
    """
    own = table[table["task"] == task]
    if own.empty:
        raise OutOfRegimeError(f"nothing is trained on {task}")
    return _gaps(own)


def _gaps(table: pd.DataFrame) -> pd.DataFrame:
    """Of every case."""
    ends = _ends(table)
    return evidence_by_seed(
        {
            str(case): _end(own, "sgd_momentum") - _end(own, "adam")
            for case, own in ends.groupby("case", sort=False)
        }
    )


def gap_beyond_cnn(on_texts: Of, on_images: Of) -> pd.DataFrame:
    """The gap of SGD-m to Adam on a transformer minus that on the CNN, both clipped alike.

    Raises:
        UnmeasurableError: if there are several ways of training the CNN.
    """
    cnn = _ends(on_images.table)
    if len({*cnn["case"]}) != 1:
        raise UnmeasurableError("needs one case of the CNN to compare with")
    alike = _end(cnn, "sgd_momentum") - _end(cnn, "adam")
    return evidence_by_seed(
        {
            str(case): _end(own, "sgd_momentum") - _end(own, "adam") - alike
            for case, own in _ends(on_texts.table).groupby("case", sort=False)
            if own["clip"].iloc[0] == cnn["clip"].iloc[0]
        }
    )


def sign_likeness(directions: Of) -> pd.DataFrame:
    """Cosine of a step and its own signs, Adam minus SGD-m, mean over the points of training."""
    cells = {}
    for (case, chosen), own in directions.table.groupby(["case", "set"], sort=False):
        adam, sgd = (_likeness(own, optimiser) for optimiser in ("adam", "sgd_momentum"))
        cells[f"{case}, {str(chosen).replace('_', ' ')}"] = adam - sgd
    return evidence_by_seed(cells)


def likeness_lost(usual: Of, changed: Of) -> pd.DataFrame:
    """Cosine of Adam's step and its own signs, with the usual epsilon minus with the largest."""
    largest = changed.table["epsilon"].max()
    cells = {}
    for chosen, own in changed.table[changed.table["epsilon"] == largest].groupby("set"):
        beside = usual.table[_alike(usual.table, own) & (usual.table["set"] == chosen)]
        cells[str(chosen).replace("_", " ")] = _likeness(beside, "adam") - _likeness(own, "adam")
    return evidence_by_seed(cells)


def loss_of_likeness(usual: Of, changed: Of) -> pd.DataFrame:
    """Endpoint of Adam with the largest epsilon minus that with the usual one."""
    ends, known = _ends(changed.table), _ends(usual.table)
    own = ends[ends["epsilon"] == ends["epsilon"].max()]
    beside = known[_alike(known, own)]
    return evidence_by_seed({"largest epsilon": _end(own, "adam") - _end(beside, "adam")})


def _alike(known: pd.DataFrame, own: pd.DataFrame) -> "pd.Series[bool]":
    """Rows of the same task and clipping, with the usual epsilon."""
    task, clip = own["task"].iloc[0], own["clip"].iloc[0]
    is_usual = known["epsilon"].isna() | (known["epsilon"] == USUAL_EPSILON)
    found: pd.Series[bool] = (known["task"] == task) & (known["clip"] == clip) & is_usual
    return found


def _likeness(rows: pd.DataFrame, optimiser: str) -> "pd.Series[float]":
    own = rows[rows["optimiser"] == optimiser]
    if own.duplicated(["seed", "step"]).any():
        raise UnmeasurableError(f"{optimiser}: needs one run per seed")
    means = own.groupby("seed")["own_sign"].mean().reset_index()
    return of_seeds(means, "own_sign", optimiser)


def schedules(linear: Of, others: Of) -> pd.DataFrame:
    """The gap of SGD-m to Signum under a schedule minus that under the linear one."""
    ends, known = _ends(others.table), _ends(linear.table)
    cells = {}
    for (case, schedule), own in ends.groupby(["case", "schedule"], sort=False):
        beside = known[known["case"] == case]
        gap, usual = (_end(rows, "sgd_momentum") - _end(rows, "signum") for rows in (own, beside))
        cells[f"{case}, {schedule}"] = gap - usual
    return evidence_by_seed(cells)


def sensitivity(reparametrised: Of) -> pd.DataFrame:
    """Slope of the endpoint in q, of SGD minus that of SignSGD, by least squares."""
    slopes = _slopes(reparametrised)
    if {*slopes} != {"sgd", "signsgd"}:
        raise UnmeasurableError("both SGD and SignSGD are needed")
    return evidence_by_seed({"SGD minus SignSGD": slopes["sgd"] - slopes["signsgd"]})


def slowing(reparametrised: Of) -> pd.DataFrame:
    """Slope of the endpoint of SGD alone in q."""
    slopes = _slopes(reparametrised)
    if "sgd" not in slopes:
        raise UnmeasurableError("SGD is needed")
    return evidence_by_seed({"SGD": slopes["sgd"]})


def _slopes(reparametrised: Of) -> dict[str, "pd.Series[float]"]:
    """By optimiser and seed."""
    ends = _ends(reparametrised.table)
    ends = ends[~ends["block_rates"]]
    slopes: dict[str, pd.Series[float]] = {}
    for optimiser, own in ends.groupby("optimiser"):
        wide = own.pivot(index="seed", columns="exponent", values="value")
        if wide.shape[1] < 2 or wide.isna().to_numpy().any():
            raise UnmeasurableError(f"{optimiser}: a slope in q needs two q, the same of all seeds")
        q = wide.columns.to_numpy(np.float64)
        slopes[str(optimiser)] = pd.Series(np.polyfit(q, wide.to_numpy().T, 1)[0], wide.index)
    return slopes


def gain_of_block_rates(reparametrised: Of) -> pd.DataFrame:
    """Endpoint of SGD with one rate minus that with a rate by block."""
    ends = _ends(reparametrised.table)
    ends = ends[ends["exponent"] == 0]
    one, many = (_end(ends[ends["block_rates"] == many], "sgd") for many in (False, True))
    return evidence_by_seed({"one rate minus a rate by block": one - many})


def _ends(rows: pd.DataFrame) -> pd.DataFrame:
    """Last points, with the endpoint over ln C as `value`; training that was lost is at chance."""
    rows = rows[rows["is_last"]]
    return rows.assign(value=(rows["endpoint"] / np.log(rows["classes"])).fillna(CHANCE))


def _end(rows: pd.DataFrame, optimiser: str) -> "pd.Series[float]":
    return of_seeds(rows[rows["optimiser"] == optimiser], "value", optimiser)
