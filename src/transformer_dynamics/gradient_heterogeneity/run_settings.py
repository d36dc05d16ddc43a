"""How one network is trained, and what is looked at on the way."""

from typing import Annotated, Literal

from pydantic import Field

from replication.strict import Count, Positive, Strict
from transformer_dynamics.gradient_heterogeneity.net_settings import NetChoice
from transformer_dynamics.gradient_heterogeneity.optimizer_settings import (
    USUAL_EPSILON,
    Constant,
    Name,
    Optimizer,
)
from transformer_dynamics.gradient_heterogeneity.schedules import Schedule

Share = Annotated[float, Field(ge=0, lt=1)]
Exponent = Annotated[float, Field(ge=-20, le=20)]
"""Within it, coordinates and their gradients stay within numbers of 32 bits."""


class Training(Strict):
    """How parameters move."""

    optimiser: Name
    """Which one."""
    momentum: Share = 0.9
    """Mu of SGD-m and Signum, b_1 of Adam."""
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
    frozen: bool = False
    """Whether embeddings stay as they are."""
    exponent: Exponent = 0.0
    """Q: blocks are trained in coordinates theta_b = s_b theta'_b with log s_b = q where the root
    mean square of a gradient's entries is above that of the median block at the start, and -q
    elsewhere."""
    block_rates: bool = False
    """Whether a block has the rate eta median(h)/max(h_b, median(h)/100), with h_b the curvature
    of its own Hessian block at the start."""
    points: Count
    """At how many steps, evenly spaced, it is looked at; and before the first."""
    slice: Count
    """Training samples, the same for all seeds, whose cross-entropy is looked at; all if there are
    no more."""

    @property
    def optimizer(self) -> Optimizer:
        """The optimiser with its constants."""
        return Optimizer(self.optimiser, self.momentum, epsilon=self.epsilon)


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
