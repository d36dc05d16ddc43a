"""Arrays from the metrics of training runs, and evidence from arrays."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from replication.base.errors import UnmeasurableError
from replication.study import contract as study
from replication.study.evidence import name_cells
from transformer_dynamics.scan_and_snap.metrics.growth import turn_time
from transformer_dynamics.scan_and_snap.settings.metrics import MetricJob, MetricSettings
from transformer_dynamics.scan_and_snap.theory.sequence_classes import (
    Floats,
    SequenceClasses,
    sequence_classes,
)

Measured = study.Measured[MetricJob]
"""One metric of an experiment, and the job that made it."""
RATIO = {"ratio": "eta_Y/eta_Z"}
RATES = {"eta_z": "eta_Z", **RATIO}
"""Columns of a table and their names in that of a comparison."""


class Runs(NamedTuple):
    """Values on the support of every sequence class, of the runs of one mixture."""

    array: Floats
    """[seed, iteration, cell, K, S] Values on the supports."""
    cells: pd.DataFrame
    """Columns eta_z and ratio, a row for each cell."""
    seeds: list[int]
    """Seeds of the runs, ascending."""
    iterations: list[int]
    """Numbers of updates, ascending."""
    classes: SequenceClasses
    """Sequence classes of the mixture."""
    num_common: int
    """Number of common tokens, which are the first of every support."""

    def distinct(self) -> Floats:
        """Return [seed, iteration, cell, K, distinct tokens], the rarest token first."""
        return self.array[..., self.num_common :]


def read_runs(measured: Measured) -> Runs:
    """Return the runs of an experiment with one mixture, from a table by class and token."""
    (mixture,) = measured.job.mixtures.values()
    keys = ["seed", "iteration", "eta_z", "ratio", "sequence_class", "token"]
    table = measured.table.sort_values(keys)
    sizes = [table[key].nunique() for key in ("seed", "iteration", "sequence_class", "token")]
    cells = table[["eta_z", "ratio"]].drop_duplicates(ignore_index=True)
    shape = (*sizes[:2], len(cells), *sizes[2:])
    values = table[measured.job.metric].to_numpy(np.float64).reshape(shape)
    classes = sequence_classes(mixture)
    return Runs(
        array=classes.take_support(values),
        cells=cells,
        seeds=sorted(table["seed"].unique().tolist()),
        iterations=sorted(table["iteration"].unique().tolist()),
        classes=classes,
        num_common=len(mixture.common_weights),
    )


def entropy(probabilities: Floats) -> Floats:
    """Return the Shannon entropy along the last axis, in nats; the values need not sum to 1."""
    p = probabilities / probabilities.sum(axis=-1, keepdims=True)
    return np.asarray(-np.where(p > 0, p * np.log(np.where(p > 0, p, 1)), 0).sum(axis=-1))


def evidence_rows(values: ArrayLike, found: Runs, names: Mapping[str, str] = RATIO) -> pd.DataFrame:
    """Return one row per seed and comparison.

    Args:
        values: [seed, cell].
        found: runs that the values are of.
        names: columns by which comparisons are named, as in `name_cells`.
    """
    table = pd.DataFrame(np.asarray(values), index=found.seeds).melt(ignore_index=False)
    table = table.rename_axis("seed").reset_index()
    cells = found.cells.loc[table.pop("variable")].reset_index(drop=True)
    return name_cells(cells.join(table), **names)


def last_rows(measured: Measured) -> pd.DataFrame:
    """Return the rows of the last recorded update."""
    return measured.table.query("iteration == iteration.max()")


def change_with_ratio(table: pd.DataFrame, **names: str) -> pd.DataFrame:
    """Return the value at the highest ratio minus that at the lowest, of every comparison and seed.

    Args:
        table: columns eta_z, ratio, seed, value and those that are named.
        names: as in `name_cells`, besides eta_z.
    """
    ordered = table.sort_values("ratio").groupby([*names, "eta_z", "seed"])["value"]
    change = (ordered.last() - ordered.first()).reset_index()
    return name_cells(change, **names, eta_z="eta_Z")


def table_from_start(growth: Measured) -> pd.DataFrame:
    """Return the table of a `growth` that was measured from update 0.

    Raises:
        UnmeasurableError: if it was not.
    """
    if growth.job.recorded[0] > 0:
        raise UnmeasurableError("growth is from update 0; add 0 to training > recorded")
    return growth.table


def turns(growth: Measured, metrics: MetricSettings) -> pd.DataFrame:
    """Return the time `turn` of the largest dB_n/dt of every mixture, seed and pair of rates."""
    table = table_from_start(growth)
    runs = table[table["quantity"] == "exponent"].groupby(["mixture", "seed", "eta_z", "ratio"])
    times = runs[["iteration", "growth"]].apply(turn_time, metrics.turn).rename("turn")
    found = times.reset_index()
    # Equal rates whose products differ in the last bit are equal.
    return found.assign(eta_y=(found["eta_z"] * found["ratio"]).round(12))
