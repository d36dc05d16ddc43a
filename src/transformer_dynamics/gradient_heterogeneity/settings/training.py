"""Training of one network: its optimiser with all constants, its schedule and its batches."""

from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from replication.base.errors import InputError
from replication.base.strict import Count, Positive, Strict
from transformer_dynamics.gradient_heterogeneity.settings.networks import NetworkChoice, Share

OptimiserName = Literal["sgd", "sgd_momentum", "signsgd", "signum", "rmsprop", "adam"]
"""Name of an optimiser; `training.optimisers` has their formulas."""
OPTIMISERS: tuple[OptimiserName, ...] = (
    "sgd", "sgd_momentum", "signsgd", "signum", "rmsprop", "adam",
)  # fmt: skip
"""Names of all optimisers."""
Schedule = Literal["linear", "constant", "cosine", "warmup"]
"""Course of the rate: falls to 0 in a line; stays; falls to 0 as half a cosine; rises in a line,
then falls in one."""
Constant = Annotated[float, Field(gt=0, le=1e9)]
"""A rate or an epsilon, far from where numbers of 32 bits end."""
Exponent = Annotated[float, Field(ge=-20, le=20)]
"""Exponent q of coordinates; so coordinates and their gradients stay within numbers of 32 bits."""
Decay = Annotated[float, Field(ge=0)]
"""Strength lambda of weight decay."""
Limit = Annotated[float, Field(ge=1)]
"""Limit of rates by curvature: a curvature counts as the median's share 1/limit at least, so that
no block has a larger rate than limit times that of the median block."""
USUAL_EPSILON = 1e-8
"""Epsilon of RMSProp and Adam where it is not the question, as released."""
HAS_EPSILON = frozenset({"rmsprop", "adam"})
"""Optimisers that have an epsilon."""


class UpdateRule(NamedTuple):
    """An optimiser with its constants."""

    name: OptimiserName
    """Name of the optimiser."""
    momentum: float = 0.0
    """Share of the average of gradients that a step keeps: mu of SGD-m and Signum, b_1 of Adam."""
    second: float = 0.0
    """Share of the average of squared gradients that a step keeps: a of RMSProp, b_2 of Adam."""
    epsilon: float = USUAL_EPSILON
    """Number eps that RMSProp and Adam add to a root."""
    weight_decay: float = 0.0
    """Strength lambda of weight decay, apart from gradients."""

    def check(self) -> None:
        """Refuse an unknown optimiser, or constants that are out of range, with an `InputError`.

        Averages are in [0, 1), and eps >= 0.
        """
        if self.name not in OPTIMISERS:
            raise InputError(f"unknown optimiser {self.name}; known: {', '.join(OPTIMISERS)}")
        if not (0 <= self.momentum < 1 and 0 <= self.second < 1 and self.epsilon >= 0):
            raise InputError(f"averages are in [0, 1) and eps is not negative: {self}")


class AdamAverages(Strict):
    """Shares of Adam's averages that stay at each step."""

    first: Share
    """Share b_1 of the average of gradients that stays."""
    second: Share
    """Share b_2 of the average of squared gradients that stays."""


class Averages(Strict):
    """Share of each optimiser's averages that stays at each step."""

    sgd_momentum: Share
    """Share mu of SGD with momentum."""
    signum: Share
    """Share mu of Signum."""
    rmsprop: Share
    """Share a of RMSProp."""
    adam: AdamAverages
    """Shares of Adam's two averages."""

    def shares(self, name: OptimiserName) -> tuple[float, float]:
        """Return the shares of averages of gradients and of their squares; 0 is no average."""
        known: dict[OptimiserName, tuple[float, float]] = {
            "sgd_momentum": (self.sgd_momentum, 0.0),
            "signum": (self.signum, 0.0),
            "rmsprop": (0.0, self.rmsprop),
            "adam": (self.adam.first, self.adam.second),
        }
        return known.get(name, (0.0, 0.0))


