"""Settings, rows of tables and parts of pictures that several figures have."""

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from replication.study.contract import ExperimentFigure, Measured
from transformer_dynamics.scan_and_snap.settings.metrics import MetricJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

Points = Annotated[int, Field(ge=2, le=100_000)]
Size = Annotated[int, Field(ge=4, le=10**9)]
CELL = ["num_last", "eta_z", "ratio"]
"""Columns that tell the values of one seed of a sweep apart."""
TOKEN_STYLES = {"common": ("#e69f00", "//////"), "distinct": ("#0072b2", "")}
"""Kind of token to colour and hatch of its bars."""


class SweepFigure(ExperimentFigure):
    """A figure with panels by the number of query tokens."""

    next_tokens_per_query: int = Field(default=2, ge=1)
    """Next tokens per query of every mixture of the experiment, for the titles of the panels."""


def select_rows(
    metrics: "pd.DataFrame", seed: int, iterations: list[int], classes: list[int]
) -> "pd.DataFrame":
    """Return the rows of one seed, some updates and some sequence classes."""
    return metrics.query(
        "seed == @seed and iteration in @iterations and sequence_class in @classes"
    )


def mean_and_std(metrics: "pd.DataFrame", keys: list[str], job: MetricJob) -> "pd.DataFrame":
    """Return mean and standard deviation (n - 1; empty with one seed) over seeds, by `keys`."""
    named = {
        f"{job.metric}_mean": (job.metric, "mean"),
        f"{job.metric}_std": (job.metric, "std"),
        "n_seeds": ("seed", "nunique"),
    }
    return metrics.groupby(keys, as_index=False).agg(**named).assign(stream=job.sampling.stream)


def final_mean_and_std(measured: Measured[MetricJob], keys: list[str]) -> "pd.DataFrame":
    """Return mean and standard deviation over seeds after the last update; see `mean_and_std`."""
    return mean_and_std(measured.table.query("iteration == iteration.max()"), keys, measured.job)


def draw_token_bars(axes: "Axes", kind: str, at: "ArrayLike", heights: "ArrayLike") -> None:
    """Draw bars of common or distinct tokens."""
    colour, hatch = TOKEN_STYLES[kind]
    axes.bar(
        at, heights, color=colour, edgecolor="black", hatch=hatch, linewidth=0.3,
        label=f"{kind} tokens",
    )  # fmt: skip


def draw_dodged_points(
    axes: "Axes", x: "ArrayLike", mean: "ArrayLike", std: "ArrayLike | None",
    place: tuple[int, int], apart: float = 2, **style: Any,
) -> None:  # fmt: skip
    """Draw points with bars, moved aside on paper, so that those of several curves can be seen.

    The data do not move. x and mean are [N], and so is std, half the lengths of the bars: NaN where
    there is none, None for points only; `place` is the curve's index and the number of curves,
    `apart` the distance to the next one in points on paper.
    """
    import numpy as np
    from matplotlib.transforms import ScaledTranslation

    index, count = place
    points = apart * (index - (count - 1) / 2)
    aside = ScaledTranslation(points / 72, 0, axes.figure.dpi_scale_trans)
    axes.errorbar(x, mean, std, transform=axes.transData + aside, **style)
    # What is moved does not count for the limits.
    middle = np.asarray(mean, np.float64)
    spread = np.nan_to_num(np.zeros_like(middle) if std is None else np.asarray(std, np.float64))
    for end in (middle - spread, middle + spread):
        axes.update_datalim(np.column_stack([x, end]))
    axes.margins(x=0.1)


def spread_note(table: "pd.DataFrame") -> str:
    """Return the note that names the bars of a figure; `n_seeds` is 0 for rows without seeds."""
    from replication.figures.typeset import count_in_words

    seeds = table["n_seeds"][table["n_seeds"] > 0]
    return f"bars: one standard deviation over {count_in_words(seeds, 'seed')}"
