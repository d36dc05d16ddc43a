"""Theory against training: the same quantities from every source on one time axis.

Time counts updates with the mean gradient of a batch. Its expectation over a batch is that of one
sample, so an update corresponds to one of the theory's single-sample steps.
"""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from transformer_dynamics.scan_and_snap.experiments import MeasureJob
from transformer_dynamics.scan_and_snap.metrics import GROWTH, growth
from transformer_dynamics.scan_and_snap.sequence_classes import SequenceClasses, sequence_classes
from transformer_dynamics.scan_and_snap.tables import mean_and_std
from transformer_dynamics.scan_and_snap.theory.attention import attention_flow
from transformer_dynamics.scan_and_snap.theory.coupling import initial_correlations
from transformer_dynamics.scan_and_snap.theory.decoder import gamma_peak, scanning_end
from transformer_dynamics.scan_and_snap.theory.growth import Setting, exponent
from transformer_dynamics.scan_and_snap.theory.population import population_flow

Floats = NDArray[np.float64]


def comparison_table(metrics: pd.DataFrame, job: MeasureJob) -> pd.DataFrame:
    """Exponent B_n(t), relative gain and growth factor of every cell, from every source.

    Args:
        metrics: the `growth` metric of the training runs.
        job: the job that made it; one mixture.

    Returns:
        Columns eta_y, eta_z, source, quantity, t, value_mean, value_std, n_seeds; sources other
        than training have no std.
    """
    (mixture,) = job.mixtures.values()
    classes = sequence_classes(mixture)
    times = np.array(job.recorded, dtype=np.float64)
    keys = ["eta_z", "ratio", "quantity", "iteration"]
    runs = mean_and_std(metrics, keys, job)
    runs = runs.rename(
        columns={"iteration": "t", "growth_mean": "value_mean", "growth_std": "value_std"}
    )
    tables = [runs.assign(eta_y=runs["eta_z"] * runs["ratio"], source="training")]
    for eta_z, ratio in job.training.cells:
        for source, values in _theory(classes, eta_z * ratio, eta_z, times).items():
            tables.append(
                pd.DataFrame(
                    {
                        "eta_y": eta_z * ratio,
                        "eta_z": eta_z,
                        "source": source,
                        "quantity": np.repeat(GROWTH, len(times)),
                        "t": np.tile(times, len(GROWTH)),
                        "value_mean": values.T.ravel(),
                        "n_seeds": 0,
                    }
                )
            )
    columns = ["eta_y", "eta_z", "source", "quantity", "t", "value_mean", "value_std", "n_seeds"]
    table = pd.concat(tables, ignore_index=True)[columns].dropna(subset="value_mean")
    return table.sort_values(columns[:5], ignore_index=True)


def turning_table(metrics: pd.DataFrame, job: MeasureJob) -> pd.DataFrame:
    """When dB_n/dt = eta_Z xi_n is largest in training, against gamma's peak and t_0'.

    The slope is taken over a window from t/1.2 to 1.2 t of each run's interpolated B_n, which is
    wide enough for the noise of sampling and narrow against the peak.

    Args:
        metrics: the `growth` metric of the training runs.
        job: the job that made it.

    Returns:
        Columns num_last, num_classes, vocabulary_size, eta_y, eta_z, gamma_peak, scanning_end,
        turn_mean, turn_std, n_seeds; times in updates.
    """
    exponents = metrics[metrics["quantity"] == "exponent"]
    keys = ["mixture", "eta_z", "ratio", "seed"]
    turns = exponents.groupby(keys)[["iteration", "growth"]].apply(turn).rename("turn")
    cells = turns.groupby(keys[:3]).agg(["mean", "std", "count"]).reset_index()
    rows = []
    for cell in cells.to_dict("records"):
        mixture = job.mixtures[cell["mixture"]]
        eta_y = cell["eta_z"] * cell["ratio"]
        sizes = mixture.vocabulary_size, mixture.num_classes
        rows.append(
            {
                "num_last": mixture.num_last,
                "num_classes": mixture.num_classes,
                "vocabulary_size": mixture.vocabulary_size,
                "eta_y": eta_y,
                "eta_z": cell["eta_z"],
                "gamma_peak": gamma_peak(eta_y, *sizes).time,
                "scanning_end": scanning_end(eta_y, *sizes),
                "turn_mean": cell["mean"],
                "turn_std": cell["std"],
                "n_seeds": cell["count"],
            }
        )
    return pd.DataFrame(rows).sort_values(["num_last", "eta_y"], ignore_index=True)


def turn(run: pd.DataFrame) -> float:
    """Time at which B_n(t) of one run rises fastest, in updates.

    Args:
        run: columns iteration and growth, the latter B_n(t).
    """
    run = run.sort_values("iteration")
    times, values = run["iteration"].to_numpy(), run["growth"].to_numpy()
    middles = np.geomspace(1.2, times[-1] / 1.2, 400)
    rise = np.interp(middles * 1.2, times, values) - np.interp(middles / 1.2, times, values)
    return float(middles[np.argmax(rise / middles)])


def _theory(
    classes: SequenceClasses, eta_y: float, eta_z: float, times: Floats
) -> dict[str, Floats]:
    """[T, 3] values of `GROWTH` from both population flows, (10) and Theorem 4."""
    population = population_flow(classes, eta_y, eta_z, times)
    modified = population_flow(classes, eta_y, eta_z, times, modified=True)
    printed = attention_flow(classes, eta_y, eta_z, times)
    sampled = attention_flow(classes, eta_y, eta_z, times, sampled=True)
    closed = np.full((len(times), len(GROWTH)), np.nan)
    closed[:, 0] = exponent(_theorem4(classes, eta_y, eta_z), times)
    return {
        "population flow": growth(classes, population.attention_logits),
        "population flow, modified": growth(classes, modified.attention_logits),
        "Eq. 10": growth(classes, printed.attention_logits),
        "Eq. 10, sampled": growth(classes, sampled.attention_logits),
        "Theorem 4": closed,
    }


def _theorem4(classes: SequenceClasses, eta_y: float, eta_z: float) -> Setting:
    """C_0 = rho_0^4/K, rho_0 from f_n.f_n' = exp(2 z_ml)/rho_0^2 (13) at z = 0."""
    overlap = initial_correlations(classes)[0, 1]
    num_classes = len(classes.support)
    c0 = float(1 / (num_classes * overlap**2))
    return Setting(eta_y, eta_z, classes.vocabulary_size, num_classes, c0)
