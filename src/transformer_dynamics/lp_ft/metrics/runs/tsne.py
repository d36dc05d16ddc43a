"""Test features and rows of the head in the plane, by t-SNE (Figures 5 and 6)."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from replication.base.errors import InputError
from replication.study.contract import Run
from transformer_dynamics.lp_ft.metrics.runs.trained_runs import (
    Arrays,
    TrainedRun,
    set_data,
    trained_runs,
)
from transformer_dynamics.lp_ft.settings.metrics import TsneMetricJob

Floats = NDArray[np.float64]
SPREAD = 1e-4
"""Standard deviation of the first axis at the start, as scikit-learn has it."""
COLUMNS = ("method", "seed", "kind", "label", "class_name", "x", "y")


def measure(job: TsneMetricJob, runs: Iterable[Run], data: Sequence[Arrays]) -> pd.DataFrame:
    """Put features and rows of heads into the plane, for the first seed of every method.

    Features and rows of a head are points of one space, by their Euclidean distance. Every method
    has a plane of its own, whose axes mean nothing. Columns are method, seed, kind (`sample` or
    `head`), label (class of a sample, or k of v_k), class_name, x and y. NaN where a run diverged.
    Raises an `InputError` if the perplexity is not below the number of points.
    """
    sets = set_data(job, data)
    own = [run for run in trained_runs(job, runs) if run.job.texts.name == job.texts]
    first = min(run.seed for run in own)
    names = sets.tokens[job.texts]["classes"]
    tables = [
        _plane_rows(run, sets.labels(run, "test"), names, job.perplexity)
        for run in own
        if run.seed == first
    ]
    return pd.concat(tables, ignore_index=True)[list(COLUMNS)]


def _plane_rows(
    run: TrainedRun, labels: NDArray[np.int64], names: NDArray[np.str_], perplexity: float
) -> pd.DataFrame:
    features, weight = run.arrays["test_features"], run.arrays["weight"]
    places = embed_in_plane(np.concatenate([features, weight]).astype(np.float64), perplexity)
    label = np.concatenate([labels, np.arange(len(weight))])
    return pd.DataFrame(
        {
            "method": run.job.method,
            "seed": run.seed,
            "kind": np.repeat(["sample", "head"], [len(features), len(weight)]),
            "label": label,
            "class_name": names[label],
            "x": places[:, 0],
            "y": places[:, 1],
        }
    )


def embed_in_plane(points: Floats, perplexity: float) -> Floats:
    """Embed points [n, p] in the plane, from their first two principal axes on.

    The result [n, 2] has the same bytes each time, and is NaN if a point is not finite. A point has
    about `perplexity` neighbours; an `InputError` if that is not below n.
    """
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    if perplexity >= len(points):
        raise InputError(
            f"tsne > perplexity: {perplexity:g} is not below the number of points, {len(points)};"
            " lower it"
        )
    if not np.isfinite(points).all():
        return np.full((len(points), 2), np.nan)
    start = PCA(2, svd_solver="full").fit_transform(points)
    # Given as an array, the start decides that all is computed in float64.
    start *= SPREAD / start[:, 0].std()
    exact = TSNE(perplexity=perplexity, init=start, method="exact", random_state=0)
    return np.asarray(exact.fit_transform(points))
