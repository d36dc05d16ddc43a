"""How one network is trained, and what is looked at on the way."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from replication.base.strict import Count, Positive, Strict
from transformer_dynamics.gradient_heterogeneity.net_settings import NetChoice
from transformer_dynamics.gradient_heterogeneity.optimizer_settings import (
    USUAL_EPSILON,
    Averages,
    Constant,
    Name,
    Optimizer,
    Share,
)
from transformer_dynamics.gradient_heterogeneity.schedules import Schedule

Exponent = Annotated[float, Field(ge=-20, le=20)]
"""Within it, coordinates and their gradients stay within numbers of 32 bits."""
Decay = Annotated[float, Field(ge=0)]
Limit = Annotated[float, Field(ge=1)]
"""Of curvatures that rates of blocks follow: they count as the median's share 1/limit at least, so
that no block has a larger rate than limit times that of the median."""


class Blocks(Strict):
    """What coordinates and rates of blocks follow, before training."""

    batches: Count
    """Of training; coordinates follow their gradients."""
    tolerance: Positive
    """Relative error of a curvature that rates follow."""
    products: Count
    """Hessian-vector products after which its iteration ends anyway."""
    least: Count
    """Products before which it does not end."""
    limit: Limit
    """How far a rate may be above that of the median block."""


class Plain(Strict):
    """How parameters move, all at one rate."""

    optimiser: Name
    """Which one."""
    epsilon: Constant = USUAL_EPSILON
    """Eps of RMSProp and Adam."""
    rate: Constant
    """The largest of all steps."""
    schedule: Schedule = "linear"
    """Share of the rate that each step has."""
    clip: Positive | None = 1.0
    """Largest norm of the gradient; `null` for any."""
    batch_size: Count | Literal["full"] = 16
    """Samples of a step; `full` for all of them."""
    steps: Count
    """How many."""
    points: Count
    """At how many steps, evenly spaced, it is looked at; and before the first."""
    slice: Count
    """Training samples, the same for all seeds, whose cross-entropy is looked at; all if there are
    no more."""


class Training(Plain):
    """How parameters move, with all constants."""

    momentum: Share
    """Mu of SGD-m and Signum, b_1 of Adam."""
    second: Share
    """A of RMSProp, b_2 of Adam."""
    weight_decay: Decay
    """Lambda."""
    warm_up: Share
    """Share of the steps in which the schedule `warmup` rises."""
    frozen: bool = False
    """Whether embeddings stay as they are."""
    exponent: Exponent = 0.0
    """Q: blocks are trained in coordinates theta_b = s_b theta'_b with log s_b = q where the root
    mean square of a gradient's entries is above that of the median block at the start, and -q
    elsewhere."""
    block_rates: bool = False
    """Whether a block has the rate eta median(h)/max(h_b, median(h)/limit), with h_b the curvature
    of its own Hessian block at the start."""
    blocks: Blocks | None = None
    """What coordinates and rates of blocks follow; left out where there are none."""

    @model_validator(mode="after")
    def _check_blocks(self) -> Self:
        if (self.exponent or self.block_rates) and self.blocks is None:
            raise ValueError("blocks: coordinates and rates of blocks need them")
        return self

    @property
    def optimizer(self) -> Optimizer:
        """The optimiser with its constants."""
        return Optimizer(
            self.optimiser, self.momentum, self.second, self.epsilon, self.weight_decay
        )


class SharedTraining(Strict):
    """What all trainings share."""

    averages: Averages
    """Of optimisers."""
    weight_decay: Decay
    """Lambda of whole networks: each step multiplies all that is trained by 1 - eta lambda."""
    warm_up: Share
    """Share of the steps in which the schedule `warmup` rises."""
    parts: Count
    """The training loss, by which rates are chosen, is that of the last of so many equal parts of
    a run's batches."""

    def of(self, plain: Plain, **own: Any) -> Training:
        """A training with those of these constants that it depends on.

        Args:
            plain: optimiser, rates and steps.
            own: what else it has, such as coordinates.
        """
        momentum, second = self.averages.of(plain.optimiser)
        return Training(
            **dict(plain),
            momentum=momentum,
            second=second,
            weight_decay=self.weight_decay,
            warm_up=self.warm_up if plain.schedule == "warmup" else 0.0,
            **own,
        )


class RunJob(Strict):
    """One run, for whatever seed."""

    case: str
    """What the experiment calls its network, samples and way of training."""
    net: NetChoice
    """What is trained."""
    training: Training
    """How."""
    device: Literal["cpu", "cuda"]
    """Where."""
