"""Energies along the flows of Propositions 4.1 and 4.2: where they rise, and where they cannot."""

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from replication.figures.panels import legend_below, make_panels
from replication.study.contract import Figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

    from transformer_dynamics.recurrent_attention.theory.energy import State

AS_STATED, SYMMETRIC = "as stated", "symmetric"
"""Weights that meet a proposition's conditions, and the same W^V with A = W^V."""
ENDS = {"K1": 6.0, "K2": 2.7, "random": 2.0}
"""Last time of each case; without projection the flow of K2 leaves every bound later."""
FARTHEST = 10
"""Depth below its start to which an energy is followed, over the largest rise of its case."""
DEEPEST = 1.5
"""Depth below zero that a panel shows, over the largest value above."""


class Energies(Figure):
    """Energy and its rate over time in three states that meet the propositions' conditions."""

    title: ClassVar[str] = "Recurrent self-attention: energies that rise"
    columns: ClassVar[tuple[str, ...]] = ("case", "weights", "t", "energy", "rise", "rate")
    kind: Literal["energies"]
    """Kind of the figure."""
    scale: float = Field(default=4.0, gt=0, le=100)
    """Scale s of the random A = s (K + e S)."""
    share: float = Field(default=0.1, ge=0, le=1)
    """Share e of the symmetric part."""
    seeds: int = Field(default=200, ge=1, le=10_000)
    """Number of seeds among which the draw is chosen whose energy rises fastest."""
    points: int = Field(default=150, ge=2, le=1000)
    """Approximate number of drawn points per curve."""


def table(figure: Energies) -> "pd.DataFrame":
    """Return energy, rise since t = 0 and dE/dt, a row per case, weights and time."""
    import pandas as pd

    from transformer_dynamics.recurrent_attention.theory.energy import (
        STEP,
        counterexample_k1,
        counterexample_k2,
        integrate_flow,
    )

    starts = {"K1": counterexample_k1(), "K2": counterexample_k2(), "random": _fastest_draw(figure)}
    tables = []
    for case, start in starts.items():
        every = max(1, round(ENDS[case] / STEP / figure.points))
        path = integrate_flow(_add_control(start), ENDS[case])
        for index, weights in enumerate((AS_STATED, SYMMETRIC)):
            energy, rate = path.energy[::every, index], path.rate[::every, index]
            columns = {"t": path.t[::every], "energy": energy, "rate": rate}
            rows = pd.DataFrame(columns).assign(case=case, weights=weights)
            tables.append(rows.assign(rise=energy - energy[0]))
    table = pd.concat(tables, ignore_index=True)[list(figure.columns)]
    largest = table["case"].map(table.groupby("case")["rise"].max())
    near = (table["rise"] >= -FARTHEST * largest) | (largest == 0)
    return table[near].reset_index(drop=True)


def _add_control(start: "State") -> "State":
    """Return two states side by side: as stated, and with A = W^V."""
    import numpy as np

    from transformer_dynamics.recurrent_attention.theory.energy import symmetrise_scores

    attention, even = start.attention, symmetrise_scores(start).attention
    scores = np.stack([attention.scores, even.scores])
    return start._replace(
        tokens=np.stack([start.tokens] * 2), attention=attention._replace(scores=scores)
    )


def _fastest_draw(figure: Energies) -> "State":
    """Return the draw of Proposition 4.1 with the largest dE/dt at t = 0."""
    from transformer_dynamics.recurrent_attention.theory.energy import (
        State,
        energy_rate,
        random_single_head,
    )

    drawn = random_single_head(range(figure.seeds), figure.scale, figure.share)
    index = energy_rate(*drawn).argmax()
    scores, values = (part[index] for part in drawn.attention[:2])
    return State(drawn.tokens[index], drawn.attention._replace(scores=scores, values=values))


def draw(figure: Energies, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw a column per case: rise of the energy above, rate below, shaded where it rises."""
    from replication.figures.style import CATEGORIES

    drawing, panels = make_panels(2, 3, 3.3, sharex="col")
    titles = {
        "K1": "K1 (Proposition 4.1)", "K2": "K2 (Proposition 4.2)",
        "random": "random (Proposition 4.1)",
    }  # fmt: skip
    styles = {
        AS_STATED: ("-", CATEGORIES[1], r"$W^V=(A+A^\top)/2$, as the propositions ask"),
        SYMMETRIC: ("--", CATEGORIES[0], r"the same $W^V$, $A=W^V$"),
    }
    for column, (case, title) in zip(panels.T, titles.items(), strict=True):
        rows = table[table["case"] == case]
        stated = rows[rows["weights"] == AS_STATED]
        for axes, quantity in zip(column, ("rise", "rate"), strict=True):
            for weights, (line, colour, label) in styles.items():
                curve = rows[rows["weights"] == weights]
                axes.plot(curve["t"], curve[quantity], line, color=colour, label=label)
            above = stated[quantity].clip(lower=0)
            axes.fill_between(stated["t"], 0, above, color=CATEGORIES[1], alpha=0.15, lw=0)
            axes.axhline(0, color="black", linewidth=0.6)
            axes.set_ylim(*_panel_limits(rows, quantity))
        column[0].set_title(title)
        column[1].set(xlabel="$t$", xlim=(0, stated["t"].max()))
    panels[0, 0].set_ylabel("$E(t)-E(0)$")
    panels[1, 0].set_ylabel(r"$\mathrm{d}E/\mathrm{d}t$")
    drawing.align_ylabels(panels[:, 0])
    legend_below(drawing)
    return drawing


def _panel_limits(rows: "pd.DataFrame", quantity: str) -> tuple[float, float]:
    """Return limits of a panel: all above zero, below it as much as can be read, every start."""
    lowest, highest = rows[quantity].min(), rows[quantity].max()
    if highest <= 0:
        return 1.1 * lowest, -0.1 * lowest
    starts = rows.groupby("weights")[quantity].first()
    return 1.1 * max(lowest, DEEPEST * min(-highest, starts.min())), 1.1 * highest
