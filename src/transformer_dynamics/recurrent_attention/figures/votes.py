"""Predictions from many draws of the noise: which rule chooses best."""

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from replication.figures.panels import legend_below, make_panels
from replication.study.contract import Measured
from transformer_dynamics.recurrent_attention.figures.conditions import ConditionFigure
from transformer_dynamics.recurrent_attention.settings.metrics import MetricJob, Votes

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
"""Names of the rules in the order in which they are drawn; all gain over the first."""
SHIFT = 0.2
"""Distance of the seeds' dots from their mean; rules are 1 apart."""


class VotesFigure(ConditionFigure):
    """Gain of every rule over one draw, by seed."""

    metric: ClassVar[str] = "votes"
    title: ClassVar[str] = "Recurrent attention: votes by pseudo-energy"
    columns: ClassVar[tuple[str, ...]] = (
        "scale", "draws", "seed", "rule", "solved", "solved_mean", "gain", "gain_mean",
        "gain_lower", "gain_upper",
    )  # fmt: skip
    kind: Literal["votes"]
    """Kind of the figure."""
    joined: list[str] = []
    """Names of conditions that differ from it in their seeds alone, drawn with it."""
    confidence: float = Field(default=0.95, gt=0, lt=1)
    """Confidence of the intervals."""

    def sources(self) -> list[tuple[str, str]]:
        """Return the votes of every condition."""
        return [(name, self.metric) for name in (self.condition, *self.joined)]


def table(figure: VotesFigure, *measured: Measured[MetricJob[Votes]]) -> "pd.DataFrame":
    """Return accuracy and gain of every seed by every rule, and means over seeds.

    `gain` is the share of a rule minus the average share of one draw of the same seed. Its ends are
    those of the mean's t interval, missing where there is but one seed.
    """
    import pandas as pd

    from replication.judge.statistics import add_intervals

    job = measured[0].job
    rows = pd.concat([each.table for each in measured], ignore_index=True)
    order = {rule: place for place, rule in enumerate(RULES)}
    rows = rows.assign(place=rows["rule"].map(order)).sort_values(["place", "seed"])
    single = rows[rows["rule"] == "single"].set_index("seed")["solved"]
    rows = rows.assign(gain=rows["solved"] - rows["seed"].map(single))
    rows = add_intervals(rows.assign(value=rows["gain"]), ["rule"], figure.confidence)
    same = rows.groupby("rule")
    return rows.assign(
        scale=job.train.boards.size,
        draws=job.settings.draws,
        solved_mean=same["solved"].transform("mean"),
        gain_mean=same["gain"].transform("mean"),
    ).rename(columns={"lower": "gain_lower", "upper": "gain_upper"})[list(figure.columns)]


def draw(figure: VotesFigure, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw gains over one draw: means with intervals, a dot per seed, the limit on its own scale.

    The limit is several times the gain of any rule, which could not be seen beside it.
    """
    from replication.figures.style import category_styles
    from replication.figures.typeset import seed_count

    _, *rules = RULES
    drawing, [panels] = make_panels(1, 2, 2.8, width_ratios=[len(rules) - 1, 1])
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
            axes.plot([place], rows["gain_mean"].iloc[:1], **style.look, markersize=5)
        axes.set_xticks(range(len(shown)), [RULES[rule] for rule, _ in shown])
        axes.set_xlim(-0.5, len(shown) - 0.5)
    panels[0].set_ylabel("Solved boards,\ngain over one draw")
    seeds, percent = seed_count(table["seed"]), f"{100 * figure.confidence:g} %"
    legend_below(drawing, [], f"means of {seeds} (dots) with {percent} t intervals")
    return drawing
