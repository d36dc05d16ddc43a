"""Laws of the drift of heads against draws of batches, and released rates beside them."""

import numpy as np
import pandas as pd

from replication.base.random_streams import generator
from replication.study.evidence import Cases, evidence
from transformer_dynamics.gradient_heterogeneity.theory.drift import (
    averaged_drift,
    simulated_drift,
    uniform_drift,
)

SIZES = ((20, 8), (77, 8), (77, 32), (102, 32), (150, 8), (150, 32), (150, 149), (150, 160))
"""Numbers C of classes and m of samples in a batch, of each case."""
BETA = 0.9
"""Share of the released Signum's average that stays at each step."""
VISION = {"ViT flowers102": (102, 32), "ViT aircraft": (100, 32)}
"""Numbers C of classes and m of samples in a batch, of the sets with most classes in the released
settings."""


@evidence
def exact_law() -> Cases:
    """Measure the drift of SignSGD by draws minus the law at p = 1/C, in units of the rate."""
    for classes, batch in SIZES:
        found = simulated_drift(classes, batch, 0.0, _random(classes, batch), 2000, 5)
        yield f"C={classes}, m={batch}", found.drift - uniform_drift(classes, batch)


@evidence
def averaged_law() -> Cases:
    """Measure the drift of Signum by draws minus the law at p = 1/C, in units of the rate."""
    for classes, batch in SIZES:
        found = simulated_drift(classes, batch, BETA, _random(classes, batch), 200, 50)
        yield f"C={classes}, m={batch}", found.drift - averaged_drift(classes, batch, BETA)


def _random(classes: int, batch: int) -> np.random.Generator:
    return generator(classes, f"batches of {batch}")


@evidence
def matched_rates(released: pd.DataFrame) -> Cases:
    """Return the released rate of SignSGD over that of Signum, by task."""
    for row in released.to_dict("records"):
        yield str(row["task"]), row["signsgd"] / row["signum"]


@evidence
def division_by_momentum() -> Cases:
    """Return the drift of SignSGD over that of Signum at the same rate, by the laws."""
    for task, (classes, batch) in VISION.items():
        yield task, uniform_drift(classes, batch) / averaged_drift(classes, batch, BETA)
