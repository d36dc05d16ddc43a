"""Predictions from many draws of the noise: which rule chooses best."""

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from replication.study.contract import Figure, Measured
from transformer_dynamics.recurrent_attention.measure_settings import MeasureJob, Votes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

RULES = {
    "single": "one draw",
    "energy": "least energy,\nsum over $t$",
    "last energy": "least energy,\nlast $t$",
    "majority": "majority\nof each cell",
    "any": "any draw\n(the limit)",
}
"""Rules in the order in which they are drawn, and their names; the first is what all gain over."""
SHIFT = 0.2
"""Of the seeds' dots from their mean; rules are 1 apart."""


class VotesFigure(Figure):
    """What every rule gains over one draw, by seed."""

    title: ClassVar[str] = "Recurrent attention: votes by pseudo-energy"
    columns: ClassVar[tuple[str, ...]] = (
        "scale", "draws", "seed", "rule", "solved", "solved_mean", "gain", "gain_mean",
        "gain_lower", "gain_upper",
    )  # fmt: skip
    drawing: Literal["votes"]
    """Which drawing."""
    condition: str
    """Name of the condition that is drawn."""
    confidence: float = Field(default=0.95, gt=0, lt=1)
    """Of the intervals."""

    def sources(self) -> list[tuple[str, str]]:
        """The one table."""
        return [(self.condition, "votes")]


def table(figure: VotesFigure, measured: Measured[MeasureJob[Votes]]) -> "pd.DataFrame":
    """Every seed by every rule, and means over seeds.

    `gain` is what a rule solves more than one draw of the same seed does on average; its lower and
    upper end are those of the mean's t interval, and are missing where there is but one seed.
    """
    order = {rule: place for place, rule in enumerate(RULES)}
    place = measured.table["rule"].map(order)
    rows = measured.table.assign(place=place).sort_values(["place", "seed"])
    single = rows[rows["rule"] == "single"].set_index("seed")["solved"]
    rows = rows.assign(gain=rows["solved"] - rows["seed"].map(single))
    gains = rows.groupby("rule")["gain"]
    rows = rows.assign(
        scale=measured.job.train.boards.size,
        draws=measured.job.how.draws,
        solved_mean=rows.groupby("rule")["solved"].transform("mean"),
        gain_mean=gains.transform("mean"),
        gain_lower=gains.transform(lambda own: _interval(own, figure.confidence)[0]),
        gain_upper=gains.transform(lambda own: _interval(own, figure.confidence)[1]),
    )
    return rows[list(figure.columns)].reset_index(drop=True)


def _interval(gains: "pd.Series", confidence: float) -> tuple[float, float]:
    from replication.judge.statistics import t_interval

    if len(gains) < 2:
        return float("nan"), float("nan")
    lower, upper = t_interval(gains, confidence)
    return lower, upper


def draw(figure: VotesFigure, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Gains over one draw: means with intervals, a dot per seed; right the limit on its own scale.

    What any draw solves is several times what rules gain, which could not be seen beside it.
    """
    import matplotlib.pyplot as plt

    from replication.figures.style import WIDTH, category_styles

    _, *rules = RULES
    drawing, panels = plt.subplots(
        1, 2, figsize=(WIDTH, 2.6), width_ratios=[len(rules) - 1, 1], layout="constrained"
    )
    styles = category_styles(rules)
    for axes, shown in zip(panels, (styles[:-1], styles[-1:]), strict=True):
        axes.axhline(0, color="0.5", linewidth=0.6, zorder=0)
        for place, (rule, style) in enumerate(shown):
            rows = table[table["rule"] == rule]
            axes.scatter(
                [place + SHIFT] * len(rows), rows["gain"], s=10, color=style.colour, alpha=0.5,
                linewidths=0,
            )  # fmt: skip
            axes.vlines(place, *rows[["gain_lower", "gain_upper"]].iloc[0], color=style.colour)
            axes.plot(
                [place], rows["gain_mean"].iloc[:1], color=style.colour, marker=style.marker,
                markersize=5,
            )  # fmt: skip
        axes.set_xticks(range(len(shown)), [RULES[rule] for rule, _ in shown])
        axes.set_xlim(-0.5, len(shown) - 0.5)
    panels[0].set_ylabel("Solved boards,\ngain over one draw")
    return drawing
