"""The figure of sensitivity: verdicts on claims under every variant that a paper leaves open."""

import textwrap
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from replication.figures.panels import legend_below, wrap_panels
from replication.study.contract import Figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from replication.judge.verdicts import Verdict


NO_EFFECT_LEFT = "no effect left"
STYLES = {
    "verified": ("o", "#0072b2"),
    "reproduced": ("o", "#0072b2"),
    "replicated": ("o", "#0072b2"),
    "in part": ("D", "#e69f00"),
    "does not hold": ("X", "#d55e00"),
    NO_EFFECT_LEFT: ("P", "#cc79a7"),
    "open": ("s", "#7f7f7f"),
    "not tested": ("*", "#000000"),
}
"""Outcome to marker and colour of its dot."""
ACROSS, LETTERS, LINE_HEIGHT, AROUND = 3, 87, 0.108, 10
"""Panels beside each other, letters in a line above all of them, height of a line in inches, and
lines above and below a panel's rows."""
LEGEND = """\
Across: the quantity of the claim. Dot: median estimate of its comparisons.
Beside it: how many of them hold. =: the variant changes nothing here.
A claim's verdict may differ from its first row: it has other seeds, or is corrected with other
claims. Not tested: no estimate, too few seeds, or seeds that all give one value."""


class Sensitivity(Figure):
    """Verdicts of the claims that are judged under every variant of the experiments."""

    title: ClassVar[str] = "Verdicts under every variant of the experiments"
    is_costly: ClassVar[bool] = True
    columns: ClassVar[tuple[str, ...]] = (
        "claim", "statement", "expected", "variant", "as_baseline", "verdict", "outcome",
        "comparisons", "holding", "estimate", "effect", "seeds", "lower", "upper",
    )  # fmt: skip
    kind: Literal["sensitivity"]
    """Kind of the figure."""


def table(figure: Sensitivity, *verdicts: "Verdict", cells: list[dict[str, Any]]) -> "pd.DataFrame":
    """Return one row per claim and variant, given one verdict per cell.

    A cell has claim, statement, expectation and variant; `as_baseline` is true if the variant
    changes nothing in the claim's experiments.

    `estimate` and `effect`, in standard deviations of one seed, are medians of comparisons;
    `lower` and `upper` are the ends of the range in which each of them has to lie.
    `outcome` is the verdict, except "no effect left" where no comparison holds, none says the
    opposite, one has no effect, and one holds in the experiments as they are, the first variant.
    """
    import pandas as pd

    found = pd.DataFrame([_row(*pair) for pair in zip(cells, verdicts, strict=True)])
    held = (found["holding"] > 0).groupby(found["claim"]).transform("first")
    outcome = found["verdict"].mask(held & found["is_lost"], NO_EFFECT_LEFT)
    return found.assign(outcome=outcome)[list(figure.columns)]


def _row(cell: dict[str, Any], verdict: "Verdict") -> dict[str, object]:
    """Return a row; `is_lost` if none holds or says the opposite, and one has no effect."""
    import pandas as pd

    names = ["estimate", "effect", "lower", "upper"]
    rows = [item.model_dump(include={*names}) for item in verdict.counted]
    numbers = pd.DataFrame(rows, columns=names, dtype=float)
    decisions = {item.decision for item in verdict.counted}
    return {
        **cell,
        **verdict.model_dump(include={"verdict", "seeds"}),
        **numbers[["estimate", "effect"]].median(),
        "comparisons": len(rows),
        "holding": verdict.holding,
        "lower": numbers["lower"].max(),
        "upper": numbers["upper"].min(),
        "is_lost": {"none"} <= decisions <= {"none", "less", "open"},
    }


def draw(figure: Sensitivity, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw a panel per claim, with a row per variant: its dot, and how many comparisons hold."""
    claims = [rows for _, rows in table.groupby("claim", sort=False)]
    height = LINE_HEIGHT * (table["variant"].nunique() + AROUND)
    across = min(len(claims), ACROSS)
    drawing, panels = wrap_panels(len(claims), across, height, LINE_HEIGHT * 7, sharey=True)
    for axes, rows in zip(panels.flat, claims, strict=False):
        _draw_claim(axes, rows, LETTERS // across)
    legend_below(
        drawing, title=LEGEND, ncols=4, columnspacing=1, handlelength=1.2, title_fontsize=6.5
    )
    return drawing


def _draw_claim(axes: "Axes", rows: "pd.DataFrame", letters: int) -> None:
    """Draw the needed range, and per variant the median estimate and the comparisons that hold."""
    places = range(len(rows))
    estimates = rows["estimate"].astype(float).mask(rows["as_baseline"])
    rows = rows.assign(place=places, estimate=estimates)
    for outcome, own in rows.groupby("outcome", sort=False):
        marker, colour = STYLES[str(outcome)]
        axes.plot(
            own["estimate"], own["place"], marker, color=colour, markeredgewidth=0, label=outcome
        )
    ends = rows[["lower", "upper"]].astype(float).iloc[0]
    for end in ends.dropna():
        axes.axvline(end, color="0.3", linewidth=0.8)
    axes.margins(x=0.12)
    least, most = axes.get_xlim()
    needed = ends.fillna({"lower": least, "upper": most})
    axes.axvspan(*needed, color="#e8f1e4", linewidth=0, label="needed range")
    axes.set(xlim=(least, most), ylim=(len(rows) - 0.4, -0.6))
    axes.set_yticks(places, rows["variant"])
    counts = rows["holding"].astype(str) + "/" + rows["comparisons"].astype(str)
    counts = counts.mask(rows["verdict"] == "not tested", "-").mask(rows["as_baseline"], "=")
    beside = axes.secondary_yaxis("right")
    beside.set_yticks(places, counts)
    for each in (axes, beside):
        each.tick_params(length=2, pad=1.5, labelsize=6.5)
        each.tick_params(axis="y", length=0)
    axes.locator_params(axis="x", nbins=4)
    axes.grid(axis="y", color="0.9", linewidth=0.5)
    claim, statement, expected = rows[["claim", "statement", "expected"]].iloc[0]
    lines = textwrap.wrap(f"{claim}  {statement} Expected: {expected}.", letters)
    axes.set_title("\n".join(lines), fontsize=6.5, loc="left", linespacing=1.1)
