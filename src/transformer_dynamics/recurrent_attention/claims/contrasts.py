"""What a claim about trained conditions says of every single seed: values, and their differences.

Conditions share boards and noise, and a seed's batches, so that differences are taken by seed.
"""

from collections.abc import Sequence

import pandas as pd

from replication.base.errors import UnmeasurableError
from replication.study import contract as study
from transformer_dynamics.recurrent_attention.measure_settings import (
    Accuracy,
    Exponents,
    MeasureJob,
)
from transformer_dynamics.recurrent_attention.train_settings import TrainJob

IN, OUT = "in distribution", "out of distribution"
"""Splits of the boards, as the metric `accuracy` calls them."""
Accuracies = study.Measured[MeasureJob[Accuracy]]
"""The metric `accuracy` of a condition."""
ExponentsOf = study.Measured[MeasureJob[Exponents]]
"""The metric `exponents` of a condition."""
NAMES = {"itrsa": "ItrSA", "akorn": "AKOrN", "symmetric": "symmetric SA"}


def named(train: TrainJob) -> str:
    """What a condition is called: N, and what else it differs in: `AKOrN, N=8, spectral 0.001`."""
    model, penalty = train.model, train.penalty
    name = NAMES[model.kind] if model.normalised else f"{NAMES[model.kind]} without norm"
    parts = [name, f"N={model.block}"]
    if model.projections != "free":
        parts.append(f"H={model.heads}, {model.projections}")
    if penalty:
        parts.append(f"{penalty.kind} {penalty.strength:g}")
    if model.embedding is not None:
        parts.append(f"embeddings of size {model.embedding:g}")
    return ", ".join(parts)


def accuracy(measured: Accuracies, loops: int, split: str = OUT) -> pd.Series:
    """Share of solved boards of every seed after T loops [seed].

    Raises:
        UnmeasurableError: if T was not measured.
    """
    table = measured.table
    found = table[(table["split"] == split) & (table["loops"] == loops)]
    if found.empty:
        raise UnmeasurableError(f"accuracy {split} after {loops} loops was not measured")
    return found.set_index("seed")["solved"]


def final(measured: Accuracies) -> pd.Series:
    """Accuracy out of distribution after the most loops that were measured [seed]."""
    return accuracy(measured, max(measured.job.how.loops))


def trained_loops(measured: Accuracies) -> int:
    """T of training."""
    return measured.job.train.training.loops


def from_training_on(measured: Accuracies, split: str = OUT) -> pd.DataFrame:
    """Accuracy after as many loops as in training and after more [seed, T].

    Raises:
        UnmeasurableError: if fewer than two such T were measured.
    """
    loops = sorted(each for each in measured.job.how.loops if each >= trained_loops(measured))
    if len(loops) < 2:
        raise UnmeasurableError("accuracy was not measured after more loops than in training")
    return pd.DataFrame({each: accuracy(measured, each, split) for each in loops})


def mean_of(series: Sequence[pd.Series]) -> pd.Series:
    """Mean over conditions [seed]; NaN where one of them lacks the seed."""
    mean: pd.Series = pd.concat(list(series), axis=1).mean(axis=1, skipna=False)
    return mean
