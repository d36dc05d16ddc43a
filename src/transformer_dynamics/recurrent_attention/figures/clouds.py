"""Eigenvalues of a step with and without normalisation, at equal weights and equal training."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.study.contract import Figure, Measured
from replication.study.seeds import Seed
from transformer_dynamics.recurrent_attention.figures.conditions import count_outside, draw_clouds
from transformer_dynamics.recurrent_attention.settings.metrics import MetricJob, Spectrum

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

WITH, WITHOUT = "trained with it", "trained without it"
"""Names of the weights."""
TITLES = {
    (WITH, True): "normalized",
    (WITH, False): "same weights and tokens,\nnormalization removed",
    (WITHOUT, False): "trained as long without",
}
"""Titles of panels, by weights and normalisation of the step."""


class Clouds(Figure):
    """Eigenvalues of a step with normalisation, after its removal, and trained without."""

    title: ClassVar[str] = "Recurrent attention: what normalization does to eigenvalues"
    columns: ClassVar[tuple[str, ...]] = (
        "weights", "normalised", "seed", "board", "re", "im", "outside",
    )  # fmt: skip
    kind: Literal["clouds"]
    """Kind of the figure."""
    normalised: str
    """Name of the condition that is normalised."""
    unnormalised: str
    """Name of the same one without."""
    seed: Seed
    """Seed of the run."""
    board: int = 0
    """Number of the board, from 0."""

    def sources(self) -> list[tuple[str, str]]:
        """Return the eigenvalues of both."""
        return [(self.normalised, "spectrum"), (self.unnormalised, "spectrum")]


def table(
    figure: Clouds,
    normalised: Measured[MetricJob[Spectrum]],
    unnormalised: Measured[MetricJob[Spectrum]],
) -> "pd.DataFrame":
    """Return all eigenvalues along one board of one seed; `outside` counts those not in view."""
    import pandas as pd

    both = [normalised.table.assign(weights=WITH), unnormalised.table.assign(weights=WITHOUT)]
    whole = pd.concat(both, ignore_index=True)
    shown = (whole["seed"] == figure.seed) & (whole["board"] == figure.board)
    rows = whole[shown].reset_index(drop=True)
    for _, panel in rows.groupby(["weights", "normalised"]):
        rows.loc[panel.index, "outside"] = count_outside(panel["re"], panel["im"])
    return rows.astype({"outside": int})[list(figure.columns)]


def draw(figure: Clouds, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw three panels on one scale, with the unit circle."""
    parts = table.set_index(["weights", "normalised"])
    return draw_clouds(
        [(title, parts.loc[[key]]) for key, title in TITLES.items() if key in parts.index]
    )
