"""From metrics to the tables that are drawn: exactly one row per drawn value."""

import pandas as pd

from transformer_dynamics.scan_and_snap.measure_settings import MeasureJob


def drawn(
    metrics: pd.DataFrame, seed: int, iterations: list[int], classes: list[int]
) -> pd.DataFrame:
    """The rows of one seed, some updates and some sequence classes."""
    return metrics.query(
        "seed == @seed and iteration in @iterations and sequence_class in @classes"
    )


def mean_and_std(metrics: pd.DataFrame, keys: list[str], job: MeasureJob) -> pd.DataFrame:
    """Mean and sample standard deviation (n - 1) over seeds; with one seed the latter is empty.

    Args:
        metrics: one row per seed and value.
        keys: columns that tell the values of one seed apart.
        job: the job that made the metrics.
    """
    named = {
        f"{job.metric}_mean": (job.metric, "mean"),
        f"{job.metric}_std": (job.metric, "std"),
        "n_seeds": ("seed", "nunique"),
    }
    return metrics.groupby(keys, as_index=False).agg(**named).assign(stream=job.sampling.stream)
