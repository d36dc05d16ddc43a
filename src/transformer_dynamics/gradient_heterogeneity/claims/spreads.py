"""Inequality of the gradients of tensors: transformers beside a CNN, Post-LN beside Pre-LN.

A comparison is a network on a task at a state, by seed the mean over batches.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from replication.study.contract import Measured
from replication.study.evidence import evidence_by_seed
from transformer_dynamics.gradient_heterogeneity.claims.contrasts import values_by_seed
from transformer_dynamics.gradient_heterogeneity.settings.measuring import (
    INITIAL,
    MASKED,
    PRETRAINED,
)
from transformer_dynamics.gradient_heterogeneity.settings.metrics import MeasuredMetricJob
from transformer_dynamics.gradient_heterogeneity.settings.networks import IMAGES

SpreadOf = Measured[MeasuredMetricJob]
"""The metric `spread` of measured networks."""


def norms_beside_cnn(spread: SpreadOf) -> pd.DataFrame:
    """Measure the Gini of ||g_b|| over matrices, of every transformer minus that of the CNN."""
    return _beside_cnn(_matrices(spread), "gini_norm")


def densities_beside_cnn(spread: SpreadOf) -> pd.DataFrame:
    """Measure the Gini of r_b over matrices, of every transformer minus that of the CNN."""
    return _beside_cnn(_matrices(spread), "gini_density")


def norms_of_all_beside_cnn(spread: SpreadOf) -> pd.DataFrame:
    """Measure the Gini of ||g_b|| over all tensors but biases, minus that of the CNN.

    The state is that before fine-tuning.
    """
    return _beside_cnn(_all_before(spread), "gini_norm")


def densities_of_all_beside_cnn(spread: SpreadOf) -> pd.DataFrame:
    """Measure the Gini of r_b over all tensors but biases, minus that of the CNN.

    The state is that before fine-tuning.
    """
    return _beside_cnn(_all_before(spread), "gini_density")


def _matrices(spread: SpreadOf) -> pd.DataFrame:
    return spread.table[spread.table["set"] == "matrices"]


def _all_before(spread: SpreadOf) -> pd.DataFrame:
    rows = spread.table
    return rows[(rows["set"] == "all") & (rows["state"] == PRETRAINED)]


def _beside_cnn(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return a Gini of every transformer minus that of the CNN, each times B/(B - 1).

    Networks differ in the number B of tensors. The states are before and after fine-tuning, if both
    were measured.
    """
    rows = rows[rows["metric"] == metric]
    rows = rows.assign(corrected=rows["value"] * rows["blocks"] / (rows["blocks"] - 1))
    cnn = {
        state: values_by_seed(own, "corrected", f"CNN, {state}")
        for state, own in rows[rows["ln"] == "none"].groupby("state")
    }
    return evidence_by_seed(
        {
            name: values_by_seed(own, "corrected", name) - cnn[own["state"].iloc[0]]
            for name, own in _cells(rows[rows["ln"] != "none"])
            if own["state"].iloc[0] in cnn
        }
    )


def ratios_on_texts(spread: SpreadOf) -> pd.DataFrame:
    """Measure log Lambda_G/Lambda_P of transformers of texts, over all tensors and matrices."""
    rows = spread.table
    return _logs(rows[(rows["ln"] != "none") & (rows["task"] != IMAGES)], "ratio")


def ratios_on_images(spread: SpreadOf) -> pd.DataFrame:
    """Measure log Lambda_G/Lambda_P of transformers of images, over all tensors and matrices."""
    rows = spread.table
    return _logs(rows[(rows["ln"] != "none") & (rows["task"] == IMAGES)], "ratio")


def ratios_of_cnn(spread: SpreadOf) -> pd.DataFrame:
    """Measure log Lambda_G/Lambda_P of the CNN, over all tensors and over matrices."""
    return _logs(spread.table[spread.table["ln"] == "none"], "ratio")


def advantages_of_matrices(spread: SpreadOf) -> pd.DataFrame:
    """Measure log kappa Lambda_G/Lambda_P of all networks, over matrices."""
    return _logs(_matrices(spread), "advantage")


