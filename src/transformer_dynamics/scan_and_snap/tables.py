"""From metrics to the tables that are drawn: exactly one row per drawn value."""

import pandas as pd

from transformer_dynamics.scan_and_snap.figure_settings import Fig4, Fig5, FigureSettings

CELL = ["num_last", "eta_z", "ratio"]


def figure_table(settings: FigureSettings, metrics: pd.DataFrame, stream: str) -> pd.DataFrame:
    """The table of a figure.

    Args:
        settings: the figure's settings.
        metrics: the table of the metric that the figure shows, one row per seed and value.
        stream: which stream the runs come from.

    Returns:
        The columns that the drawing of the figure expects, sorted.
    """
    if isinstance(settings, Fig4):
        return _fig4(settings, metrics)
    if isinstance(settings, Fig5):
        return _fig5(settings, metrics)
    final = metrics[metrics["iteration"] == metrics["iteration"].max()]
    keys = [*CELL, "threshold"] if settings.metric == "recall" else CELL
    return _mean_and_std(final, keys, settings.metric, stream)


def _fig4(settings: Fig4, metrics: pd.DataFrame) -> pd.DataFrame:
    rows = _drawn(metrics, settings.seed, settings.iterations, settings.sequence_classes)
    rows = rows.assign(eta_y=rows["eta_z"] * rows["ratio"])
    keys = ["seed", "eta_y", "eta_z", "sequence_class", "iteration", "token"]
    return rows[[*keys, "attention"]].sort_values(keys, ignore_index=True)


def _fig5(settings: Fig5, metrics: pd.DataFrame) -> pd.DataFrame:
    """Only the class's own support is drawn, where attention is not zero."""
    rows = _drawn(metrics, settings.seed, settings.iterations, [settings.sequence_class])
    rows = rows[rows["attention"] > 0].rename(columns={"eta_z": "learning_rate"})
    keys = ["seed", "learning_rate", "sequence_class", "iteration", "token"]
    return rows[[*keys, "attention"]].sort_values(keys, ignore_index=True)


def _drawn(
    metrics: pd.DataFrame, seed: int, iterations: list[int], classes: list[int]
) -> pd.DataFrame:
    return metrics[
        (metrics["seed"] == seed)
        & metrics["iteration"].isin(iterations)
        & metrics["sequence_class"].isin(classes)
    ]


def _mean_and_std(metrics: pd.DataFrame, keys: list[str], metric: str, stream: str) -> pd.DataFrame:
    """Mean and sample standard deviation (n - 1) over seeds; with one seed the latter is empty."""
    table = metrics.groupby(keys, as_index=False).agg(
        **{
            f"{metric}_mean": (metric, "mean"),
            f"{metric}_std": (metric, "std"),
            "n_seeds": ("seed", "nunique"),
        }
    )
    return table.assign(stream=stream)
