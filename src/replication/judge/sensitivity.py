"""The figure of sensitivity: verdicts on claims under every variant that a paper leaves open."""

import re
import textwrap
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from replication.base.errors import InputError
from replication.study.contract import Figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from replication.judge.verdicts import Verdict


NO_EFFECT_LEFT = "no effect left"
LINE_LETTERS = 108
"""Number of letters of a statement in one line of the page's width."""
LINE_HEIGHT = 0.118
"""Height of a line, in inches."""
CELL_LINES = 2.7
"""Height of a row of cells with what is around it, in lines."""
_SYMBOL = re.compile(r"(?<![\w$])([A-Za-z]+)_(\w{1,3})(?!\w)|(?<![\w$])([A-Za-z]+)(?!\w)")


class Sensitivity(Figure):
    """Verdicts of the claims that are judged under every variant of the experiments."""

    title: ClassVar[str] = "Verdicts under every variant of the experiments"
    is_costly: ClassVar[bool] = True
    columns: ClassVar[tuple[str, ...]] = (
        "claim", "statement", "expected", "variant", "as_baseline", "verdict", "outcome",
        "comparisons", "holding", "estimate", "effect", "seeds",
    )  # fmt: skip
    kind: Literal["sensitivity"]
    """Kind of the figure."""


def table(figure: Sensitivity, *verdicts: "Verdict", cells: list[dict[str, Any]]) -> "pd.DataFrame":
    """Return one row per claim and variant.

    `estimate` and `effect`, in standard deviations of one seed, are medians of comparisons.
    `outcome` is the verdict, except "no effect left" where no comparison holds, none says the
    opposite, one has no effect, and one holds in the experiments as they are, the first variant.

    Args:
        figure: states the columns.
        verdicts: one per cell.
        cells: claim, statement, expectation and variant of each; `as_baseline` is true if the
            variant changes nothing in the claim's experiments.

    Raises:
        InputError: if a verdict is on another claim.
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

    if verdict.claim != cell["claim"]:
        raise InputError(f"the verdict on {verdict.claim} was given in place of {cell['claim']}")
    estimates = [item.estimate for item in verdict.counted]
    effects = [item.effect for item in verdict.counted if item.effect is not None]
    return {
        **cell,
        "verdict": verdict.verdict,
        "comparisons": len(verdict.counted),
        "holding": verdict.holding,
        "estimate": float(np.median(estimates)) if estimates else None,
        "effect": float(np.median(effects)) if effects else None,
        "seeds": verdict.seeds,
    }


def draw(figure: Sensitivity, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw one row per claim, below its statement, and one column per variant."""
    import matplotlib.pyplot as plt

    from replication.figures.style import WIDTH

    variants = list(dict.fromkeys(table["variant"]))
    claims = table.drop_duplicates("claim")
    texts = claims["claim"] + "  " + claims["statement"] + " Expected: " + claims["expected"] + "."
    statements = [textwrap.wrap(words, LINE_LETTERS) for words in texts]
    heights = [len(lines) + CELL_LINES for lines in statements]
    drawing, axes = plt.subplots(
        figsize=(WIDTH, LINE_HEIGHT * (sum(heights) + 8)), layout="constrained"
    )
    axes.set(
        xlim=(0, len(variants)),
        ylim=(sum(heights), 0),
        xticks=[column + 0.5 for column in range(len(variants))],
        xticklabels=[textwrap.fill(name, 9, break_long_words=False) for name in variants],
        yticks=[],
    )
    axes.tick_params(length=0, labeltop=True, labelbottom=False, labelsize="small")
    axes.spines[:].set_visible(False)
    bottom = 0.0
    for claim, lines, height in zip(claims["claim"], statements, heights, strict=True):
        # As wide as the page, it would make the cells narrower.
        axes.text(
            0, bottom + 0.2, "\n".join(map(_with_symbols, lines)), fontsize="small", va="top",
            linespacing=1.1, in_layout=False,
        )  # fmt: skip
        for cell in table[table["claim"] == claim].to_dict("records"):
            _draw_cell(axes, (variants.index(cell["variant"]), bottom + len(lines) + 0.3), cell)
        bottom += height
    _draw_legend(drawing, set(table["outcome"]))
    return drawing


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


def _draw_cell(axes: "Axes", corner: tuple[float, float], cell: dict[str, Any]) -> None:
    from matplotlib.patches import Rectangle

    from replication.figures.style import VERDICT_COLOURS, VERDICT_MARKS

    left, top = corner
    height = CELL_LINES - 0.6
    axes.add_patch(
        Rectangle(corner, 1, height, facecolor=VERDICT_COLOURS[cell["outcome"]], edgecolor="white")
    )
    text = VERDICT_MARKS[cell["outcome"]]
    if cell["comparisons"]:
        text = f"{cell['estimate']:+.2g}\n{text} {cell['holding']}/{cell['comparisons']}"
    text = "=" if cell["as_baseline"] else text
    axes.text(
        left + 0.5, top + height / 2, text, ha="center", va="center", fontsize="small",
        linespacing=1.0,
    )  # fmt: skip


def _draw_legend(drawing: "Drawing", outcomes: set[str]) -> None:
    from matplotlib.patches import Patch

    from replication.figures.style import VERDICT_COLOURS, VERDICT_MARKS

    handles = [
        Patch(facecolor=colour, edgecolor="0.4", label=f"{VERDICT_MARKS[name]} {name}")
        for name, colour in VERDICT_COLOURS.items()
        if name in outcomes
    ]
    drawing.legend(
        handles=handles,
        loc="outside lower center",
        ncols=min(len(handles), 5),
        columnspacing=1,
        handlelength=2,
        frameon=False,
        title="Numbers: median estimate, comparisons that hold. ="
        " : the variant changes nothing in this experiment.",
    )
