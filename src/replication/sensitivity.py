"""Which claims depend on what a paper leaves open: their verdicts under every variant."""

import textwrap
from typing import TYPE_CHECKING, ClassVar, Literal

from replication.errors import InputError
from replication.strict import Strict
from replication.study import Figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from replication.verification.judgement import Verdict


class Sensitivity(Figure):
    """Verdicts of the claims that are judged under every variant of the experiments."""

    title: ClassVar[str] = "Verdicts under every variant of the experiments"
    columns: ClassVar[tuple[str, ...]] = (
        "claim", "statement", "variant", "as_baseline", "verdict", "comparisons", "holding",
        "estimate", "effect", "seeds",
    )  # fmt: skip
    drawing: Literal["sensitivity"]
    """Which drawing."""


class Cell(Strict):
    """One claim under one variant."""

    claim: str
    """Number of the claim."""
    statement: str
    """What it says."""
    variant: str
    """What the variant is called."""
    as_baseline: bool
    """Whether the variant changes nothing in the claim's experiments."""


def table(figure: Sensitivity, *verdicts: "Verdict", cells: list[Cell]) -> "pd.DataFrame":
    """One row per claim and variant.

    `estimate` and `effect`, in standard deviations of one seed, are medians of comparisons.

    Args:
        figure: not used.
        verdicts: one per cell.
        cells: what was judged.
    """
    import pandas as pd

    return pd.DataFrame([_row(*pair) for pair in zip(cells, verdicts, strict=True)])


def _row(cell: Cell, verdict: "Verdict") -> dict[str, object]:
    import numpy as np

    if verdict.claim != cell.claim:
        raise InputError(f"the verdict on {verdict.claim} was given in place of {cell.claim}")
    effects = [item.effect for item in verdict.comparisons if item.effect is not None]
    return {
        **cell.model_dump(),
        "verdict": verdict.verdict,
        "comparisons": len(verdict.comparisons),
        "holding": sum(item.decision == "holds" for item in verdict.comparisons),
        "estimate": float(np.median([item.estimate for item in verdict.comparisons])),
        "effect": float(np.median(effects)) if effects else None,
        "seeds": verdict.seeds,
    }


def draw(figure: Sensitivity, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """One row per claim, one column per variant."""
    import matplotlib.pyplot as plt
    from matplotlib.patches import Patch

    from replication.drawing import VERDICT_COLOURS, VERDICT_MARKS

    variants = list(dict.fromkeys(table["variant"]))
    claims = table.drop_duplicates("claim")
    drawing, axes = plt.subplots(figsize=(3.2 + 0.95 * len(variants), 0.9 + 0.52 * len(claims)))
    places = {variant: column for column, variant in enumerate(variants)}
    for row, claim in enumerate(claims["claim"]):
        for cell in table[table["claim"] == claim].to_dict("records"):
            _cell(axes, places[cell["variant"]], row, cell)
    axes.set_xlim(0, len(variants))
    axes.set_ylim(len(claims), 0)
    axes.set_xticks([column + 0.5 for column in range(len(variants))])
    axes.set_xticklabels([textwrap.fill(name, 11) for name in variants])
    axes.set_yticks([row + 0.5 for row in range(len(claims))])
    axes.set_yticklabels(
        [
            textwrap.fill(f"{claim['claim']}  {claim['statement']}", 46)
            for claim in claims.to_dict("records")
        ]
    )
    axes.tick_params(length=0, labeltop=True, labelbottom=False)
    for side in axes.spines.values():
        side.set_visible(False)
    colours = {k: v for k, v in VERDICT_COLOURS.items() if k in set(table["verdict"])}
    drawing.legend(
        handles=[
            Patch(facecolor=colour, edgecolor="0.4", label=f"{VERDICT_MARKS[name]} {name}")
            for name, colour in colours.items()
        ],
        loc="outside lower center",
        ncols=len(colours),
        frameon=False,
        title="Numbers: median estimate, comparisons that hold. ="
        " : the variant changes nothing in this experiment.",
    )
    return drawing


def _cell(axes: "Axes", column: int, row: int, cell: dict[str, object]) -> None:
    from matplotlib.patches import Rectangle

    from replication.drawing import VERDICT_COLOURS, VERDICT_MARKS

    colour = VERDICT_COLOURS[str(cell["verdict"])]
    axes.add_patch(Rectangle((column, row), 1, 1, facecolor=colour, edgecolor="white", linewidth=2))
    mark = VERDICT_MARKS[str(cell["verdict"])]
    text = f"{cell['estimate']:+.2g}\n{mark} {cell['holding']}/{cell['comparisons']}"
    if cell["as_baseline"]:
        text = "="
    axes.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize="small")
