"""How linear heads grow under signs, with an average of gradients and without.

Heads of a seed share their start and all batches. Classes are many from `MANY` on. Batches count
as small below C log 2, where absent classes drive mean b down, (1) of `theory.drift`.
"""

from collections.abc import Iterator

import pandas as pd

from replication.base.errors import UnmeasurableError
from replication.study.contract import Measured
from replication.study.evidence import Cases, evidence, evidence_by_seed
from transformer_dynamics.gradient_heterogeneity.claims.contrasts import of_seeds
from transformer_dynamics.gradient_heterogeneity.measure_settings import MeasureHeads, MeasureJob
from transformer_dynamics.gradient_heterogeneity.run_settings import SharedTraining
from transformer_dynamics.gradient_heterogeneity.theory.drift import balanced_batch

HeadsOf = Measured[MeasureHeads]
"""The metric `heads` of heads on features that stay."""
WholeOf = Measured[MeasureJob]
"""The metric `heads` of whole networks."""
MANY, TWO = 20, 2
"""Classes."""
Pair = tuple[pd.DataFrame, pd.DataFrame]
"""Rows of SignSGD and of Signum."""


def less_drift(measured: HeadsOf, training: SharedTraining) -> pd.DataFrame:
    """|drift of mean b| a step in units of the rate, SignSGD minus the usual Signum."""
    return evidence_by_seed(
        {
            name: _last(sign, "drift").abs() - _last(signum, "drift").abs()
            for name, (sign, signum) in _pairs(measured.table, training)
        }
    )


def smaller_common(measured: HeadsOf, training: SharedTraining) -> pd.DataFrame:
    """Norm of V's common mode over ||V|| at the start, SignSGD minus Signum."""
    return evidence_by_seed(dict(_norms(measured.table, training, "common")))


def smaller_total(measured: HeadsOf, training: SharedTraining) -> pd.DataFrame:
    """||V|| over that at the start, SignSGD minus Signum."""
    return evidence_by_seed(dict(_norms(measured.table, training, "total")))


def larger_centred(measured: HeadsOf, training: SharedTraining) -> pd.DataFrame:
    """Norm of V without its common mode over ||V|| at the start, SignSGD minus Signum."""
    return evidence_by_seed(dict(_norms(measured.table, training, "centred")))


def _norms(
    table: pd.DataFrame, training: SharedTraining, column: str
) -> Iterator[tuple[str, "pd.Series[float]"]]:
    for name, (sign, signum) in _pairs(table, training):
        start = of_seeds(sign[sign["step"] == 0], "total", name)
        yield name, (_last(sign, column) - _last(signum, column)) / start


def _pairs(table: pd.DataFrame, training: SharedTraining) -> Iterator[tuple[str, Pair]]:
    """Of many classes and small batches; Signum has the average that it has in all trainings."""
    is_usual = table["beta"] == training.averages.signum
    signum = (table["optimiser"] == "signum") & is_usual
    for classes, batch, own in _sizes(table):
        if classes >= MANY and batch < balanced_batch(classes):
            yield (
                f"C={classes}, m={batch}",
                (
                    own[own["optimiser"] == "signsgd"],
                    own[signum.reindex(own.index)],
                ),
            )


def _sizes(table: pd.DataFrame) -> Iterator[tuple[int, int, pd.DataFrame]]:
    """Rows by C and m."""
    for classes in sorted(table["classes"].unique().tolist()):
        own = table[table["classes"] == classes]
        for batch in sorted(own["batch"].unique().tolist()):
            yield classes, batch, own[own["batch"] == batch]


def _last(rows: pd.DataFrame, column: str) -> "pd.Series[float]":
    """By seed, after the last step."""
    return of_seeds(rows[rows["step"] == rows["step"].max()], column, "heads")


def below_absence_bound(measured: HeadsOf) -> pd.DataFrame:
    """Drift of SignSGD a step in units of the rate minus what absent classes allow, small m."""
    rows = measured.table[measured.table["optimiser"] == "signsgd"]
    cells = {}
    for classes, batch, own in _sizes(rows):
        if classes > TWO and batch < balanced_batch(classes):
            excess = own.assign(excess=own["drift"] - own["bound"])
            cells[f"C={classes}, m={batch}"] = _last(excess, "excess")
    return evidence_by_seed(cells)


@evidence
def kept_common(measured: HeadsOf) -> Cases:
    """Largest |drift| in units of the rate, over seeds, batches and points.

    Of SGD and SGD-m, and of SignSGD with two classes, whose gradients are opposite.
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


def less_drift_of_whole(whole: WholeOf) -> pd.DataFrame:
    """As `less_drift`, of whole networks by rate."""
    return evidence_by_seed(
        {
            name: _last(sign, "drift").abs() - _last(signum, "drift").abs()
            for name, (sign, signum) in _whole(whole.table)
        }
    )


def smaller_total_of_whole(whole: WholeOf) -> pd.DataFrame:
    """As `smaller_total`, of whole networks by rate."""
    cells = {}
    for name, (sign, signum) in _whole(whole.table):
        start = of_seeds(sign[sign["step"] == 0], "total", name)
        cells[name] = (_last(sign, "total") - _last(signum, "total")) / start
    return evidence_by_seed(cells)


def _whole(table: pd.DataFrame) -> Iterator[tuple[str, Pair]]:
    for rate, own in table.groupby("rate"):
        sign, signum = (own[own["optimiser"] == name] for name in ("signsgd", "signum"))
        yield f"rate {rate:g}", (sign, signum)
