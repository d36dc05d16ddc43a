"""Inequality of the gradients of tensors: transformers beside a CNN, Post-LN beside Pre-LN.

A comparison is a network on a task at a state, by seed the mean over batches.
"""

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


def networks(spread: SpreadOf) -> pd.DataFrame:
    """Return the spread with the names of networks, `network`, and with what tells them apart.

    `is_cnn` and `on_texts` are of networks and tasks; `network` names task and state, too.
    """
    rows = spread.table
    return rows.assign(
        network=rows["net"] + " on " + rows["task"] + ", " + rows["state"],
        is_cnn=rows["ln"] == "none",
        on_texts=rows["task"] != IMAGES,
    )


def beside_cnn(spread: SpreadOf) -> pd.DataFrame:
    """Return rows of transformers, `corrected`, with that of the CNN in the same state, `cnn`.

    A Gini is corrected by B/(B - 1), as networks differ in the number B of tensors. Rows without a
    CNN beside them are left out.
    """
    rows = networks(spread)
    rows = rows.assign(corrected=rows["value"] * rows["blocks"] / (rows["blocks"] - 1))
    place = ["metric", "set", "state", "seed"]
    cnn = rows[rows["is_cnn"]].rename(columns={"corrected": "cnn"})[[*place, "cnn"]]
    return rows[~rows["is_cnn"]].merge(cnn, on=place)


def pairs(spread: SpreadOf) -> pd.DataFrame:
    """Return rows over all tensors with the names of `pair`s of Post-LN and Pre-LN.

    `tuned` are states after fine-tuning, `deepest` those of the deepest networks among them.
    """
    rows = spread.table[spread.table["set"] == "all"]
    rows = rows.sort_values(["depth", "deviation", "state"], kind="stable")
    names = (
        f"depth {depth}, sd {deviation or 'of PyTorch'}, {state}"
        for depth, deviation, state in zip(
            rows["depth"], rows["deviation"], rows["state"], strict=True
        )
    )
    tuned = ~rows["state"].isin({INITIAL, MASKED, PRETRAINED})
    deepest = tuned & (rows["depth"] == rows["depth"].where(tuned).max())
    return rows.assign(pair=[*names], tuned=tuned, deepest=deepest)


def moved_by_placement(spread: SpreadOf, *, metric: str) -> pd.DataFrame:
    """Measure how much farther Post-LN lies from Pre-LN of other seeds than Pre-LN of its own seed.

    That is after fine-tuning. Where placement changes nothing, both are as far; where it does,
    either way, this is positive.
    """
    rows = pairs(spread)
    cells = {}
    for name, own in rows[rows["tuned"] & (rows["metric"] == metric)].groupby("pair", sort=False):
        post, pre = (
            values_by_seed(own[own["ln"] == ln], "value", f"{name}, {ln}") for ln in ("post", "pre")
        )
        others = (pre.sum() - pre) / (len(pre) - 1)
        cells[str(name)] = (post - others).abs() - (pre - others).abs()
    return evidence_by_seed(cells)
