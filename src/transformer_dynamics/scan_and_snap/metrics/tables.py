"""Tables of the metrics of an experiment's training runs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from replication.study.contract import Run
from replication.study.fingerprint import digest
from transformer_dynamics.scan_and_snap.metrics.attention import (
    entropy_on_distinct,
    recall_of_distinct,
)
from transformer_dynamics.scan_and_snap.metrics.growth import GROWTH, growth
from transformer_dynamics.scan_and_snap.settings.metrics import MetricJob
from transformer_dynamics.scan_and_snap.settings.training import Mixture
from transformer_dynamics.scan_and_snap.theory.attention import (
    attention_weights,
    unnormalised_attention,
)
from transformer_dynamics.scan_and_snap.theory.sequence_classes import sequence_classes

Array = NDArray[Any]


def measure(
    job: MetricJob, runs: Iterable[Run], data: Sequence[Mapping[str, Array]]
) -> pd.DataFrame:
    """Return one row per measured value; of `fingerprint`, one per seed and mixture."""
    if job.metric == "fingerprint":
        rows = [row for run in runs for row in _fingerprints(job, run)]
        return pd.DataFrame(rows).sort_values(["seed", "mixture"], ignore_index=True)
    return pd.concat([part for run in runs for part in _tables(job, run)], ignore_index=True)


def _tables(job: MetricJob, run: Run) -> Iterator[pd.DataFrame]:
    for name, mixture in job.mixtures.items():
        iterations = range(job.sampling.steps) if job.metric == "loss" else job.recorded
        values, axes = _values(job, name, mixture, run.arrays)
        index = pd.MultiIndex.from_product(
            [run.seeds, iterations, range(len(job.training.cells)), *axes.values()],
            names=["seed", "iteration", "cell", *axes],
        )
        table = pd.DataFrame({job.metric: values.ravel()}, index=index).reset_index()
        cells = np.array(job.training.cells)[table.pop("cell")]
        table.insert(0, "mixture", name)
        table.insert(1, "num_last", mixture.num_last)
        table.insert(2, "eta_z", cells[:, 0])
        table.insert(3, "ratio", cells[:, 1])
        yield table


def _fingerprints(job: MetricJob, run: Run) -> Iterator[dict[str, Any]]:
    """Yield a row per seed and mixture; its numbers change little with its digest.

    `digest` is that of all bits of Z and of the losses, `loss` the mean loss of the last batch,
    `attention` the root mean square of the final Z.
    """
    for index, seed in enumerate(run.seeds):
        for name in job.mixtures:
            z, loss = (run.arrays[f"{name}/{part}"][index] for part in ("attention_logits", "loss"))
            yield {
                "seed": seed,
                "mixture": name,
                "digest": digest({"attention_logits": z, "loss": loss}),
                "loss": float(loss[-1].mean(dtype=np.float64)),
                "attention": float(np.sqrt((z[-1].astype(np.float64) ** 2).mean())),
            }


def _values(
    job: MetricJob, name: str, mixture: Mixture, arrays: Mapping[str, Array]
) -> tuple[Array, dict[str, Iterable[Any]]]:
    """Return [seed, iteration, cell, ...] values, and the names and labels of the further axes."""
    if job.metric == "loss":
        return arrays[f"{name}/loss"].astype(np.float64), {}
    attention_logits, classes = arrays[f"{name}/attention_logits"], sequence_classes(mixture)
    if job.metric == "entropy":
        return entropy_on_distinct(classes, attention_logits), {}
    if job.metric == "recall":
        spacing = job.recall_thresholds[name]
        # A threshold is a label, too: 0.012 + 2 * 0.0004 should be written 0.0128.
        thresholds = np.linspace(spacing.first, spacing.last, spacing.count).round(12)
        return recall_of_distinct(classes, attention_logits, thresholds), {"threshold": thresholds}
    if job.metric == "growth":
        trajectory = np.moveaxis(attention_logits, 1, 0)
        return np.moveaxis(growth(classes, trajectory), 0, 1), {"quantity": GROWTH}
    weights = attention_weights if job.metric == "attention" else unnormalised_attention
    on_support = weights(classes, attention_logits)
    # Zero outside the support.
    values = np.zeros((*on_support.shape[:-1], classes.num_contextual))
    index = np.broadcast_to(classes.support, on_support.shape)
    np.put_along_axis(values, index, on_support, axis=-1)
    tokens = range(classes.num_contextual)
    return values, {"sequence_class": range(1, mixture.num_classes + 1), "token": tokens}
