"""Which optimiser, with its constants; `optimizers` has their formulas."""

from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from replication.base.errors import InputError
from replication.base.strict import Strict

Name = Literal["sgd", "sgd_momentum", "signsgd", "signum", "rmsprop", "adam"]
"""Of an optimiser."""
NAMES: tuple[Name, ...] = ("sgd", "sgd_momentum", "signsgd", "signum", "rmsprop", "adam")
"""All of them."""
Constant = Annotated[float, Field(gt=0, le=1e9)]
"""A rate or an epsilon, far from where numbers of 32 bits end."""
Share = Annotated[float, Field(ge=0, lt=1)]
"""Of an average, what stays at each step."""
USUAL_EPSILON = 1e-8
"""Of RMSProp and Adam where it is not the question, as released."""


class AdamAverages(Strict):
    """Of Adam."""

    first: Share
    """B_1, of gradients."""
    second: Share
    """B_2, of their squares."""


class Averages(Strict):
    """How much of its averages an optimiser keeps at each step."""

    sgd_momentum: Share
    """Mu of SGD with momentum."""
    signum: Share
    """Mu of Signum."""
    rmsprop: Share
    """A of RMSProp."""
    adam: AdamAverages
    """Both of Adam."""

    def of(self, name: Name) -> tuple[float, float]:
        """What an optimiser keeps of averages of gradients and of their squares; 0 is no average.

        Args:
            name: of the optimiser.
        """
        known: dict[Name, tuple[float, float]] = {
            "sgd_momentum": (self.sgd_momentum, 0.0),
            "signum": (self.signum, 0.0),
            "rmsprop": (0.0, self.rmsprop),
            "adam": (self.adam.first, self.adam.second),
        }
        return known.get(name, (0.0, 0.0))


class Optimizer(NamedTuple):
    """An optimiser with its constants."""

    name: Name
    """Name of the optimiser."""
    momentum: float = 0.0
    """Mu of SGD-m and Signum, b_1 of Adam."""
    second: float = 0.0
    """A of RMSProp, b_2 of Adam."""
    epsilon: float = USUAL_EPSILON
    """Eps of RMSProp and Adam."""
    weight_decay: float = 0.0
    """Lambda."""

    def check(self) -> None:
        """Refuse what is no optimiser.

        Raises:
            InputError: for an unknown name, for averages outside of [0, 1), for eps < 0.
        """
        if self.name not in NAMES:
            raise InputError(f"unknown optimiser {self.name}; known: {', '.join(NAMES)}")
        if not (0 <= self.momentum < 1 and 0 <= self.second < 1 and self.epsilon >= 0):
            raise InputError(f"averages are in [0, 1) and eps is not negative: {self}")
