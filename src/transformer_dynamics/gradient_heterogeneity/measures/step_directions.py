"""How like signs the steps of an optimiser are."""

from collections.abc import Iterable, Sequence

import pandas as pd

from replication.study.contract import Run
from transformer_dynamics.gradient_heterogeneity.measure_settings import MeasureJob
from transformer_dynamics.gradient_heterogeneity.measures.trained import trained
from transformer_dynamics.gradient_heterogeneity.training import DIRECTIONS, SETS


def measure(job: MeasureJob, runs: Iterable[Run], data: Sequence[object]) -> pd.DataFrame:
    """One row per point after the first, and set of tensors.

    Args:
        job: the runs.
        runs: as they were trained.
        data: not used.

    Returns:
        Columns of a run, see `Trained.columns`; step (its number from 1), set (`all`,
        `without_embeddings`), own_sign, the cosine of the step with its own signs, and
        gradient_sign, that with SignSGD's step.
    """
    tables = []
    for run in trained(job, runs):
        for place, chosen in enumerate(SETS):
            values = run.arrays["directions"][1:, place]
            columns = {name: values[:, i] for i, name in enumerate(DIRECTIONS)}
            tables.append(
                pd.DataFrame(
                    run.columns | {"step": run.arrays["points"][1:], "set": chosen} | columns
                )
            )
    return pd.concat(tables, ignore_index=True)
