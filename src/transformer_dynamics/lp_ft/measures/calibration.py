"""How far confidence is from accuracy, before and after temperature scaling (Tables 3, 14, 15)."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from replication.base.random_streams import generator
from replication.study.contract import Run
from transformer_dynamics.encoders.calibration import (
    equal_mass,
    equal_width,
    negative_log_likelihood,
    temperature,
)
from transformer_dynamics.lp_ft.measure_settings import MeasureJob
from transformer_dynamics.lp_ft.measures.trained import Arrays, Columns, known, trained

RESAMPLES = 200
"""Of the test samples, for the interval of MCE."""
COLUMNS = (
    "temperature", "ece", "mce", "mce_lower", "mce_upper", "bins", "mce_samples", "debiased_ece",
    "equal_mass_ece", "negative_log_likelihood",
)  # fmt: skip
Floats = NDArray[np.float64]


def measure(job: MeasureJob, runs: Iterable[Run], data: Sequence[Arrays]) -> pd.DataFrame:
    """Calibration of every run on every test set.

    Args:
        job: the runs.
        runs: as they were trained.
        data: tokens and features of each set in turn.

    Returns:
        Columns of a run, see `Trained.columns`; split, is_scaled (whether logits are divided by the
        temperature that fits the validation samples best), temperature (1 before); ece and mce, in
        [0, 1], of 15 bins of equal width, mce_lower and mce_upper (95 % of bootstrap samples), bins
        (those not empty), mce_samples (in the worst one), debiased_ece, equal_mass_ece and
        negative_log_likelihood (nats), see `encoders.calibration`. NaN where a run diverged.
    """
    sets, rows = known(job, data), []
    for run in trained(job, runs):
        fitted = _fitted(run.arrays["validation_logits"], sets.labels(run, "validation"))
        for split in run.splits:
            logits = run.arrays[f"{split}_logits"].astype(np.float64)
            labels = sets.labels(run, split)
            random = generator(run.seed, f"bootstrap of {split}")
            drawn = random.integers(len(labels), size=(RESAMPLES, len(labels)))
            for is_scaled, t in ((False, 1.0), (True, fitted)):
                told: Columns = {"split": split, "is_scaled": is_scaled}
                rows.append(run.columns | told | _row(logits / t, labels, drawn, t))
    return pd.DataFrame(rows)


def _fitted(logits: NDArray[np.floating], labels: NDArray[np.integer]) -> float:
    values = np.asarray(logits, np.float64)
    return temperature(values, labels) if np.isfinite(values).all() else float("nan")


def _row(
    logits: Floats, labels: NDArray[np.integer], drawn: NDArray[np.integer], t: float
) -> Columns:
    if not np.isfinite(logits).all():
        return dict.fromkeys(COLUMNS, float("nan"))
    bins = equal_width(logits, labels)
    lower, upper = np.quantile(list(_resampled(logits, labels, drawn)), [0.025, 0.975])
    values = (
        t, bins.ece, bins.mce, float(lower), float(upper), len(bins.number),
        int(bins.number[bins.gap.argmax()]), bins.debiased_ece, equal_mass(logits, labels).ece,
        negative_log_likelihood(logits, labels),
    )  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))


def _resampled(
    logits: Floats, labels: NDArray[np.integer], drawn: NDArray[np.integer]
) -> Iterator[float]:
    """MCE of each bootstrap sample."""
    for chosen in drawn:
        yield equal_width(logits[chosen], labels[chosen]).mce
