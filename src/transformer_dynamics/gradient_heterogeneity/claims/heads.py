"""Growth of linear heads under signs, with an average of gradients and without.

Heads of a seed share their start and all batches. Classes are many from `MANY` on. Batches count
as small below C log 2, where absent classes drive mean b down, (1) of `theory.drift`.
"""

from collections.abc import Iterator

import pandas as pd

from replication.base.errors import UnmeasurableError
from replication.study.contract import Measured
from replication.study.evidence import Cases, evidence, evidence_by_seed
from transformer_dynamics.gradient_heterogeneity.claims.contrasts import values_by_seed
from transformer_dynamics.gradient_heterogeneity.settings.metrics import HeadsMetricJob, MetricJob
from transformer_dynamics.gradient_heterogeneity.settings.training import SharedTraining
from transformer_dynamics.gradient_heterogeneity.theory.drift import balanced_batch

HeadsOf = Measured[HeadsMetricJob]
"""The metric `heads` of heads on features that stay."""
WholeOf = Measured[MetricJob]
"""The metric `heads` of whole networks."""
MANY, TWO = 20, 2
"""Numbers of classes that are many, and two."""
Pairs = Iterator[tuple[str, pd.DataFrame, pd.DataFrame]]
"""Name of a comparison, rows of SignSGD and rows of Signum."""


def last(measured: HeadsOf, training: SharedTraining) -> pd.DataFrame:
    """Return SignSGD beside the usual Signum after the last step, by numbers of classes and batch.

    Classes are many and batches small.
    """
    found = [
        rows[rows["step"] == rows["step"].max()]
        for _, *both in _pairs(measured.table, training)
        for rows in both
    ]
    return pd.concat(found, ignore_index=True) if found else measured.table.iloc[:0]


def norms(measured: HeadsOf, training: SharedTraining, *, column: str) -> pd.DataFrame:
    """Measure a norm of V in the end over ||V|| at the start, SignSGD minus the usual Signum.

    The column is that of V's common mode, of centred V, or of all of V.
    """
    return _norm_gaps(_pairs(measured.table, training), column)


def smaller_total_of_whole(whole: WholeOf) -> pd.DataFrame:
    """Measure the norm of all of V, as `norms`, on heads of whole networks, by rate."""
    return _norm_gaps(_whole_pairs(whole.table), "total")


def _norm_gaps(pairs: Pairs, column: str) -> pd.DataFrame:
    cells = {}
    for name, sign, signum in pairs:
        start = values_by_seed(sign[sign["step"] == 0], "total", name)
        cells[name] = (_last(sign, column) - _last(signum, column)) / start
    return evidence_by_seed(cells)


def _pairs(table: pd.DataFrame, training: SharedTraining) -> Pairs:
    """Yield SignSGD beside the usual Signum, for many classes and small batches."""
    is_usual = table["beta"] == training.averages.signum
    signum = (table["optimiser"] == "signum") & is_usual
    for classes, batch, own in _sizes(table):
        if classes >= MANY and batch < balanced_batch(classes):
            sign = own[own["optimiser"] == "signsgd"]
            yield f"C={classes}, m={batch}", sign, own[signum.reindex(own.index)]


def _whole_pairs(table: pd.DataFrame) -> Pairs:
    for rate, own in table.groupby("rate"):
        sign, signum = (own[own["optimiser"] == name] for name in ("signsgd", "signum"))
        yield f"rate {rate:g}", sign, signum


def _sizes(table: pd.DataFrame) -> Iterator[tuple[int, int, pd.DataFrame]]:
    """Yield C, m and the rows with C classes and batches of m samples."""
    for classes in sorted(table["classes"].unique().tolist()):
        own = table[table["classes"] == classes]
        for batch in sorted(own["batch"].unique().tolist()):
            yield classes, batch, own[own["batch"] == batch]


def _last(rows: pd.DataFrame, column: str) -> "pd.Series[float]":
    """Return a column after the last step, by seed."""
    return values_by_seed(rows[rows["step"] == rows["step"].max()], column, "heads")


def below_absence_bound(measured: HeadsOf) -> pd.DataFrame:
    """Measure the drift of SignSGD a step, in units of the rate, minus its bound.

    The bound is that of absent classes.
    """
    rows = measured.table[measured.table["optimiser"] == "signsgd"]
    cells = {}
    for classes, batch, own in _sizes(rows):
        if classes > TWO and batch < balanced_batch(classes):
            excess = own.assign(excess=own["drift"] - own["bound"])
            cells[f"C={classes}, m={batch}"] = _last(excess, "excess")
    return evidence_by_seed(cells)


@evidence
def kept_common(measured: HeadsOf) -> Cases:
    """Measure the largest |drift| of mean b in units of the rate, over seeds, batches and points.

    Cases are SGD and SGD-m, and SignSGD with two classes, whose gradients are opposite.
    """
    rows = measured.table[measured.table["step"] > 0]
    for optimiser in ("sgd", "sgd_momentum"):
        own = rows[rows["optimiser"] == optimiser]
        for classes, part in own.groupby("classes"):
            yield f"{optimiser}, C={classes}", part["drift"].abs().max()
    two = rows[(rows["classes"] == TWO) & (rows["optimiser"] == "signsgd")]
    if two.empty:
        raise UnmeasurableError("heads of two classes are needed")
    yield "signsgd, C=2", two["drift"].abs().max()
