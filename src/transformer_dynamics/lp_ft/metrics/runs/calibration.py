"""Calibration errors of trained runs, before and after temperature scaling (Tables 3, 14, 15)."""

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
from transformer_dynamics.lp_ft.metrics.runs.trained_runs import (
    Arrays,
    Columns,
    set_data,
    trained_runs,
)
from transformer_dynamics.lp_ft.settings.metrics import CalibrationMetricJob

COLUMNS = (
    "temperature", "ece", "mce", "mce_lower", "mce_upper", "bins", "mce_samples", "debiased_ece",
    "equal_mass_ece", "negative_log_likelihood",
)  # fmt: skip
Floats = NDArray[np.float64]


def measure(job: CalibrationMetricJob, runs: Iterable[Run], data: Sequence[Arrays]) -> pd.DataFrame:
    """Measure the calibration of every run on every test set.

    Columns are those of a run; split, is_scaled (whether logits are divided by the temperature that
    fits the validation samples best), temperature (1 before); ece and mce, in [0, 1], of bins of
    equal width, mce_lower and mce_upper (95 % of bootstrap samples), bins (those not empty),
    mce_samples (in the worst one), debiased_ece, equal_mass_ece and negative_log_likelihood (nats),
    see `encoders.calibration`. NaN where a run diverged.
    """
    sets, rows = set_data(job, data), []
    for run in trained_runs(job, runs):
        fitted = _fit_temperature(run.arrays["validation_logits"], sets.labels(run, "validation"))
        for split in run.splits:
            logits = run.arrays[f"{split}_logits"].astype(np.float64)
            labels = sets.labels(run, split)
            random = generator(run.seed, f"bootstrap of {split}")
            drawn = random.integers(len(labels), size=(job.resamples, len(labels)))
            for is_scaled, t in ((False, 1.0), (True, fitted)):
                told: Columns = {"split": split, "is_scaled": is_scaled}
                rows.append(
                    run.columns
                    | told
                    | _calibration_columns(logits / t, labels, drawn, t, job.bins)
                )
    return pd.DataFrame(rows)


def _fit_temperature(logits: NDArray[np.floating], labels: NDArray[np.integer]) -> float:
    values = np.asarray(logits, np.float64)
    return temperature(values, labels) if np.isfinite(values).all() else float("nan")


def _calibration_columns(
    logits: Floats, labels: NDArray[np.integer], drawn: NDArray[np.integer], t: float, number: int
) -> Columns:
    if not np.isfinite(logits).all():
        return dict.fromkeys(COLUMNS, float("nan"))
    bins = equal_width(logits, labels, number)
    lower, upper = np.quantile(list(_resample_mce(logits, labels, drawn, number)), [0.025, 0.975])
    values = (
        t, bins.ece, bins.mce, float(lower), float(upper), len(bins.number),
        int(bins.number[bins.gap.argmax()]), bins.debiased_ece,
        equal_mass(logits, labels, number).ece, negative_log_likelihood(logits, labels),
    )  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))


def _resample_mce(
    logits: Floats, labels: NDArray[np.integer], drawn: NDArray[np.integer], number: int
) -> Iterator[float]:
    """Yield the MCE of each bootstrap sample."""
    for chosen in drawn:
        yield equal_width(logits[chosen], labels[chosen], number).mce
