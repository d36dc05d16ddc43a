"""Experiments on the mixtures, and the variants under which they are repeated."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from replication.base.errors import InputError
from replication.base.strict import REMOVABLE, Count, Name, Strict, refuse_repeated
from replication.study.contract import check_titles
from replication.study.seeds import SeedRange, Seeds
from transformer_dynamics.scan_and_snap.settings.metrics import Thresholds
from transformer_dynamics.scan_and_snap.settings.training import (
    MOST_NUMBERS,
    Decay,
    Length,
    Sampling,
    Training,
    TrainJob,
)


class ExperimentSettings(Strict):
    """One set of training runs: every mixture, every cell, every seed."""

    mixtures: Annotated[list[str], Field(min_length=1), AfterValidator(refuse_repeated)]
    """Names of the mixtures to train on."""
    seeds: Seeds
    """Seeds of the runs: a list, or `{first: 1, count: 10}`."""
    sampling: Sampling
    """Stream, number and length of sequences."""
    training: Training
    """Optimiser, rates and start."""
    recall_thresholds: dict[str, Thresholds] = {}
    """Attention thresholds at which recall is measured, by mixture."""

    @field_validator("training", mode="before")
    @classmethod
    def _refuse_eta_y(cls, training: Any) -> Any:
        if isinstance(training, dict) and "eta_y" in training:
            raise ValueError("unknown key 'eta_y'; set ratio, as eta_Y = ratio x eta_Z")
        return training

    @model_validator(mode="after")
    def _check_recorded(self) -> Self:
        late = [step for step in self.training.recorded if step > self.sampling.steps]
        if late:
            raise ValueError(
                f"training.recorded asks for update {late[0]}, but sampling.steps is"
                f" {self.sampling.steps}; raise sampling.steps, or leave the update out"
            )
        return self


class SamplingChange(Strict):
    """Settings of sampling that a variant changes; those left out stay."""

    steps: Count | None = None
    """Number of batches."""
    batch_size: Count | None = None
    """Number of sequences per batch."""
    sequence_length: Length | None = None
    """Length T of a sequence, the query token included."""


class TrainingChange(Strict):
    """Settings of training that a variant changes; those left out stay."""

    momentum: Decay | None = None
    """Momentum of `sgd`."""
    initialization: Literal["zero", "uniform"] | None = None
    """Start of Y and Z."""
    residual: bool | None = None
    """True if the query's one-hot vector is added to the attention's output."""
    query_among_keys: bool | None = None
    """True if the query is a key of its own attention."""


class Variant(Strict):
    """One other reading of the paper, or one departure from it."""

    title: str = Field(min_length=1)
    """Name of the variant in figures."""
    sampling: SamplingChange = SamplingChange()
    """Changed settings of sampling."""
    training: TrainingChange = TrainingChange()
    """Changed settings of training."""


class Variants(Strict):
    """Experiments that are repeated under every variant, to see which claims depend on it."""

    experiments: Annotated[list[str], Field(min_length=1), AfterValidator(refuse_repeated)]
    """Names of the experiments; their own settings are the variant `baseline`."""
    seeds: SeedRange
    """Seeds of every variant, other ones than the experiments' own."""
    variants: Annotated[dict[Name, Variant], REMOVABLE]
    """The variants by name; `null` in an overlay removes one."""

    @model_validator(mode="after")
    def _check_titles(self) -> Self:
        check_titles({name: variant.title for name, variant in self.variants.items()})
        return self


def check_size(where: str, job: TrainJob, seeds: int, seeds_per_job: int) -> None:
    """Refuse an experiment for which no memory is large enough.

    Raise InputError with the keys `where` that lead to it, and those that decide.
    """
    sampling, cells = job.sampling, len(job.training.cells) * len(job.recorded)
    sequences = sampling.steps * sampling.batch_size
    for mixture in job.mixtures.values():
        kinds = len(mixture.common_weights) + len(mixture.distinct_weights)
        # The authors' stream holds every token of a seed, the independent one counts of each kind.
        drawn = sampling.sequence_length if sampling.stream == "authors" else kinds
        attention = mixture.num_classes * mixture.num_contextual
        for size, keys in (
            (sequences * drawn, "sampling > steps, batch_size or sequence_length"),
            (
                sequences * kinds * seeds_per_job,
                "computation.seeds_per_job, or sampling > steps or batch_size",
            ),
            (cells * attention * seeds, "training > recorded, eta_z or ratio, or the seeds"),
        ):
            if size > MOST_NUMBERS:
                raise InputError(
                    f"{where}: makes more than {MOST_NUMBERS:,} numbers at once, which fit into no"
                    f" memory; lower {keys}"
                )
