"""Settings of one run: the head, and perhaps the encoder under it."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from replication.base.strict import Count, Positive, Positives, Strict
from transformer_dynamics.encoders.settings import EncoderName, TextChoice, TextName

Method = Literal["lp", "ft", "lora", "lp_ft", "lp_lora"]
"""Methods of training: linear probing; fine-tuning of everything, or of low-rank adapters, from a
random head; both kinds of fine-tuning from the probe."""
Direction = Literal["random", "probe"]
Norm = Literal["own", "random", "probe"]
BelowOne = Annotated[float, Field(ge=0, lt=1)]
NotNegative = Annotated[float, Field(ge=0)]


class Penalty(Strict):
    """Choice of the penalty of linear probing, 1/C_reg."""

    strengths: Positives
    """Values of C_reg to choose from on validation samples: the penalty is 1/C_reg, strongest for
    the smallest of them. With `folds` they are scikit-learn's C, which is 2 C_reg for two
    classes."""
    folds: int | None = Field(default=None, ge=2, exclude_if=lambda number: number is None)
    """Number of folds of the training samples whose cross-validation chooses, instead of validation
    samples, as in the paper's released code."""
    tolerance: Positive
    """Largest entry of the gradient at the optimum, divided by C_reg where C_reg is above 1."""


class ProbeChoice(Penalty):
    """Linear probing: the penalty of the optimum, and gradient descent without one."""

    steps: Count
    """Number of steps of gradient descent, along which the norm of a head is shown."""
    points: int = Field(ge=3, le=10_000)
    """Number of steps of gradient descent that are recorded, about evenly on a logarithmic axis."""


class ProbeSettings(ProbeChoice):
    """Linear probing as the configuration has it, where `folds` is told, too, if there are none."""

    folds: int | None = Field(default=None, ge=2)
    """Number of folds of the training samples whose cross-validation chooses, instead of validation
    samples, as in the paper's released code."""

    @property
    def choice(self) -> ProbeChoice:
        """Settings of jobs."""
        return ProbeChoice(**self.model_dump())


class Adapters(Strict):
    """LoRA, W + (alpha/r) B A for every query and value."""

    rank: Count
    """Rank r."""
    alpha: Annotated[float, Field(gt=0, le=1e6)]
    """Scale alpha."""


class Updates(Strict):
    """Settings of the steps that all methods but LP share."""

    dropout: BelowOne | None
    """Probability of all dropouts: within the encoder, and of features before the head; as
    published with the encoder if `null`."""
    weight_decay: NotNegative
    """Decay of all trained parameters: AdamW takes it off them, SGD adds it to the gradient."""
    betas: Annotated[list[BelowOne], Field(min_length=2, max_length=2)]
    """Decays of AdamW's two moments."""
    epsilon: Positive
    """Number that AdamW adds to the root of the second moment."""
    momentum: BelowOne
    """Momentum of SGD."""
    warm_up: BelowOne
    """Share of the steps, rounded down, over which the rate rises to its full value."""
    decay: Literal["linear", "constant"]
    """Course of the rate after the warm-up: it falls to 0 after the last step, or stays."""

    def rate_factor(self, step: int, steps: int) -> float:
        """Return the factor of the full rate at a step; `step` is the number of steps before it."""
        rising = int(self.warm_up * steps)
        if step < rising:
            return (step + 1) / rising
        return 1.0 if self.decay == "constant" else 1 - (step - rising) / (steps - rising)


class Training(Updates):
    """Settings of heads and steps that all experiments share."""

    head_deviation: Positive
    """Standard deviation of the entries of the random head."""

    @property
    def updates(self) -> Updates:
        """Settings of the steps, without the random head, which LP has, too."""
        return Updates(**{name: getattr(self, name) for name in Updates.model_fields})


class Optimiser(Strict):
    """Optimiser of the mean cross-entropy of a batch."""

    kind: Literal["adamw", "sgd"] = "adamw"
    """Name of the optimiser."""
    clip: Positive | None = 1.0
    """Largest norm of the gradient; any if `null`."""
    rate: Positive
    """Largest learning rate of a run: that of the first step, or after the warm-up."""


class Duration(Strict):
    """Length of fine-tuning, in epochs or in steps."""

    epochs: Count | None = None
    """Number of passes over the training samples."""
    steps: Count | None = None
    """Number of steps, instead of epochs."""

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        if (self.epochs is None) == (self.steps is None):
            raise ValueError("must have either epochs or steps")
        return self


class Schedule(Duration):
    """Batches and length of a run, and the epoch that is kept."""

    batch_size: Count = 16
    """Number of samples of a step; the last one of an epoch has the rest."""
    kept: Literal["best", "last"] = "best"
    """Epoch that is kept: the first with the highest validation accuracy, or the last."""

    def steps_of_epoch(self, samples: int) -> int:
        """Return the number of steps of one pass over N samples."""
        return -(-samples // self.batch_size)

    def total(self, samples: int) -> int:
        """Return the number of steps of a run on N samples."""
        return self.steps or (self.epochs or 0) * self.steps_of_epoch(samples)


class Tuning(Strict):
    """Fine-tuning of the encoder together with the head."""

    optimiser: Optimiser
    """Optimiser and its learning rate."""
    schedule: Schedule
    """Batches and number of steps."""
    updates: Updates
    """Settings of the steps that all methods share."""
    adapters: Adapters
    """Settings of LoRA, which only methods with adapters use."""
    norm: Norm = "own"
    """Length of V at the start: its own, or that of the random head or of the probe."""
    factor: Positive = 1.0
    """Factor by which the head is multiplied in the end."""


class RunJob(Strict):
    """One run of any seed."""

    encoder: EncoderName
    """Encoder under the head."""
    texts: TextChoice
    """Samples to train, validate and test on."""
    others: list[TextName]
    """Sets out of distribution whose test samples are looked at, too."""
    method: Method
    """Method of training."""
    head_deviation: Positive
    """Standard deviation of the entries of the random head."""
    probe: ProbeChoice
    """Settings of linear probing, for LP and for heads that start from the probe."""
    tuning: Tuning | None
    """Settings of fine-tuning; `null` for LP."""
    device: Literal["cpu", "cuda"]
    """Device that trains; LP needs none but `cpu`."""

    @model_validator(mode="after")
    def _check_tuning(self) -> Self:
        if (self.tuning is None) != (self.method == "lp"):
            raise ValueError("method: lp has no tuning, and all others have one")
        return self

    @property
    def direction(self) -> Direction:
        """Head that gives the direction from which fine-tuning starts."""
        return "probe" if self.method in {"lp_ft", "lp_lora"} else "random"

    @property
    def has_adapters(self) -> bool:
        """True if low-rank adapters are trained, and not the encoder itself."""
        return self.method in {"lora", "lp_lora"}

    @property
    def sets(self) -> list[TextName]:
        """Names of all sets whose tokens and features the run reads, its own first."""
        return [self.texts.name, *self.others]
