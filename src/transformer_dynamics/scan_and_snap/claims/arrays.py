"""Between tables and arrays: what the measures of training runs share."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from replication.study import contract as study
from transformer_dynamics.scan_and_snap.measure_settings import MeasureJob
from transformer_dynamics.scan_and_snap.sequence_classes import SequenceClasses, sequence_classes

Floats = NDArray[np.float64]
Measured = study.Measured[MeasureJob]
"""One metric of an experiment, and the job that made it."""


class Runs(NamedTuple):
    """Values on the support of every sequence class, of the runs of one mixture."""

    array: Floats
    """[seed, iteration, cell, K, S]."""
    cells: pd.DataFrame
    """eta_z and ratio of each cell."""
    seeds: list[int]
    """Ascending."""
    iterations: list[int]
    """Numbers of updates, ascending."""
    classes: SequenceClasses
    """The mixture's."""
    num_common: int
    """The first tokens of every support are common."""

    def distinct(self) -> Floats:
        """[seed, iteration, cell, K, distinct tokens], the rarest token first."""
        return self.array[..., self.num_common :]


def runs(measured: Measured) -> Runs:
    """The runs of an experiment with one mixture, from a table by class and token."""
    (mixture,) = measured.job.mixtures.values()
    keys = ["seed", "iteration", "eta_z", "ratio", "sequence_class", "token"]
    table = measured.table.sort_values(keys)
    sizes = [table[key].nunique() for key in ("seed", "iteration", "sequence_class", "token")]
    cells = table[["eta_z", "ratio"]].drop_duplicates(ignore_index=True)
    shape = (*sizes[:2], len(cells), *sizes[2:])
    values = table[measured.job.metric].to_numpy(np.float64).reshape(shape)
    classes = sequence_classes(mixture)
    index = np.broadcast_to(classes.support, (*shape[:3], *classes.support.shape))
    return Runs(
        array=np.take_along_axis(values, index, axis=-1),
        cells=cells,
        seeds=sorted(table["seed"].unique().tolist()),
        iterations=sorted(table["iteration"].unique().tolist()),
        classes=classes,
        num_common=len(mixture.common_weights),
    )


def entropy(probabilities: Floats) -> Floats:
    """Shannon entropy along the last axis, in nats; the values need not sum to 1."""
    p = probabilities / probabilities.sum(axis=-1, keepdims=True)
    return np.asarray(-np.where(p > 0, p * np.log(np.where(p > 0, p, 1)), 0).sum(axis=-1))


def evidence(values: ArrayLike, seeds: list[int], cells: pd.DataFrame) -> pd.DataFrame:
    """One row per seed and cell.

    Args:
        values: [seed, cell].
        seeds: of the first axis.
        cells: of the second axis, as `runs` gives them.
    """
    table = pd.DataFrame(np.asarray(values), index=seeds).melt(ignore_index=False)
    table = table.rename_axis("seed").reset_index()
    return cells.loc[table.pop("variable")].reset_index(drop=True).join(table)


def by_ratio(values: ArrayLike, of: Runs) -> pd.DataFrame:
    """Evidence with a cell per ratio of the rates."""
    return labelled(evidence(values, of.seeds, of.cells), ratio="eta_Y/eta_Z")


def labelled(table: pd.DataFrame, **names: str) -> pd.DataFrame:
    """Name each row's cell by some of its columns.

    Args:
        table: evidence without the column `cell`.
        names: what each column is called in the name.
    """
    parts = [name + " " + table[column].map("{:g}".format) for column, name in names.items()]
    return table.assign(cell=[", ".join(row) for row in zip(*parts, strict=True)])


def after_training(measured: Measured) -> pd.DataFrame:
    """The rows of the last recorded update."""
    return measured.table.query("iteration == iteration.max()")


def change_with_ratio(table: pd.DataFrame, **names: str) -> pd.DataFrame:
    """Value at the highest ratio minus that at the lowest one, of every other cell and seed.

    Args:
        table: columns eta_z, ratio, seed, value and those that are named.
        names: as in `labelled`, besides eta_z.
    """
    ordered = table.sort_values("ratio").groupby([*names, "eta_z", "seed"])["value"]
    change = (ordered.last() - ordered.first()).reset_index()
    return labelled(change, **names, eta_z="eta_Z")
