"""Typed settings of the drawings of this paper's figures.

Each names the program that makes its table and, if it shows training runs, their metric.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from transformer_dynamics.scan_and_snap.experiments import Metric, PositiveList
from transformer_dynamics.strict import Strict, distinct

Positive = Annotated[float, Field(gt=0)]
Points = Annotated[int, Field(ge=2)]
Size = Annotated[int, Field(ge=4)]

Iterations = Annotated[
    list[Annotated[int, Field(ge=0)]], Field(min_length=2), AfterValidator(distinct)
]


class FromTheory(Strict):
    """A figure that shows no training runs."""

    program: ClassVar[str] = "scan_and_snap.stages.theory"
    metric: ClassVar[Metric | None] = None


class FromRuns(Strict):
    """A figure that shows one metric of an experiment."""

    program: ClassVar[str] = "scan_and_snap.stages.tabulate"
    metric: ClassVar[Metric]
    experiment: str
    """Name of the experiment that is drawn."""


class Fig1(FromTheory):
    """The model, and two sequence classes with their conditional probabilities."""

    drawing: Literal["fig1"]
    """Which drawing."""
    mixture: str
    """Name of the mixture whose first two classes are drawn."""


class Fig2(FromRuns):
    """Unnormalised attention of a run at the times that the theory singles out."""

    metric: ClassVar[Metric] = "unnormalised_attention"
    drawing: Literal["fig2"]
    """Which drawing."""
    seed: int
    """The seed that is drawn."""
    sequence_class: int = Field(ge=1)
    """Sequence class n = 1, 2, ... that is drawn."""
    frozen_after: float = Field(default=4, gt=1)
    """Time of the last stage, in units of t_0."""


class Fig3(FromTheory):
    """Growth factor against time, Theorem 4."""

    drawing: Literal["fig3"]
    """Which drawing."""
    num_classes: int = Field(ge=1)
    """K."""
    vocabulary_size: Size
    """M."""
    eta_z: Positive
    """Learning rate of Z."""
    eta_y: PositiveList
    """Learning rates of Y, a curve each."""
    c0: Positive
    """C_0 = rho_0^4/K, which the paper does not state."""
    last_time: Positive
    """End of the time axis, in updates."""
    points: Points = 281
    """Drawn points per curve."""


class Fig8Panel(Strict):
    """One panel of Figure 8."""

    vocabulary_size: Size
    """M."""
    eta_y: PositiveList
    """Learning rates of Y, a curve each."""
    last_step: int = Field(ge=1)
    """Number of updates."""


class Fig8(FromTheory):
    """h*(s) of the updates and h(s) of the continuous dynamics."""

    drawing: Literal["fig8"]
    """Which drawing."""
    panels: list[Fig8Panel] = Field(min_length=1)
    """Panels from left to right."""


class Fig9Panel(Strict):
    """One panel of Figure 9."""

    vocabulary_size: Size
    """M."""
    nu: Positive
    """eta_Y / eta_Z, the same for all curves."""
    eta_z: PositiveList
    """Learning rates of Z, a curve each."""
    last_time: Positive
    """End of the time axis, in updates."""


class Fig9(FromTheory):
    """B_n(t) at fixed nu."""

    drawing: Literal["fig9"]
    """Which drawing."""
    num_classes: int = Field(ge=1)
    """K, which the paper does not state."""
    c0: Positive
    """C_0, which the paper does not state."""
    panels: list[Fig9Panel] = Field(min_length=1)
    """Panels from left to right."""
    points: Points = 251
    """Drawn points per curve."""


class Fig4(FromRuns):
    """Heat maps of the attention c_n along training with SGD, one column per cell."""

    metric: ClassVar[Metric] = "attention"
    drawing: Literal["fig4"]
    """Which drawing."""
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


class Fig5(FromRuns):
    """Heat maps of part of the attention c_n along training with Adam, one panel per rate."""

    metric: ClassVar[Metric] = "attention"
    drawing: Literal["fig5"]
    """Which drawing."""
    seed: int
    """The seed that is drawn."""
    iterations: Iterations
    """Numbers of updates that are drawn; the last one is called final."""
    boundaries: list[Annotated[int, Field(ge=1)]] = []
    """Token ids at which a new group of tokens begins, marked by a line."""
    sequence_class: int = Field(ge=1)
    """Sequence class n = 1, 2, ... that is drawn, on its own support."""


class Fig6(FromRuns):
    """Mean entropy of the attention on distinct tokens against eta_Y / eta_Z."""

    metric: ClassVar[Metric] = "entropy"
    drawing: Literal["fig6"]
    """Which drawing."""
    next_tokens_per_query: int = Field(default=2, ge=1)
    """Of every mixture of the experiment, for the titles of the panels."""
    published: str | None = None
    """Path of a table of published values (num_last, eta_z, ratio, entropy_mean, entropy_std)."""


class Fig11(FromRuns):
    """Recall of distinct tokens against the attention threshold, a row per mixture."""

    metric: ClassVar[Metric] = "recall"
    drawing: Literal["fig11"]
    """Columns are eta_Z, curves are ratios."""
    next_tokens_per_query: int = Field(default=2, ge=1)
    """Of every mixture of the experiment, for the titles of the panels."""


class Fig12(FromRuns):
    """Recall of distinct tokens against the attention threshold, a row per mixture."""

    metric: ClassVar[Metric] = "recall"
    drawing: Literal["fig12"]
    """Columns are ratios, curves are eta_Z."""
    next_tokens_per_query: int = Field(default=2, ge=1)
    """Of every mixture of the experiment, for the titles of the panels."""


class TheoryVsTraining(FromRuns):
    """B_n(t), relative gain and growth factor: theory, population flow and training."""

    program: ClassVar[str] = "scan_and_snap.stages.compare"
    metric: ClassVar[Metric] = "growth"
    drawing: Literal["theory_vs_training"]
    """One column per ratio."""


class PhaseTransition(FromRuns):
    """When the growth of distinct tokens turns in training, against the theory's times."""

    program: ClassVar[str] = "scan_and_snap.stages.compare"
    metric: ClassVar[Metric] = "growth"
    drawing: Literal["phase_transition"]
    """One marker per mixture."""


