"""Figure 6: entropy of the attention on distinct tokens, and how long training changes it."""

import numpy as np
import pandas as pd

from replication.base.errors import UnmeasurableError
from replication.study.contrasts import change_along
from transformer_dynamics.scan_and_snap.claims.arrays import (
    Measured,
    after_training,
    change_with_ratio,
    labelled,
)

THRESHOLD = 2
"""eta_Y/eta_Z from which on the paper sees the entropy rise."""
CELL = {"num_last": "num_last", "eta_z": "eta_Z", "ratio": "eta_Y/eta_Z"}
"""What a cell is called by."""


def against_eta_z(entropy: Measured) -> pd.DataFrame:
    """Change of the entropy after training along eta_Z, at every size and ratio."""
    table = labelled(_after_training(entropy), num_last="num_last", ratio="eta_Y/eta_Z")
    return change_along(table, "eta_z")


def against_ratio_beyond(entropy: Measured) -> pd.DataFrame:
    """Change of the entropy after training along the ratio from the threshold on.

    At every size and eta_Z.
    """
    table = _after_training(entropy)
    table = labelled(table[table["ratio"] >= THRESHOLD], num_last="num_last", eta_z="eta_Z")
    return change_along(table, "ratio")


def fewest_effective_tokens(entropy: Measured) -> pd.DataFrame:
    """Smallest exp(entropy) after training over all rates, of every size and seed."""
    least = _after_training(entropy).groupby(["num_last", "seed"], as_index=False)["value"].min()
    return labelled(least.assign(value=np.exp(least["value"])), num_last="num_last")


def change_below(entropy: Measured) -> pd.DataFrame:
    """Entropy after training at the threshold minus that at the lowest ratio."""
    table = _after_training(entropy)
    table = table[table["ratio"] <= THRESHOLD]
    if table["ratio"].nunique() < 2:
        raise UnmeasurableError(f"two ratios up to {THRESHOLD} are needed to see a change")
    return change_with_ratio(table, num_last="num_last")


def means_of_a_panel(authors: Measured, ours: Measured) -> pd.DataFrame:
    """Mean entropy over the cells of a panel, a value per seed, on both streams."""
    tables = [
        _after_training(measured)
        .groupby(["num_last", "seed"], as_index=False)["value"]
        .mean()
        .assign(sample=sample)
        for measured, sample in ((authors, "paper"), (ours, "ours"))
    ]
    return labelled(pd.concat(tables, ignore_index=True), num_last="num_last")


def published(authors: Measured, reference: pd.DataFrame) -> pd.DataFrame:
    """Means and standard deviations over seeds beside the published ones."""
    found = _after_training(authors).groupby([*CELL], as_index=False)["value"].agg(["mean", "std"])
    both = _beside_print(reference, found)
    return pd.concat(
        [
            labelled(
                both.assign(value=both[kind], published=both[f"entropy_{kind}"]),
                **CELL | {"num_last": f"{kind}, num_last"},
            )[["cell", "value", "published"]]
            for kind in ("mean", "std")
        ],
        ignore_index=True,
    )


def change_after(long: Measured, authors: Measured) -> pd.DataFrame:
    """Entropy at the end of a long training minus that after the figure's number of updates."""
    keys = ["eta_z", "ratio", "seed"]
    wide = long.table.pivot(index=keys, columns="iteration", values="entropy")
    if authors.job.sampling.steps not in wide:
        raise UnmeasurableError(
            f"the long training must record update {authors.job.sampling.steps}"
        )
    change: pd.Series = wide[wide.columns.max()] - wide[authors.job.sampling.steps]
    return labelled(change.rename("value").reset_index(), eta_z="eta_Z", ratio="eta_Y/eta_Z")


def _beside_print(reference: pd.DataFrame, found: pd.DataFrame) -> pd.DataFrame:
    """Every printed cell with what was found for it."""
    both = reference.merge(found, on=[*CELL], how="left", indicator=True)
    if (both["_merge"] != "both").any():
        raise UnmeasurableError(
            "the runs lack cells of Figure 6 that are printed; train all of them"
        )
    return both


def _after_training(entropy: Measured) -> pd.DataFrame:
    table = after_training(entropy)
    return table.rename(columns={"entropy": "value"})
