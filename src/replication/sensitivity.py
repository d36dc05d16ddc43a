"""Which claims depend on what a paper leaves open: their verdicts under every variant."""

import textwrap
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from replication.errors import InputError
from replication.study import Figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

    from replication.verification.judgement import Verdict


class Sensitivity(Figure):
    """Verdicts of the claims that are judged under every variant of the experiments."""

    title: ClassVar[str] = "Verdicts under every variant of the experiments"
    is_costly: ClassVar[bool] = True
    columns: ClassVar[tuple[str, ...]] = (
        "claim", "statement", "expected", "variant", "as_baseline", "verdict", "comparisons",
        "holding", "estimate", "effect", "seeds",
    )  # fmt: skip
    drawing: Literal["sensitivity"]
    """Which drawing."""


def table(figure: Sensitivity, *verdicts: "Verdict", cells: list[dict[str, Any]]) -> "pd.DataFrame":
    """One row per claim and variant.

    `estimate` and `effect`, in standard deviations of one seed, are medians of comparisons.

    Args:
        figure: not used.
        verdicts: one per cell.
        cells: of each, its claim, statement, what is expected of it and variant, and as_baseline:
            whether the variant changes nothing in the claim's experiments.

    Raises:
        InputError: if a verdict is on another claim.
    """
    import pandas as pd

    return pd.DataFrame([_row(*pair) for pair in zip(cells, verdicts, strict=True)])


def _row(cell: dict[str, Any], verdict: "Verdict") -> dict[str, object]:
    import numpy as np

    if verdict.claim != cell["claim"]:
        raise InputError(f"the verdict on {verdict.claim} was given in place of {cell['claim']}")
    estimates = [item.estimate for item in verdict.comparisons]
    effects = [item.effect for item in verdict.comparisons if item.effect is not None]
    return {
        **cell,
        "verdict": verdict.verdict,
        "comparisons": len(verdict.comparisons),
        "holding": sum(item.decision == "holds" for item in verdict.comparisons),
        "estimate": float(np.median(estimates)) if estimates else None,
        "effect": float(np.median(effects)) if effects else None,
        "seeds": verdict.seeds,
    }


def draw(figure: Sensitivity, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """One row per claim, one column per variant."""
    import matplotlib.pyplot as plt
    from matplotlib.patches import Patch, Rectangle

    from replication.drawing import VERDICT_COLOURS, VERDICT_MARKS

    variants = list(dict.fromkeys(table["variant"]))
    claims = table.drop_duplicates("claim")
    drawing, axes = plt.subplots(figsize=(3.9 + 0.95 * len(variants), 0.9 + 0.6 * len(claims)))
    for row, claim in enumerate(claims["claim"]):
        for cell in table[table["claim"] == claim].to_dict("records"):
            column, verdict = variants.index(cell["variant"]), cell["verdict"]
            colour = VERDICT_COLOURS[verdict]
            axes.add_patch(
                Rectangle((column, row), 1, 1, facecolor=colour, edgecolor="white", linewidth=2)
            )
            text = VERDICT_MARKS[verdict]
            if cell["comparisons"]:
                held = f"{text} {cell['holding']}/{cell['comparisons']}"
                text = f"{cell['estimate']:+.2g}\n{held}"
            text = "=" if cell["as_baseline"] else text
            axes.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize="small")
    labels = claims["claim"] + "  " + claims["statement"] + " Expected: " + claims["expected"] + "."
    axes.set(
        xlim=(0, len(variants)),
        ylim=(len(claims), 0),
        xticks=[column + 0.5 for column in range(len(variants))],
        xticklabels=[textwrap.fill(name, 11) for name in variants],
        yticks=[row + 0.5 for row in range(len(claims))],
        yticklabels=[textwrap.fill(label, 62) for label in labels],
    )
    axes.tick_params(length=0, labeltop=True, labelbottom=False)
    axes.spines[:].set_visible(False)
    handles = [
        Patch(facecolor=colour, edgecolor="0.4", label=f"{VERDICT_MARKS[name]} {name}")
        for name, colour in VERDICT_COLOURS.items()
        if name in set(table["verdict"])
    ]
    drawing.legend(
        handles=handles,
        loc="outside lower center",
        ncols=len(handles),
        frameon=False,
        title="Numbers: median estimate, comparisons that hold. ="
        " : the variant changes nothing in this experiment.",
    )
    return drawing
