"""Settings of heads that are trained on features which stay as they are."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from replication.base.strict import Count, Counts, Positive, Strict, refuse_repeated
from transformer_dynamics.encoders.settings import EncoderName, TextName
from transformer_dynamics.gradient_heterogeneity.settings.networks import Share
from transformer_dynamics.gradient_heterogeneity.settings.training import (
    Averages,
    Constant,
    OptimiserName,
    UpdateRule,
)


class HeadOptimiser(Strict):
    """An optimiser, with the averages that it takes."""

    name: OptimiserName
    """Name of the optimiser."""
    momentum: Share
    """Share of the average of gradients that a step keeps: mu of SGD-m and Signum, b_1 of Adam."""
    second: Share
    """Share of the average of squared gradients that a step keeps: a of RMSProp, b_2 of Adam."""

    @property
    def update_rule(self) -> UpdateRule:
        """Optimiser with all its constants."""
        return UpdateRule(self.name, self.momentum, self.second)

    @property
    def beta(self) -> float:
        """Share of the average of gradients that stays at each step; 0 is no average."""
        return self.momentum if self.name in {"sgd_momentum", "signum", "adam"} else 0.0


class HeadOptimiserSetting(Strict):
    """An optimiser of heads."""

    name: OptimiserName
    """Name of the optimiser."""
    momentum: Share | None = None
    """Share of the average of gradients that stays at each step: mu of SGD-m and Signum, b_1 of
    Adam; that of all trainings if left out."""

    def with_averages(self, averages: Averages) -> HeadOptimiser:
        """Return the optimiser with all averages; those it lacks are those of all trainings."""
        first, second = averages.shares(self.name)
        own = first if self.momentum is None else self.momentum
        return HeadOptimiser(name=self.name, momentum=own, second=second)


HeadOptimiserSettings = Annotated[
    list[HeadOptimiserSetting], Field(min_length=1), AfterValidator(refuse_repeated)
]
HeadOptimisers = Annotated[
    list[HeadOptimiser], Field(min_length=1), AfterValidator(refuse_repeated)
]


class HeadTask(Strict):
    """A set of texts on whose features heads are trained."""

    texts: TextName
    """Name of the set."""
    classes: Annotated[int, Field(ge=2)] | None = None
    """Number C of classes of the set that are used, the first ones; all if left out."""


class HeadTraining(Strict):
    """Batches, rate and steps of heads."""

    batch_sizes: Counts
    """Numbers m of samples in a batch."""
    rate: Constant
    """Rate of all optimisers at every step."""
    steps: Count
    """Number of updates of a head."""
    points: Count
    """Number of steps, evenly spaced, after which heads are recorded; also before the first."""
    slice: Count
    """Number of training samples whose cross-entropy is recorded."""


class HeadsJob(HeadTask, HeadTraining):
    """Heads of one set of texts by all optimisers and sizes of batches, for whatever seed."""

    encoder: EncoderName
    """Name of the encoder that gives the features."""
    optimisers: HeadOptimisers
    """Optimisers, all at the same rate."""
    head_deviation: Positive
    """Standard deviation of the entries of V at the start."""
    device: Literal["cpu", "cuda"]
    """Device that trains."""
