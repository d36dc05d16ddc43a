"""Spectral norms against their bounds: Proposition 5.1, large steps, attention's own Jacobian."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.figures.panels import legend_below, make_panels
from replication.study.contract import Figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

PANELS = {
    "radius": ("Proposition 5.1", r"radius $R$"),
    "eta": (r"large steps", r"step $\eta$"),
    "coupling": ("bound of $J_{MSA}$", r"coupling $a$"),
}
CURVES = {
    "norm": ("norm", "-", 0),
    "printed": ("bound as printed", "--", 1),
    "corrected": ("bound that is derived here", "-.", 2),
}


class Bounds(Figure):
    """Norms and their bounds along the quantities on which they depend."""

    title: ClassVar[str] = "Recurrent attention: spectral norms and their bounds"
    columns: ClassVar[tuple[str, ...]] = ("kind", "x", "norm", "printed", "corrected")
    kind: Literal["bounds"]
    """Kind of the figure."""


def table(figure: Bounds) -> "pd.DataFrame":
    """Return a norm and its bounds by the x of its panel; NaN where a bound says nothing.

    `radius`: R = min |x_i + eta DX_i| grows with C. `eta`: as printed is Proposition 5.1 with the R
    of every eta, derived here is the form without R; `limit` is the norm for eta -> infinity.
    `coupling`: three tokens of one channel.
    """
    import numpy as np
    import pandas as pd

    from transformer_dynamics.recurrent_attention.claims.bounds import (
        change_eta,
        coupled_tokens,
        random_case,
    )
    from transformer_dynamics.recurrent_attention.theory.bounds import (
        attention_bound,
        large_step_bound,
        large_step_limit,
        proposition_5_1,
        shortest_length,
    )
    from transformer_dynamics.recurrent_attention.theory.recurrence import drive

    rows = []
    case = random_case(9, 16, 1, 0)
    for factor in np.geomspace(1, 300, 25):
        here = case._replace(inputs=float(factor) * case.inputs)
        change = drive(here.model, here.weights, here.tokens, here.inputs)
        radius = float(shortest_length(here.tokens + change))
        rows.append(("radius", radius, *map(float, proposition_5_1(*here[1:])), np.nan))
    change = drive(case.model, case.weights, case.tokens, case.inputs)
    least = float(case.parameters["gamma"].abs().max() / shortest_length(change))
    for eta in np.geomspace(1e-2, 1e4, 61).tolist():
        longer = change_eta(case, eta)[1:]
        # Just above the least eta the bound is of no use, and out of the picture.
        derived = float(large_step_bound(*longer).bound) if eta > 1.1 * least else np.nan
        rows.append(("eta", eta, *map(float, proposition_5_1(*longer)), derived))
    limit = float(large_step_limit(*case[1:]))
    rows.extend(("limit", eta, limit, np.nan, np.nan) for eta in (1e-2, 1e4))
    for coupling in np.geomspace(1, 1000, 25).tolist():
        printed, squared = (
            attention_bound(*coupled_tokens(coupling), printed=printed) for printed in (True, False)
        )
        bounds = float(printed.bound), float(squared.bound)
        rows.append(("coupling", coupling, float(printed.norm), *bounds))
    return pd.DataFrame(rows, columns=list(figure.columns))


def draw(figure: Bounds, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw three panels with both axes logarithmic; dots: the limit for long steps."""
    from replication.figures.style import CATEGORIES

    drawing, [row] = make_panels(1, len(PANELS), 2.4)
    for axes, (kind, (title, label)) in zip(row, PANELS.items(), strict=True):
        rows = table[table["kind"] == kind]
        for column, (_, line, colour) in CURVES.items():
            if rows[column].notna().any():
                axes.plot(rows["x"], rows[column], line, color=CATEGORIES[colour])
        axes.set(xscale="log", yscale="log", xlabel=label, title=title)
    limit = table[table["kind"] == "limit"]
    row[1].plot(limit["x"], limit["norm"], ":", color="0.2", linewidth=1)
    row[0].set_ylabel("spectral norm")
    for name, line, colour in CURVES.values():
        row[0].plot([], [], line, color=CATEGORIES[colour], label=name)
    row[0].plot([], [], ":", color="0.2", linewidth=1, label=r"limit $\eta\to\infty$")
    legend_below(drawing, columnspacing=1.2)
    return drawing
