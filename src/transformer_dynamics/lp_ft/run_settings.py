"""How one head, and perhaps the encoder under it, is trained."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from replication.base.strict import Count, Positive, Positives, Strict
from transformer_dynamics.encoders.settings import EncoderName, TextChoice, TextName

Method = Literal["lp", "ft", "lora", "lp_ft", "lp_lora"]
"""Linear probing; fine-tuning of everything, or of low-rank adapters, from a random head; the same
from the probe."""
Direction = Literal["random", "probe"]
Norm = Literal["own", "random", "probe"]


class ProbeChoice(Strict):
    """How heads are probed."""

    strengths: Positives
    """C_reg to choose from, on validation samples: the penalty is 1/C_reg, strongest for the
    smallest of them."""
    steps: Count
    """Of gradient descent without the penalty, along which the norm of a head is shown."""
    points: int = Field(ge=3, le=10_000)
    """Of these steps, how many are kept, about evenly on a logarithmic axis."""


class Adapters(Strict):
    """LoRA, W + (alpha/r) B A for every query and value."""

    rank: Count
    """r."""
    alpha: Annotated[float, Field(gt=0, le=1e6)]
    """Its scale."""


class Optimiser(Strict):
    """Of the mean cross-entropy of a batch; the rate falls linearly to 0, nothing decays."""

    kind: Literal["adamw", "sgd"] = "adamw"
    """SGD has no momentum."""
    clip: Positive | None = 1.0
    """Largest norm of the gradient."""
    rate: Positive
    """At the first step."""


class Schedule(Strict):
    """How long, and what is kept."""

    epochs: Count | None = None
    """Passes over the training samples."""
    steps: Count | None = None
    """Or the number of steps."""
    batch_size: Count = 16
    """Samples of a step; the last of an epoch has the rest."""
    kept: Literal["best", "last"] = "best"
    """The first of the epochs with the highest validation accuracy, or the end."""

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        if (self.epochs is None) == (self.steps is None):
            raise ValueError("must have either epochs or steps")
        return self

    def steps_of_epoch(self, samples: int) -> int:
        """Steps of one pass.

        Args:
            samples: N.
        """
        return -(-samples // self.batch_size)

    def total(self, samples: int) -> int:
        """Steps of a run.

        Args:
            samples: N.
        """
        return self.steps or (self.epochs or 0) * self.steps_of_epoch(samples)


class Tuning(Strict):
    """How the encoder is trained together with the head."""

    optimiser: Optimiser
    """Steps."""
    schedule: Schedule
    """Their number."""
    adapters: Adapters
    """Of LoRA; other methods do not have them."""
    norm: Norm = "own"
    """Length of V at the start: its own, or that of the random head or of the probe."""
    factor: Positive = 1.0
    """By which the head is then multiplied."""


class RunJob(Strict):
    """One run, for whatever seed."""

    encoder: EncoderName
    """What is under the head."""
    texts: TextChoice
    """What is trained, validated and tested on."""
    others: list[TextName]
    """Sets out of distribution whose test samples are looked at, too."""
    method: Method
    """What is trained, from which head."""
    probe: ProbeChoice
    """The probe."""
    tuning: Tuning | None
    """Of every method but LP."""
    device: Literal["cpu", "cuda"]
    """Where."""

    @model_validator(mode="after")
    def _check_tuning(self) -> Self:
        if (self.tuning is None) != (self.method == "lp"):
            raise ValueError("method: lp has no tuning, and all others have one")
        return self

    @property
    def direction(self) -> Direction:
        """The head that fine-tuning starts from, up to its length."""
        return "probe" if self.method in {"lp_ft", "lp_lora"} else "random"

    @property
    def is_adapted(self) -> bool:
        """Whether low-rank adapters are trained, and not the encoder itself."""
        return self.method in {"lora", "lp_lora"}

    @property
    def sets(self) -> list[TextName]:
        """All sets of which it reads tokens and features, its own first."""
        return [self.texts.name, *self.others]
