"""Typed settings of the drawings of this paper's figures."""

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from transformer_dynamics.scan_and_snap.experiments import distinct
from transformer_dynamics.strict import Strict

Iterations = Annotated[
    list[Annotated[int, Field(ge=0)]], Field(min_length=2), AfterValidator(distinct)
]


class Fig4(Strict):
    """Heat maps of the attention c_n along training with SGD, one column per cell."""

    metric: ClassVar[Literal["attention"]] = "attention"
    drawing: Literal["fig4"]
    """Which drawing."""
    experiment: str
    """Name of the experiment that is drawn."""
    seed: int
    """The seed that is drawn."""
    iterations: Iterations
    """Numbers of updates that are drawn; the last one is called final."""
    boundaries: list[Annotated[int, Field(ge=1)]] = []
    """Token ids at which a new group of tokens begins, marked by a line."""
    sequence_classes: Annotated[
        list[Annotated[int, Field(ge=1)]], Field(min_length=1), AfterValidator(distinct)
    ]
    """Sequence classes n = 1, 2, ... that are drawn, one row each."""


class Fig5(Strict):
    """Heat maps of part of the attention c_n along training with Adam, one panel per rate."""

    metric: ClassVar[Literal["attention"]] = "attention"
    drawing: Literal["fig5"]
    """Which drawing."""
    experiment: str
    """Name of the experiment that is drawn; its only ratio is 1."""
    seed: int
    """The seed that is drawn."""
    iterations: Iterations
    """Numbers of updates that are drawn; the last one is called final."""
    boundaries: list[Annotated[int, Field(ge=1)]] = []
    """Token ids at which a new group of tokens begins, marked by a line."""
    sequence_class: int = Field(ge=1)
    """Sequence class n = 1, 2, ... that is drawn, on its own support."""


class Fig6(Strict):
    """Mean entropy of the attention on distinct tokens against eta_Y / eta_Z."""

    metric: ClassVar[Literal["entropy"]] = "entropy"
    drawing: Literal["fig6"]
    """Which drawing."""
    experiment: str
    """Name of the experiment that is drawn."""
    published: str | None = None
    """Path of a table of published values (num_last, eta_z, ratio, entropy_mean, entropy_std)."""


class Fig11(Strict):
    """Recall of distinct tokens against the attention threshold, a row per mixture."""

    metric: ClassVar[Literal["recall"]] = "recall"
    drawing: Literal["fig11"]
    """Columns are eta_Z, curves are ratios."""
    experiment: str
    """Name of the experiment that is drawn."""


class Fig12(Strict):
    """Recall of distinct tokens against the attention threshold, a row per mixture."""

    metric: ClassVar[Literal["recall"]] = "recall"
    drawing: Literal["fig12"]
    """Columns are ratios, curves are eta_Z."""
    experiment: str
    """Name of the experiment that is drawn."""


FigureSettings = Annotated[Fig4 | Fig5 | Fig6 | Fig11 | Fig12, Field(discriminator="drawing")]
