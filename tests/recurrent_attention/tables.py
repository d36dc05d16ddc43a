"""Tables of metrics that are made up, and the jobs that they belong to."""

from random import Random

import numpy as np
import pandas as pd
from conftest import DEFAULTS, STUDIES

from replication.study.contract import Measured
from transformer_dynamics.recurrent_attention import study
from transformer_dynamics.recurrent_attention.settings.metrics import MetricJob, WeightsJob
from transformer_dynamics.recurrent_attention.settings.models import Network

STUDY = STUDIES["recurrent_attention"]
SETTINGS = DEFAULTS.section(STUDY.name)
SEEDS = range(1, 9)
T_TRAIN = SETTINGS.training.loops
T_MAX = max(SETTINGS.metrics.accuracy.loops)
SIGMAS = [f"sigma_{name}" for name in ("query", "key", "value", "output")]


def whole(**sizes):
    """A model of some sizes, in all else as the defaults have it."""
    return Network(**SETTINGS.models.model_dump() | sizes)


def trained(condition):
    """The job that trains a condition of the defaults."""
    return study.Settings.train_job(SETTINGS, SETTINGS.experiments[condition], DEFAULTS.computation)


def accuracy(condition, at_training, at_last, seeds=SEEDS, spread=0.02, inside=0.95):
    """Accuracy out of distribution that goes evenly from that after T_train to that at the last T.

    Means over seeds are exactly these.
    """
    how = SETTINGS.metrics.accuracy
    rows = []
    for loops in how.loops:
        share = np.clip(np.log(loops / T_TRAIN) / np.log(T_MAX / T_TRAIN), 0, 1)
        middle = at_training + share * (at_last - at_training)
        for split, mean in (("in distribution", inside), ("out of distribution", middle)):
            values = mean + spread * noise(f"{condition} {loops} {split}", len(seeds))
            for seed, value in zip(seeds, values, strict=True):
                rows.append((seed, split, loops, value, value))
    table = pd.DataFrame(rows, columns=["seed", "split", "loops", "solved", "cells"])
    return Measured(table, MetricJob(train=trained(condition), settings=how))


def exponents(condition, mean, seeds=SEEDS, spread=0.01):
    """Exponents of three boards whose means are these; non-null ones are lower by .2."""
    rows = []
    for seed, value in zip(seeds, noise(f"{condition} exponents", len(seeds)), strict=True):
        for board in range(3):
            own = mean + spread * value + 0.05 * (board - 1)
            rows.append((seed, board, own + 0.1, own, own - 0.2))
    table = pd.DataFrame(rows, columns=["seed", "board", "max", "leading", "nonnull"])
    how = SETTINGS.metrics.exponents
    return Measured(table, MetricJob(train=trained(condition), settings=how))


def weights(condition, largest, seeds=SEEDS, spread=0.02, heads=1.2):
    """Norms of gamma, and the relative asymmetry of heads; that of their sum is .1."""
    values = noise(f"{condition} weights", len(seeds))
    table = pd.DataFrame(
        {
            "seed": list(seeds),
            "gamma_norm": 5 * largest + spread * values,
            "gamma_max": largest + spread * values,
            "asymmetry": 0.1 + 0.01 * values,
            "asymmetry_of_heads": heads + 0.02 * values,
            **dict.fromkeys(SIGMAS, 1 + largest + spread * values),
        }
    )
    return Measured(table, WeightsJob(train=trained(condition)))


def noise(name, count):
    """Mean 0 and standard deviation 1, by name."""
    values = np.array([Random(f"{name} {index}").gauss(0, 1) for index in range(count)])
    return (values - values.mean()) / values.std(ddof=1)
