"""Moduli of eigenvalues of a loop with and without normalisation, at equal weights and training."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.figures.panels import legend_below, make_panels
from replication.study.contract import Figure, Measured
from replication.study.seeds import Seed
from transformer_dynamics.recurrent_attention.figures.conditions import (
    condition_styles,
    count_outside,
    draw_cloud,
)
from transformer_dynamics.recurrent_attention.settings.metrics import MetricJob, Spectrum

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

WITH, WITHOUT = "trained with it", "trained without it"
"""Names of the weights."""
REMOVED = (WITH, False)
"""Weights that were trained with normalisation, in a loop without it."""
TITLES = {
    (WITH, True): "trained with it, normalised",
    REMOVED: "the same weights and tokens, not normalised",
    (WITHOUT, False): "trained as long without it",
}
"""Names of curves, by weights and normalisation of the loop."""


class Clouds(Figure):
    """Eigenvalues of a loop with normalisation, after its removal, and trained without."""

    title: ClassVar[str] = "Recurrent attention: what normalisation does to eigenvalues"
    columns: ClassVar[tuple[str, ...]] = (
        "weights", "normalised", "seed", "board", "re", "im", "outside", "modulus", "larger",
    )  # fmt: skip
    kind: Literal["clouds"]
    """Kind of the figure."""
    normalised: str
    """Name of the condition that is normalised."""
    unnormalised: str
    """Name of the condition that is like it but not normalised."""
    seed: Seed
    """Seed of the run."""
    board: int = 0
    """Number of the board, from 0."""

    def sources(self) -> list[tuple[str, str]]:
        """Return the eigenvalues of both conditions."""
        return [(self.normalised, "spectrum"), (self.unnormalised, "spectrum")]


def table(
    figure: Clouds,
    normalised: Measured[MetricJob[Spectrum]],
    unnormalised: Measured[MetricJob[Spectrum]],
) -> "pd.DataFrame":
    """Return all eigenvalues along one board of one seed; `outside` counts those not in view.

    `larger` is the share of a loop's eigenvalues whose modulus is at least as large.
    """
    import pandas as pd

    both = [normalised.table.assign(weights=WITH), unnormalised.table.assign(weights=WITHOUT)]
    whole = pd.concat(both, ignore_index=True)
    shown = (whole["seed"] == figure.seed) & (whole["board"] == figure.board)
    rows = whole[shown].reset_index(drop=True)
    for _, panel in rows.groupby(["weights", "normalised"]):
        rows.loc[panel.index, "outside"] = count_outside(panel["re"], panel["im"])
    return add_moduli(rows.astype({"outside": int}), normalised.job)[list(figure.columns)]


def add_moduli(rows: "pd.DataFrame", job: MetricJob[Spectrum]) -> "pd.DataFrame":
    """Add the modulus of each eigenvalue, and the share of its loop's that are as large.

    Where only the largest are kept, those of large imaginary part alone have no share.
    """
    import numpy as np

    rows = rows.assign(modulus=np.hypot(rows["re"], rows["im"]))
    moduli = rows.groupby(["weights", "normalised"])["modulus"]
    rank = moduli.rank(ascending=False, method="max")
    kept = rank <= (job.settings.largest or job.train.rows)
    return rows.assign(larger=(rank / job.train.rows).where(kept))


def draw(figure: Clouds, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw the eigenvalues that removal alone gives left, the moduli of all three loops right."""
    drawing, [[left, right]] = make_panels(1, 2, 3.1, width_ratios=[1.1, 1])
    parts = table.set_index(["weights", "normalised"])
    styles = condition_styles([figure.normalised, figure.unnormalised])
    colours = {
        (WITH, True): styles[figure.normalised].colour,
        REMOVED: (0.2, 0.2, 0.2),
        (WITHOUT, False): styles[figure.unnormalised].colour,
    }
    lines = dict(zip(TITLES, ("-", "--", "-."), strict=True))
    draw_cloud(left, parts.loc[[REMOVED]], "Normalisation removed", colours[REMOVED])
    for key, name in TITLES.items():
        if key in parts.index:
            rows = parts.loc[[key]].sort_values("modulus")
            look = {"color": colours[key], "linestyle": lines[key]}
            right.plot(rows["modulus"], rows["larger"], label=name, **look)
    right.axvline(1, color="0.4", linewidth=0.7, linestyle="--", zorder=0)
    right.set(xlabel=r"modulus $|\lambda|$", ylabel="Share of eigenvalues that are larger")
    right.set(xscale="log", xlim=(0.05, None), ylim=(0, 1.02), title="All three loops")
    title = f"one board of seed {figure.seed}; thin dashes: unit circle"
    legend_below(drawing, title=title, ncols=1)
    return drawing