class Errata(FromRuns):
    """Where the paper's own statements do not hold: findings A, B and C."""

    program: ClassVar[str] = "scan_and_snap.stages.errata"
    metric: ClassVar[Metric] = "entropy"
    drawing: Literal["errata"]
    """Which drawing."""
    num_classes: int = Field(ge=2)
    """K of finding A."""
    vocabulary_size: Size
    """M of finding A."""
    correlations: list[Annotated[float, Field(gt=0, lt=1)]] = Field(min_length=1)
    """rho = f_n.f_n' of finding A, equal for all pairs."""
    passes: int = Field(ge=1)
    """Length of finding A, in updates of each class at eta_Y = 1."""
    num_last: list[Annotated[int, Field(ge=1)]] = Field(min_length=1)
    """Numbers of query tokens of finding B, two next tokens each."""
    eta_z: Positive
    """Learning rate of Z of the runs shown for finding C."""
    first_update: int = Field(default=100, ge=1)
    """Where finding C begins: the paper's number of updates."""


class SensitivityTable(Strict):
    """Verdicts of the empirical claims under every variant of the experiments."""

    program: ClassVar[str] = "scan_and_snap.stages.sensitivity"
    metric: ClassVar[Metric | None] = None
    drawing: Literal["sensitivity"]
    """Which drawing."""


FigureSettings = Annotated[
    Fig1
    | Fig2
    | Fig3
    | Fig4
    | Fig5
    | Fig6
    | Fig8
    | Fig9
    | Fig11
    | Fig12
    | TheoryVsTraining
    | PhaseTransition
    | Errata
    | SensitivityTable,
    Field(discriminator="drawing"),
]


def parse_figure(text: str) -> FigureSettings:
    """Read the settings of any figure from JSON.

    Raises:
        InputError: names what is wrong.
    """
    return _AnyFigure.parse_json(f'{{"figure": {text}}}', "--figure").figure


class _AnyFigure(Strict):
    figure: FigureSettings
