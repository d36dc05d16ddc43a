"""Which claims depend on what the paper leaves open: verdicts under every variant."""

import textwrap

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from transformer_dynamics.drawing import VERDICT_COLOURS, VERDICT_MARKS, draw_command
from transformer_dynamics.scan_and_snap.figure_settings import SensitivityTable

COLUMNS = (
    "claim", "statement", "variant", "as_baseline", "verdict", "comparisons", "holding", "estimate",
    "effect", "seeds",
)  # fmt: skip


def draw(table: pd.DataFrame, settings: SensitivityTable, reference: pd.DataFrame | None) -> Figure:
    """One row per claim, one column per variant.

    Args:
        table: columns `COLUMNS`.
        settings: not used.
        reference: not used.
    """
    variants = list(dict.fromkeys(table["variant"]))
    claims = table.drop_duplicates("claim")
    figure, axes = plt.subplots(figsize=(3.2 + 0.95 * len(variants), 0.9 + 0.52 * len(claims)))
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
    figure.legend(
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
    return figure


def _cell(axes: Axes, column: int, row: int, cell: dict[str, object]) -> None:
    colour = VERDICT_COLOURS[str(cell["verdict"])]
    axes.add_patch(Rectangle((column, row), 1, 1, facecolor=colour, edgecolor="white", linewidth=2))
    mark = VERDICT_MARKS[str(cell["verdict"])]
    text = f"{cell['estimate']:+.2g}\n{mark} {cell['holding']}/{cell['comparisons']}"
    if cell["as_baseline"]:
        text = "="
    axes.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize="small")


main = draw_command(
    draw,
    SensitivityTable,
    title="Verdicts of the empirical claims under every variant of the experiments",
    columns=COLUMNS,
)

if __name__ == "__main__":
    main()
