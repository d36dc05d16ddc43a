"""The figure of sensitivity: verdicts on claims under every variant that a paper leaves open."""

import re
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
SHADE = "#e8f1e4"
"""Colour of the needed range."""
LINE_LETTERS = {3: 29, 2: 48, 1: 100}
"""Number of panels beside each other to the number of letters in a line above one."""
LINE_HEIGHT = 0.108
"""Height of a line, in inches."""
AROUND = 3.4
"""Height of what is around a panel's rows, except the text above it, in lines."""
_SYMBOL = re.compile(r"(?<![\w$])([A-Za-z]+)_(\w{1,3})(?!\w)|(?<![\w$])([A-Za-z]+)(?!\w)")


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
    lost = held & pd.Series([_has_no_effect(verdict) for verdict in verdicts], dtype="bool")
    outcome = found["verdict"].mask(lost, NO_EFFECT_LEFT)
    return found.assign(outcome=outcome)[list(figure.columns)]


def _has_no_effect(verdict: "Verdict") -> bool:
    """Say whether no comparison holds or says the opposite, and one or more have no effect."""
    decisions = {item.decision for item in verdict.counted}
    return "none" in decisions and not decisions & {"holds", "fails"}


def _row(cell: dict[str, Any], verdict: "Verdict") -> dict[str, object]:
    import numpy as np

    known = {
        name: [value for item in verdict.counted if (value := getattr(item, name)) is not None]
        for name in ("estimate", "effect", "lower", "upper")
    }
    return {
        **cell,
        "verdict": verdict.verdict,
        "comparisons": len(verdict.counted),
        "holding": verdict.holding,
        **{
            name: float(np.median(known[name])) if known[name] else None
            for name in ("estimate", "effect")
        },
        "seeds": verdict.seeds,
        "lower": max(known["lower"], default=None),
        "upper": min(known["upper"], default=None),
    }


def draw(figure: Sensitivity, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw a panel per claim, with a row per variant: its dot, and how many comparisons hold."""
    claims = [rows for _, rows in table.groupby("claim", sort=False)]
    across = next((number for number in (3, 2) if len(claims) % number == 0), min(len(claims), 3))
    texts = [_lines(rows, LINE_LETTERS[across]) for rows in claims]
    lines = [max(map(len, texts[at : at + across])) for at in range(0, len(claims), across)]
    rows = table["variant"].nunique() + AROUND
    drawing, panels = wrap_panels(
        len(claims), across, LINE_HEIGHT * rows, LINE_HEIGHT * (sum(lines) + 5), sharey=True
    )
    for axes, of_claim, text in zip(panels.flat, claims, texts, strict=False):
        _draw_claim(axes, of_claim)
        title = "\n".join(map(_with_symbols, text))
        axes.set_title(title, fontsize=6.5, loc="left", linespacing=1.1)
    _draw_legend(drawing, table)
    return drawing


def _lines(rows: "pd.DataFrame", letters: int) -> list[str]:
    """Return the lines above a claim's panel."""
    claim, statement, expected = rows[["claim", "statement", "expected"]].iloc[0]
    return textwrap.wrap(f"{claim}  {statement} Expected: {expected}.", letters)


def _draw_claim(axes: "Axes", rows: "pd.DataFrame") -> None:
    """Draw the needed range, and per variant the median estimate and the comparisons that hold."""
    shown = rows[["estimate", "lower", "upper"]].astype(float)
    least, most = float(shown.min().min()), float(shown.max().max())
    beyond = 0.12 * (most - least) or 1.0
    least, most = least - beyond, most + beyond
    ends = shown[["lower", "upper"]].iloc[0]
    axes.axvspan(*ends.fillna({"lower": least, "upper": most}), color=SHADE, linewidth=0)
    for end in ends.dropna():
        axes.axvline(end, color="0.3", linewidth=0.8)
    for place, row in enumerate(rows.to_dict("records")):
        marker, colour = STYLES[row["outcome"]]
        judged = row["comparisons"] and row["verdict"] != "not tested"
        text = f"{row['holding']}/{row['comparisons']}" if judged else "-"
        if not row["as_baseline"]:
            axes.plot(row["estimate"], place, marker, color=colour, markersize=4, markeredgewidth=0)
        axes.text(
            1.03, place, "=" if row["as_baseline"] else text, fontsize=6, va="center_baseline",
            transform=axes.get_yaxis_transform(),
        )  # fmt: skip
    axes.set(xlim=(least, most), ylim=(len(rows) - 0.4, -0.6))
    axes.set_yticks(range(len(rows)), rows["variant"])
    axes.locator_params(axis="x", nbins=4)
    axes.tick_params(length=2, pad=1.5, labelsize=6.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", color="0.9", linewidth=0.5)


def _with_symbols(text: str) -> str:
    """Return a text with Greek letters, and letters with an index, as symbols."""
    from replication.figures.typeset import GREEK

    def symbol(match: re.Match[str]) -> str:
        letter = match[1] or match[3]
        if letter in GREEK:
            letter = f"\\{letter}"
        elif match[3] or len(letter) > 1:
            return match[0]
        return f"${letter}_{{{match[2]}}}$" if match[2] else f"${letter}$"

    return _SYMBOL.sub(symbol, text.replace("$", "\\$"))


def _draw_legend(drawing: "Drawing", table: "pd.DataFrame") -> None:
    """Draw the marks of the verdicts that occur, and explain dots, shade and counts."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    from replication.judge.citation import span

    outcomes = set(table["outcome"])
    untested = "\nNot tested: no estimate, too few seeds, or seeds that all give one value."
    handles = [
        Line2D([], [], marker=marker, color=colour, linestyle="none", label=outcome)
        for outcome, (marker, colour) in STYLES.items()
        if outcome in outcomes
    ]
    legend_below(
        drawing, [*handles, Patch(facecolor=SHADE, edgecolor="0.3", label="needed range")],
        columnspacing=1, handlelength=1.2, handletextpad=0.4, title_fontsize=6.5,
        title="Across: the quantity of the claim. Dot: median estimate of its comparisons, each on"
        f" {span(table['seeds'], 9)} seeds.\nBeside it: how many of them hold. "
        "=: the variant changes nothing here.\nA claim's verdict may differ from its first row: it"
        " has other seeds, or is corrected with other claims."
        + untested * ("not tested" in outcomes),
    )  # fmt: skip
