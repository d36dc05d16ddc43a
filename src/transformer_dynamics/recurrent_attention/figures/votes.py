"""Predictions from many draws of the noise: which rule chooses best."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.study import Figure, Measured
from transformer_dynamics.recurrent_attention.measure_settings import MeasureJob, Votes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

RULES = {
    "single": "one draw,\non average",
    "energy": "least energy,\nsum over $t$",
    "last energy": "least energy,\nlast $t$",
    "majority": "majority\nof each cell",
    "any": "any draw\n(the limit)",
}
"""Rules in the order in which they are drawn, and their names."""


class VotesFigure(Figure):
    """Accuracy of every rule and seed."""

    title: ClassVar[str] = "Recurrent attention: votes by pseudo-energy"
    columns: ClassVar[tuple[str, ...]] = (
        "scale", "draws", "seed", "rule", "solved", "solved_mean",
    )  # fmt: skip
    drawing: Literal["votes"]
    """Which drawing."""
    condition: str
    """Name of the condition that is drawn."""

    def sources(self) -> list[tuple[str, str]]:
        """The one table."""
        return [(self.condition, "votes")]


def table(figure: VotesFigure, measured: Measured[MeasureJob[Votes]]) -> "pd.DataFrame":
    """Every seed by every rule, and the mean over seeds."""
    order = {rule: place for place, rule in enumerate(RULES)}
    place = measured.table["rule"].map(order)
    rows = measured.table.assign(place=place).sort_values(["place", "seed"])
    rows = rows.assign(
        scale=measured.job.train.boards.size,
        draws=measured.job.how.draws,
        solved_mean=rows.groupby("rule")["solved"].transform("mean"),
    )
    return rows[list(figure.columns)].reset_index(drop=True)


def draw(figure: VotesFigure, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """A dot per seed and rule, lines along seeds, a bar at the mean."""
    import matplotlib.pyplot as plt

    from replication.drawing import WIDTH, category_styles

    rules = list(table["rule"].unique())
    drawing, axes = plt.subplots(figsize=(WIDTH, 2.5), layout="constrained")
    for _, rows in table.groupby("seed"):
        axes.plot([rules.index(rule) for rule in rows["rule"]], rows["solved"], color=".8", lw=0.6)
    for place, (rule, style) in enumerate(category_styles(rules)):
        rows = table[table["rule"] == rule]
        axes.plot(
            [place] * len(rows), rows["solved"], color=style.colour, marker=style.marker,
            linestyle="none", clip_on=False,
        )  # fmt: skip
        axes.hlines(rows["solved_mean"].iloc[0], place - 0.2, place + 0.2, color="black", lw=1.2)
    axes.set_xticks(range(len(rules)), [RULES[rule] for rule in rules])
    axes.set(ylabel="Solved boards", xlim=(-0.4, len(rules) - 0.6), ylim=(0, 1.03))
    return drawing
