"""What normalisation does to the eigenvalues of a step, at equal weights and at equal training."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.study.contract import Figure, Measured
from replication.study.seeds import Seed
from transformer_dynamics.recurrent_attention.figures.conditions import clouds, outside
from transformer_dynamics.recurrent_attention.measure_settings import MeasureJob, Spectrum

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

WITH, WITHOUT = "trained with it", "trained without it"
"""Which weights."""
TITLES = {
    (WITH, True): "normalized",
    (WITH, False): "same weights and tokens,\nnormalization removed",
    (WITHOUT, False): "trained as long without",
}
"""Of panels, by weights and whether the step is normalised."""


class Clouds(Figure):
    """Eigenvalues of a step with normalisation, after its removal, and trained without."""

    title: ClassVar[str] = "Recurrent attention: what normalization does to eigenvalues"
    columns: ClassVar[tuple[str, ...]] = (
        "weights", "normalised", "seed", "board", "re", "im", "outside",
    )  # fmt: skip
    drawing: Literal["clouds"]
    """Which drawing."""
    normalised: str
    """Name of the condition that is normalised."""
    unnormalised: str
    """Name of the same one without."""
    seed: Seed
    """Which run."""
    board: int = 0
    """Which board."""

    def sources(self) -> list[tuple[str, str]]:
        """The eigenvalues of both."""
        return [(self.normalised, "spectrum"), (self.unnormalised, "spectrum")]


def table(
    figure: Clouds,
    normalised: Measured[MeasureJob[Spectrum]],
    unnormalised: Measured[MeasureJob[Spectrum]],
) -> "pd.DataFrame":
    """All eigenvalues along one board of one seed; `outside` of a panel's are not in the view."""
    import pandas as pd

    both = [normalised.table.assign(weights=WITH), unnormalised.table.assign(weights=WITHOUT)]
    whole = pd.concat(both, ignore_index=True)
    shown = (whole["seed"] == figure.seed) & (whole["board"] == figure.board)
    rows = whole[shown].reset_index(drop=True)
    for _, panel in rows.groupby(["weights", "normalised"]):
        rows.loc[panel.index, "outside"] = outside(panel["re"], panel["im"])
    return rows.astype({"outside": int})[list(figure.columns)]


def draw(figure: Clouds, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Three panels on one scale, with the unit circle."""
    parts = table.set_index(["weights", "normalised"])
    return clouds(
        [(title, parts.loc[[key]]) for key, title in TITLES.items() if key in parts.index]
    )
