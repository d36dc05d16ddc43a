"""Small tables of training runs, whose evidence is worked out by hand, in random order of rows."""

import numpy as np
import pandas as pd
import pytest
from settings_of_the_paper import PAPER

from transformer_dynamics.scan_and_snap.claims.tables import Measured
from transformer_dynamics.scan_and_snap.settings.metrics import MetricJob, MetricSettings
from transformer_dynamics.scan_and_snap.settings.training import Mixture

LN2, LN3, LN5, LN6 = np.log([2, 3, 5, 6])

SMALL = Mixture(
    num_last=1, next_tokens_per_query=2, common_weights=[1, 1], distinct_weights=[0.5, 1, 1.5]
)
"""K = 2, M = 11; tokens 0 and 1 are common, 2-4 and 5-7 distinct, 8 asks, 9 and 10 come next."""
P = [0.2, 0.2, 0.1, 0.2, 0.3]
"""P(l|n) of SMALL."""
ONE, HALF = [0, 0, 0, 0, 1.0], [0, 0, 0, 0.5, 0.5]
QUARTER, FLAT = [0, 0.25, 0.25, 0.25, 0.25], [0.2] * 5
R1, R10 = "eta_Y/eta_Z 1", "eta_Y/eta_Z 10"
TOKENS = {1: [0, 1, 2, 3, 4], 2: [0, 1, 5, 6, 7]}
"""Support of each class of SMALL."""


def changed(experiment: str, metric: str, mixtures: dict | None = None, **training) -> MetricJob:
    """An experiment's job on SMALL, with the recorded updates and the rates given."""
    job = PAPER.metric_job(experiment, metric, "cpu")
    steps = training.pop("steps")
    return job.model_copy(
        update={
            "mixtures": mixtures or {"small": SMALL},
            "sampling": job.sampling.model_copy(update={"steps": steps}),
            "training": job.training.model_copy(update=training),
        }
    )


def measures(**changes) -> MetricSettings:
    """Those of the paper with other values of some keys."""
    return MetricSettings.model_validate(PAPER.metrics.model_dump() | changes)


def shuffled(rows: list[dict]) -> pd.DataFrame:
    return pd.DataFrame(rows).sample(frac=1, random_state=1, ignore_index=True)


def on_classes(metric: str, runs: dict) -> Measured:
    """From {(seed, eta_z, ratio): {iteration: values on both classes' supports}}."""
    rows = []
    for (seed, eta_z, ratio), run in runs.items():
        for iteration, classes in run.items():
            for number, values in zip((1, 2), classes, strict=True):
                by_token = dict.fromkeys(range(8), 0.0) | dict(
                    zip(TOKENS[number], values, strict=True)
                )
                rows += [
                    {
                        "seed": seed,
                        "iteration": iteration,
                        "eta_z": eta_z,
                        "ratio": ratio,
                        "num_last": 1,
                        "sequence_class": number,
                        "token": token,
                        metric: value,
                    }
                    for token, value in by_token.items()
                ]
    *recorded, steps = sorted({row["iteration"] for row in rows})
    # The rates as a person might list them: their order must not matter.
    rates = {name: sorted({row[name] for row in rows}, reverse=True) for name in ("eta_z", "ratio")}
    job = changed("theory_comparison", metric, steps=steps, recorded=recorded, **rates)
    return Measured(shuffled(rows), job)


def by(table: pd.DataFrame, *names: str) -> dict:
    """Evidence as {(cell, ...): value}; every row has its own key."""
    keys = list(zip(*(table[name] for name in ("cell", *names)), strict=True))
    assert len(set(keys)) == len(keys)
    return dict(zip(keys, table["value"].astype(float), strict=True))


def expect(table: pd.DataFrame, names: tuple[str, ...], values: dict) -> None:
    assert by(table, *names) == pytest.approx(values, rel=1e-9, abs=1e-12)


def losses(runs: dict, **training) -> Measured:
    rows = [
        {"seed": seed, "eta_z": eta_z, "ratio": ratio, "iteration": iteration, "loss": loss}
        for (seed, eta_z, ratio), run in runs.items()
        for iteration, loss in enumerate(run)
    ]
    steps = max(row["iteration"] for row in rows) + 1
    return Measured(shuffled(rows), changed("theory_comparison", "loss", steps=steps, **training))