class Blocks(Strict):
    """Measurement before training that coordinates and rates of blocks follow."""

    batches: Count
    """Number of batches of training whose gradients coordinates follow."""
    tolerance: Positive
    """Relative error of a curvature that rates follow."""
    products: Count
    """Number of Hessian-vector products after which the iteration of a curvature ends anyway."""
    least: Count
    """Number of Hessian-vector products before which that iteration does not end."""
    limit: Limit
    """Largest rate of a block, in units of the median block's."""


class TrainingSetting(Strict):
    """Optimiser, rate, batches and steps of a training."""

    optimiser: OptimiserName
    """Name of the optimiser."""
    epsilon: Constant = USUAL_EPSILON
    """Number eps that RMSProp and Adam add to a root."""
    rate: Constant
    """Largest rate of all steps."""
    schedule: Schedule = "linear"
    """Share of the rate that each step has."""
    clip: Positive | None = 1.0
    """Largest norm of the gradient; `null` for any."""
    batch_size: Count | Literal["full"] = 16
    """Number of samples of a step; `full` for all of them."""
    steps: Count
    """Number of steps."""
    points: Count
    """Number of evenly spaced steps after which the network is recorded; also before the first."""
    slice: Count
    """Number of training samples, the same for all seeds, whose cross-entropy is recorded; all if
    there are no more."""


class Training(TrainingSetting):
    """A training with all constants."""

    momentum: Share
    """Share of the average of gradients that a step keeps: mu of SGD-m and Signum, b_1 of Adam."""
    second: Share
    """Share of the average of squared gradients that a step keeps: a of RMSProp, b_2 of Adam."""
    weight_decay: Decay
    """Strength lambda of weight decay."""
    warm_up: Share
    """Share of the steps in which the schedule `warmup` rises."""
    frozen: bool = False
    """True if embeddings stay as they are."""
    exponent: Exponent = 0.0
    """Exponent q: blocks are trained in coordinates theta_b = s_b theta'_b with log s_b = q where
    the root mean square of a gradient's entries is above that of the median block at the start, and
    -q elsewhere."""
    block_rates: bool = False
    """True if a block has the rate eta median(h)/max(h_b, median(h)/limit), with h_b the curvature
    of its own Hessian block at the start."""
    blocks: Blocks | None = None
    """Measurement that coordinates and rates of blocks follow; left out where there are none."""

    @model_validator(mode="after")
    def _check_blocks(self) -> Self:
        if (self.exponent or self.block_rates) and self.blocks is None:
            raise ValueError("blocks: coordinates and rates of blocks need them")
        return self

    @property
    def update_rule(self) -> UpdateRule:
        """Optimiser with its constants."""
        return UpdateRule(
            self.optimiser, self.momentum, self.second, self.epsilon, self.weight_decay
        )


class SharedTraining(Strict):
    """Constants that all trainings share."""

    averages: Averages
    """Averages of optimisers."""
    weight_decay: Decay
    """Strength lambda of weight decay of whole networks: each step multiplies all that is trained
    by 1 - eta lambda."""
    warm_up: Share
    """Share of the steps in which the schedule `warmup` rises."""
    parts: Count
    """Number of equal parts of a run's batches; the mean loss of the last part is the training
    loss, by which rates are chosen."""

    def complete(self, setting: TrainingSetting, **own: Any) -> Training:
        """Return a training with the constants that it depends on, and further settings `own`."""
        momentum, second = self.averages.shares(setting.optimiser)
        return Training(
            **dict(setting),
            momentum=momentum,
            second=second,
            weight_decay=self.weight_decay,
            warm_up=self.warm_up if setting.schedule == "warmup" else 0.0,
            **own,
        )


class RunJob(Strict):
    """Training of one network, for whatever seed."""

    case: str
    """Name of the network, samples and way of training in the experiment."""
    net: NetworkChoice
    """Network and its samples."""
    training: Training
    """Optimiser, batches and steps."""
    device: Literal["cpu", "cuda"]
    """Device that trains."""