def _logs(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the logarithms of a metric by network and set, as ratios are skewed."""
    rows = rows[rows["metric"] == metric]
    rows = rows.assign(value=np.log(rows["value"]))
    return evidence_by_seed(
        {
            f"{name}, {chosen}": values_by_seed(part, "value", name)
            for name, own in _cells(rows)
            for chosen, part in own.groupby("set")
        }
    )


def _cells(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the name and the rows of each network, task and state."""
    for (net, task, state), own in rows.groupby(["net", "task", "state"], sort=False):
        yield f"{net} on {task}, {state}", own


def norms_by_placement(spread: SpreadOf) -> pd.DataFrame:
    """Measure the Gini of ||g_b|| over all tensors after fine-tuning, Post-LN minus Pre-LN."""
    return _by_placement(_tuned(spread), "gini_norm")


def densities_by_placement(spread: SpreadOf) -> pd.DataFrame:
    """Measure the sd of log r_b over all tensors after fine-tuning, Post-LN minus Pre-LN."""
    return _by_placement(_tuned(spread), "log_spread")


def density_ginis_by_placement(spread: SpreadOf) -> pd.DataFrame:
    """Measure the Gini of r_b over all tensors after fine-tuning, Post-LN minus Pre-LN."""
    return _by_placement(_tuned(spread), "gini_density")


def layers_by_placement(spread: SpreadOf) -> pd.DataFrame:
    """Measure the sd of log layer norms after fine-tuning, Post-LN minus Pre-LN."""
    return _by_placement(_tuned(spread), "layer_log_spread")


def ratios_by_placement(spread: SpreadOf) -> pd.DataFrame:
    """Measure log Lambda_G/Lambda_P over all tensors after fine-tuning, Post-LN minus Pre-LN."""
    rows = _tuned(spread)
    return _by_placement(rows.assign(value=np.log(rows["value"])), "ratio")


def deep_norms_by_placement(spread: SpreadOf) -> pd.DataFrame:
    """Measure `norms_by_placement` in the deepest networks."""
    return _by_placement(_deepest(_tuned(spread)), "gini_norm")


def deep_densities_by_placement(spread: SpreadOf) -> pd.DataFrame:
    """Measure `densities_by_placement` in the deepest networks."""
    return _by_placement(_deepest(_tuned(spread)), "log_spread")


def norms_moved_by_placement(spread: SpreadOf) -> pd.DataFrame:
    """Measure how far placement moves the Gini of ||g_b||, more than seeds do."""
    return _moved_by_placement(_tuned(spread), "gini_norm")


def density_ginis_moved_by_placement(spread: SpreadOf) -> pd.DataFrame:
    """Measure how far placement moves the Gini of r_b, more than seeds do."""
    return _moved_by_placement(_tuned(spread), "gini_density")


def norms_at_random_weights(spread: SpreadOf) -> pd.DataFrame:
    """Measure the Gini of ||g_b|| over all tensors of random weights, Post-LN minus Pre-LN."""
    return _by_placement(spread.table[spread.table["state"] == INITIAL], "gini_norm")


def densities_at_random_weights(spread: SpreadOf) -> pd.DataFrame:
    """Measure the sd of log r_b over all tensors of random weights, Post-LN minus Pre-LN."""
    return _by_placement(spread.table[spread.table["state"] == INITIAL], "log_spread")


def norms_after_masked_words(spread: SpreadOf) -> pd.DataFrame:
    """Measure the Gini of ||g_b|| over all tensors after masked words, Post-LN minus Pre-LN."""
    return _by_placement(spread.table[spread.table["state"] == MASKED], "gini_norm")


def densities_after_masked_words(spread: SpreadOf) -> pd.DataFrame:
    """Measure the sd of log r_b over all tensors after masked words, Post-LN minus Pre-LN."""
    return _by_placement(spread.table[spread.table["state"] == MASKED], "log_spread")


def _tuned(spread: SpreadOf) -> pd.DataFrame:
    return spread.table[~spread.table["state"].isin({INITIAL, MASKED, PRETRAINED})]


def _deepest(rows: pd.DataFrame) -> pd.DataFrame:
    deepest: pd.DataFrame = rows[rows["depth"] == rows["depth"].max()]
    return deepest


def _by_placement(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    return evidence_by_seed({name: post - pre for name, post, pre in _pairs(rows, metric)})


def _moved_by_placement(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return how much farther Post-LN lies from Pre-LN of other seeds than Pre-LN of its own seed.

    Where placement changes nothing, both are as far; where it does, either way, this is positive.
    """
    cells = {}
    for name, post, pre in _pairs(rows, metric):
        others = (pre.sum() - pre) / (len(pre) - 1)
        cells[name] = (post - others).abs() - (pre - others).abs()
    return evidence_by_seed(cells)


def _pairs(rows: pd.DataFrame, metric: str) -> Iterator[tuple[str, pd.Series, pd.Series]]:
    """Yield the name and the values by seed of Post-LN and of Pre-LN, over all tensors."""
    rows = rows[(rows["metric"] == metric) & (rows["set"] == "all")]
    for (depth, deviation, state), pair in rows.groupby(["depth", "deviation", "state"]):
        name = f"depth {depth}, sd {deviation or 'of PyTorch'}, {state}"
        post, pre = (
            values_by_seed(pair[pair["ln"] == ln], "value", f"{name}, {ln}")
            for ln in ("post", "pre")
        )
        yield name, post, pre
