"""Measure one metric on all training runs of an experiment."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from transformer_dynamics.errors import InputError
from transformer_dynamics.frames import write_table
from transformer_dynamics.scan_and_snap.experiments import MeasureJob, Mixture
from transformer_dynamics.scan_and_snap.metrics import (
    GROWTH,
    attention,
    entropy_on_distinct,
    growth,
    recall_of_distinct,
    unnormalised_attention,
)
from transformer_dynamics.scan_and_snap.sequence_classes import SequenceClasses, sequence_classes
from transformer_dynamics.seeds import format_seeds, parse_seeds
from transformer_dynamics.storage import read_arrays

Array = NDArray[Any]


class Measured(NamedTuple):
    """One metric of the runs of some seeds on one mixture."""

    values: Array
    """[seed, iteration, cell, ...]"""
    iterations: Iterable[int]
    """Number of updates made before each value."""
    axes: dict[str, Iterable[Any]]
    """Names and labels of the further axes."""


@click.command(help=__doc__)
@click.option("--settings", required=True, help="MeasureJob as JSON.")
@click.option("--seeds", "seeds_text", required=True, help="Such as 1-10,12.")
@click.option("--output", required=True, type=click.Path(path_type=Path))
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
def main(settings: str, seeds_text: str, output: Path, runs: tuple[Path, ...]) -> None:
    """Read files of runs, each named by its seeds, and write one row per measured value."""
    job, seeds = MeasureJob.parse_json(settings, "--settings"), parse_seeds(seeds_text)
    found = sorted(seed for path in runs for seed in parse_seeds(path.stem))
    if found != seeds:
        raise InputError(f"the files hold the seeds {format_seeds(found)}, expected {seeds_text}")
    table = pd.concat(
        [part for path in runs for part in _measure_file(job, path)], ignore_index=True
    )
    write_table(output, table, job.provenance(seeds))


def _measure_file(job: MeasureJob, path: Path) -> Iterator[pd.DataFrame]:
    seeds = parse_seeds(path.stem)
    arrays = read_arrays(path, job.train_job.provenance(seeds))
    for name, mixture in job.mixtures.items():
        values, iterations, axes = _measure(job, name, mixture, arrays)
        index = pd.MultiIndex.from_product(
            [seeds, iterations, range(len(job.training.cells)), *axes.values()],
            names=["seed", "iteration", "cell", *axes],
        )
        table = pd.DataFrame({job.metric: values.ravel()}, index=index).reset_index()
        cells = np.array(job.training.cells)[table.pop("cell")]
        table.insert(0, "mixture", name)
        table.insert(1, "num_last", mixture.num_last)
        table.insert(2, "eta_z", cells[:, 0])
        table.insert(3, "ratio", cells[:, 1])
        yield table


def _measure(job: MeasureJob, name: str, mixture: Mixture, arrays: Mapping[str, Array]) -> Measured:
    if job.metric == "loss":
        loss = arrays[f"{name}/loss"].astype(np.float64)
        return Measured(loss, range(job.sampling.steps), {})
    values, axes = _measure_attention(job, name, mixture, arrays[f"{name}/attention_logits"])
    return Measured(values, job.recorded, axes)


def _measure_attention(
    job: MeasureJob, name: str, mixture: Mixture, attention_logits: Array
) -> tuple[Array, dict[str, Iterable[Any]]]:
    """Values of [seed, recorded, cell, ...] runs, and the names and labels of the further axes."""
    classes = sequence_classes(mixture)
    if job.metric == "entropy":
        return entropy_on_distinct(classes, attention_logits), {}
    if job.metric == "recall":
        spacing = job.recall_thresholds[name]
        thresholds = np.linspace(spacing.first, spacing.last, spacing.count)
        # A threshold is a label, too: 0.012 + 2 * 0.0004 should be written 0.0128.
        thresholds = thresholds.round(12)
        return recall_of_distinct(classes, attention_logits, thresholds), {"threshold": thresholds}
    if job.metric == "growth":
        trajectory = np.moveaxis(attention_logits, 1, 0)
        return np.moveaxis(growth(classes, trajectory), 0, 1), {"quantity": GROWTH}
    measured = attention if job.metric == "attention" else unnormalised_attention
    axes: dict[str, Iterable[Any]] = {
        "sequence_class": range(1, mixture.num_classes + 1),
        "token": range(classes.num_contextual),
    }
    return _on_all_tokens(classes, measured(classes, attention_logits)), axes


def _on_all_tokens(classes: SequenceClasses, on_support: Array) -> Array:
    """[..., K, S] to [..., K, contextual tokens], zero outside the support."""
    spread = np.zeros((*on_support.shape[:-1], classes.num_contextual))
    index = np.broadcast_to(classes.support, on_support.shape)
    np.put_along_axis(spread, index, on_support, axis=-1)
    return spread


if __name__ == "__main__":
    main()
