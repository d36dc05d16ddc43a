"""Figures 6, 11 and 12: entropy of attention on distinct tokens, their recall, and what is left."""

import numpy as np
import pandas as pd

from replication.base.errors import UnmeasurableError
from replication.study.contrasts import change_along
from replication.study.evidence import name_cells
from transformer_dynamics.scan_and_snap.claims.tables import (
    Measured,
    change_with_ratio,
    last_rows,
)

THRESHOLD = 2
"""eta_Y/eta_Z from which on the paper sees the entropy rise."""
CELL = {"num_last": "num_last", "eta_z": "eta_Z", "ratio": "eta_Y/eta_Z"}
"""Columns that tell comparisons apart, and what they are called."""
CLASSES = (*CELL, "seed", "sequence_class")
"""Columns that tell the sequence classes of all runs apart."""


def entropy_against_eta_z(entropy: Measured) -> pd.DataFrame:
    """Return the change of the entropy after training along eta_Z, at every size and ratio."""
    table = name_cells(_entropy_after_training(entropy), num_last="num_last", ratio="eta_Y/eta_Z")
    return change_along(table, "eta_z")


def entropy_against_ratio(entropy: Measured) -> pd.DataFrame:
    """Return the change of the entropy after training along the ratio from the threshold on.

    At every size and eta_Z.
    """
    table = _entropy_after_training(entropy)
    table = name_cells(table[table["ratio"] >= THRESHOLD], num_last="num_last", eta_z="eta_Z")
    return change_along(table, "ratio")


def fewest_effective_tokens(entropy: Measured) -> pd.DataFrame:
    """Return the smallest exp(entropy) after training over all rates, of every size and seed."""
    least = (
        _entropy_after_training(entropy)
        .groupby(["num_last", "seed"], as_index=False)["value"]
        .min()
    )
    return name_cells(least.assign(value=np.exp(least["value"])), num_last="num_last")


def entropy_change_below(entropy: Measured) -> pd.DataFrame:
    """Return the entropy after training at the threshold minus that at the lowest ratio."""
    table = _entropy_after_training(entropy)
    table = table[table["ratio"] <= THRESHOLD]
    if table["ratio"].nunique() < 2:
        raise UnmeasurableError(f"two ratios up to {THRESHOLD} are needed to see a change")
    return change_with_ratio(table, num_last="num_last")


def panel_means(authors: Measured, ours: Measured) -> pd.DataFrame:
    """Return the mean entropy over the cells of a panel, a value per seed, on both streams."""
    tables = [
        _entropy_after_training(measured)
        .groupby(["num_last", "seed"], as_index=False)["value"]
        .mean()
        .assign(sample=sample)
        for measured, sample in ((authors, "paper"), (ours, "ours"))
    ]
    return name_cells(pd.concat(tables, ignore_index=True), num_last="num_last")


def printed_entropy(authors: Measured, reference: pd.DataFrame) -> pd.DataFrame:
    """Return means and standard deviations over seeds beside the published ones."""
    found = (
        _entropy_after_training(authors)
        .groupby([*CELL], as_index=False)["value"]
        .agg(["mean", "std"])
    )
    both = _join_printed(reference, found)
    return pd.concat(
        [
            name_cells(
                both.assign(value=both[kind], published=both[f"entropy_{kind}"]),
                **CELL | {"num_last": f"{kind}, num_last"},
            )[["cell", "value", "published"]]
            for kind in ("mean", "std")
        ],
        ignore_index=True,
    )


def entropy_change_after(long: Measured, authors: Measured) -> pd.DataFrame:
    """Return the entropy after a long training minus that after the figure's updates."""
    keys = ["eta_z", "ratio", "seed"]
    wide = long.table.pivot(index=keys, columns="iteration", values="entropy")
    if authors.job.sampling.steps not in wide:
        raise UnmeasurableError(
            f"the long training must record update {authors.job.sampling.steps}"
        )
    change: pd.Series = wide[wide.columns.max()] - wide[authors.job.sampling.steps]
    return name_cells(change.rename("value").reset_index(), eta_z="eta_Z", ratio="eta_Y/eta_Z")


def descent_against_ratio(recall: Measured) -> pd.DataFrame:
    """Return change of the recall's fall from the first to the last threshold along the ratio."""
    table = name_cells(_recall_descent(recall), num_last="num_last", eta_z="eta_Z")
    return change_along(table, "ratio")


def descent_against_eta_z(recall: Measured) -> pd.DataFrame:
    """Return the change of the recall's fall from the first to the last threshold along eta_Z."""
    table = name_cells(_recall_descent(recall), num_last="num_last", ratio="eta_Y/eta_Z")
    return change_along(table, "eta_z")


def _join_printed(reference: pd.DataFrame, found: pd.DataFrame) -> pd.DataFrame:
    """Return every printed cell with what was found for it."""
    both = reference.merge(found, on=[*CELL], how="left", indicator=True)
    if (both["_merge"] != "both").any():
        raise UnmeasurableError(
            "the runs lack cells of Figure 6 that are printed; train all of them"
        )
    return both


def largest_share(attention: Measured) -> pd.DataFrame:
    """Return the largest attention on one token at the end of training, mean over classes."""
    largest = last_rows(attention).groupby([*CLASSES])["attention"].max()
    return _mean_over_classes(largest.rename("value"))


def motion_of_the_snap(attention: Measured) -> pd.DataFrame:
    """Return the total variation distance |c_n(t) - c_n(0)|_1/2, t the second record."""
    snap, _ = _distances(attention)
    return _mean_over_classes(snap.rename("value") / 2)


def motion_past_the_snap(attention: Measured) -> pd.DataFrame:
    """Return |c_n(end) - c_n(t)|_1 over |c_n(t) - c_n(0)|_1, each a mean over classes."""
    snap, rest = (_mean_over_classes(each.rename("value")) for each in _distances(attention))
    return rest.assign(value=rest["value"] / snap["value"])


def _distances(attention: Measured) -> tuple[pd.Series, pd.Series]:
    """Return |c_n(t) - c_n(0)|_1 and |c_n(end) - c_n(t)|_1 of every class, t the second record.

    Raises:
        UnmeasurableError: if there are other records than these three, or one lacks a token.
    """
    wide = attention.table.pivot(index=[*CLASSES, "token"], columns="iteration", values="attention")
    times = [*map(int, wide.columns)]
    if len(times) != 3 or times[0] > 0:
        raise UnmeasurableError("records of the start, the snap and the end are needed")
    if wide.isna().to_numpy().any():
        raise UnmeasurableError("a record lacks tokens that another has; measure attention anew")
    steps = wide.diff(axis=1).abs().groupby([*CLASSES]).sum()
    return steps[times[1]], steps[times[2]]


def _mean_over_classes(values: pd.Series) -> pd.DataFrame:
    return name_cells(values.groupby([*CELL, "seed"]).mean().reset_index(), **CELL)


def _entropy_after_training(entropy: Measured) -> pd.DataFrame:
    return last_rows(entropy).rename(columns={"entropy": "value"})


def _recall_descent(recall: Measured) -> pd.DataFrame:
    table = last_rows(recall)
    keys = ["num_last", "eta_z", "ratio", "seed"]
    ordered = table.sort_values("threshold").groupby(keys)["recall"]
    descent: pd.Series = ordered.first() - ordered.last()
    return descent.rename("value").reset_index()
