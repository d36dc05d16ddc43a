"""Values of trained conditions by seed, of which claims take differences.

Conditions share boards and noise, and a seed's batches, so that differences are taken by seed.
"""

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import pandas as pd

from replication.base.errors import UnmeasurableError
from replication.study.contract import JobSettings, Measured
from transformer_dynamics.recurrent_attention.settings.metrics import (
    OUT,
    Accuracy,
    Exponents,
    MetricJob,
)
from transformer_dynamics.recurrent_attention.settings.training import TrainJob

AccuracyOf = Measured[MetricJob[Accuracy]]
"""Metric `accuracy` of a condition."""
ExponentsOf = Measured[MetricJob[Exponents]]
"""Metric `exponents` of a condition."""
AnyMeasured = TypeVar("AnyMeasured", bound=Measured[Any])
MODEL_NAMES = {"itrsa": "ItrSA", "akorn": "AKOrN", "symmetric": "symmetric SA"}
"""Names of kinds of models in those of comparisons."""


def model_name(measured: Measured[MetricJob[Any]]) -> str:
    """Return kind and N of a model, such as `AKOrN, N=4`."""
    model = measured.job.train.model
    return f"{MODEL_NAMES[model.kind]}, N={model.block}"


def join_seeds(measured: Sequence[Measured[JobSettings]]) -> Measured[JobSettings]:
    """Return one metric of conditions that differ in their seeds alone, as of one condition.

    Raises:
        UnmeasurableError: if they differ in more, or have seeds in common.
    """
    if any(each.job != measured[0].job for each in measured):
        raise UnmeasurableError(
            "conditions whose seeds are taken together differ in more than these"
        )
    seeds = [seed for each in measured for seed in each.table["seed"].unique()]
    if len({*seeds}) < len(seeds):
        raise UnmeasurableError("conditions whose seeds are taken together have seeds in common")
    rows = pd.concat([each.table for each in measured], ignore_index=True)
    return measured[0]._replace(table=rows)


def condition_name(train: TrainJob) -> str:
    """Return kind, N and other differences of a condition: `AKOrN, N=8, spectral 0.001`."""
    model, penalty = train.model, train.penalty
    kind = MODEL_NAMES[model.kind]
    parts = [kind if model.normalised else f"{kind} without norm", f"N={model.block}"]
    if model.projections != "free":
        parts.append(f"H={model.heads}, {model.projections}")
    if penalty:
        parts.append(f"{penalty.kind} {penalty.strength:g}")
    if model.embedding is not None:
        parts.append(f"embeddings of size {model.embedding:g}")
    return ", ".join(parts)


def conditions(*measured: Measured[Any]) -> pd.DataFrame:
    """Return the rows of conditions one below the other, with columns for their differences.

    `condition` is `condition_name`, and `unpenalised` that without a penalty; `model` is
    `model_name`. Of accuracies, `times` are loops over those of training, and `is_final` are the
    most loops that were measured.
    """
    found = []
    for each in measured:
        train, table = each.job.train, each.table
        if "loops" in table:
            loops = table["loops"]
            is_final = loops == max(each.job.settings.loops)
            table = table.assign(times=loops / train.training.loops, is_final=is_final)
        columns = {
            "condition": condition_name(train),
            "unpenalised": condition_name(train.model_copy(update={"penalty": None})),
            "model": model_name(each),
            "kind": train.model.kind,
            "block": train.model.block,
            "heads": train.model.heads,
            "strength": train.penalty.strength if train.penalty else 0.0,
            "is_penalised": train.penalty is not None,
            "stage": "trained" if train.trained else "untrained",
            "digits": train.boards.digits,
        }
        found.append(table.assign(**columns))
    return pd.concat(found, ignore_index=True)


def accuracy_after(measured: AccuracyOf, loops: int, split: str = OUT) -> pd.Series:
    """Return the share of solved boards after T loops [seed].

    Raises:
        UnmeasurableError: if T was not measured.
    """
    table = measured.table
    found = table[(table["split"] == split) & (table["loops"] == loops)]
    if found.empty:
        raise UnmeasurableError(f"accuracy {split} after {loops} loops was not measured")
    return found.set_index("seed")["solved"]


def final_accuracy(measured: AccuracyOf) -> pd.Series:
    """Return the accuracy out of distribution after the most loops that were measured [seed]."""
    return accuracy_after(measured, max(measured.job.settings.loops))


def trained_loops(measured: AccuracyOf) -> int:
    """Return the number T of loops in training."""
    return measured.job.train.training.loops


def accuracies_from_training(measured: AccuracyOf, split: str = OUT) -> pd.DataFrame:
    """Return the accuracy after as many loops as in training and after more [seed, T].

    Raises:
        UnmeasurableError: if fewer than two such T were measured.
    """
    loops = sorted(each for each in measured.job.settings.loops if each >= trained_loops(measured))
    if len(loops) < 2:
        raise UnmeasurableError("accuracy was not measured after more loops than in training")
    return pd.DataFrame({each: accuracy_after(measured, each, split) for each in loops})


def in_pairs(measured: Sequence[AnyMeasured]) -> Iterator[tuple[AnyMeasured, AnyMeasured]]:
    """Return metrics of conditions two by two: the first and the second, and so on."""
    return zip(measured[::2], measured[1::2], strict=True)


def mean_over_conditions(series: Sequence[pd.Series]) -> pd.Series:
    """Return the mean over conditions [seed]; NaN where one of them lacks the seed."""
    mean: pd.Series = pd.concat(list(series), axis=1).mean(axis=1, skipna=False)
    return mean
