"""Which optimiser, with its constants; `optimizers` has their formulas."""

from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from replication.errors import InputError

Name = Literal["sgd", "sgd_momentum", "signsgd", "signum", "rmsprop", "adam"]
"""Of an optimiser."""
NAMES: tuple[Name, ...] = ("sgd", "sgd_momentum", "signsgd", "signum", "rmsprop", "adam")
"""All of them."""
Constant = Annotated[float, Field(gt=0, le=1e9)]
"""A rate or an epsilon, far from where numbers of 32 bits end."""
USUAL_EPSILON = 1e-8
"""Of RMSProp and Adam where it is not the question, as released."""


class Optimizer(NamedTuple):
    """An optimiser with the released constants."""

    name: Name
    """Name of the optimiser."""
    momentum: float = 0.9
    """Mu of SGD-m and Signum, b_1 of Adam."""
    second: float | None = None
    """A of RMSProp, .99 unless given, and b_2 of Adam, .999 unless given."""
    epsilon: float = USUAL_EPSILON
    """Eps of RMSProp and Adam."""

    def check(self) -> None:
        """Refuse what is no optimiser.

        Raises:
            InputError: for an unknown name, for averages outside of [0, 1), for eps < 0.
        """
        if self.name not in NAMES:
            raise InputError(f"unknown optimiser {self.name}; known: {', '.join(NAMES)}")
        if not (0 <= self.momentum < 1 and 0 <= self.decay < 1 and self.epsilon >= 0):
            raise InputError(f"averages are in [0, 1) and eps is not negative: {self}")

    @property
    def decay(self) -> float:
        """A or b_2."""
        usual = 0.99 if self.name == "rmsprop" else 0.999
        return usual if self.second is None else self.second
