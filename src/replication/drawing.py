"""The frame of every drawing: style, and reproducible files with metadata."""

from collections.abc import Iterable
from itertools import cycle
from typing import IO, Any, NamedTuple, TypeVar

import matplotlib as mpl

mpl.use("agg")

import matplotlib.pyplot as plt
import seaborn as sns
from matplotlib.figure import Figure

Value = TypeVar("Value")

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES = ("-", "--", "-.", (0, (8, 2, 1, 2, 1, 2)), (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (8, 2)))
"""Line styles of curves; dotted lines are left for marks."""

VERDICT_COLOURS = {
    "verified": "#9ecae1",
    "reproduced": "#74c6a8",
    "replicated": "#b5dfb0",
    "contradicted": "#f4a582",
    "no effect": "#d9c6e6",
    "inconclusive": "#e6e0b8",
    "not tested": "#dddddd",
}
"""Light enough for black text."""

VERDICT_MARKS = {
    "verified": "\N{CHECK MARK}",
    "reproduced": "=",
    "replicated": "\N{ALMOST EQUAL TO}",
    "contradicted": "\N{BALLOT X}",
    "no effect": "0",
    "inconclusive": "?",
    "not tested": "-",
}
"""For those who do not tell the colours apart."""


def set_style() -> None:
    """Small type for print, embedded TrueType fonts, files that are the same every time."""
    sns.set_theme(context="paper", style="ticks", font_scale=0.9)
    plt.rcParams.update(
        {
            "pdf.fonttype": 42,
            "svg.hashsalt": "transformer-dynamics",
            "figure.dpi": 100,
            "savefig.dpi": 200,
        }
    )


class Style(NamedTuple):
    """How one curve looks."""

    colour: tuple[float, float, float]
    """Darker from curve to curve, so that they are distinct in print without colour, too."""
    line: Any
    """Matplotlib's line style."""
    marker: str
    """Matplotlib's marker."""


def curve_styles(values: Iterable[Value]) -> list[tuple[Value, Style]]:
    """A style for each of the values, in their order; lines and markers repeat after the last."""
    listed = list(values)
    colours = sns.color_palette("viridis_r", len(listed) + 1)[1:]
    styles = map(Style, colours, cycle(LINES), cycle(MARKERS))
    return list(zip(listed, styles, strict=False))


def note(figure: Figure, text: str) -> None:
    """Write a small line below everything that is drawn."""
    figure.text(0, 0, text, fontsize=5, va="top")


def save(figure: Figure, stream: IO[bytes], kind: str, title: str, subject: str) -> None:
    """Write a picture that is the same every time.

    Args:
        figure: what is drawn.
        stream: where to write.
        kind: `pdf`, `svg` or `png`.
        title: what the file says of itself.
        subject: what it shows and was made from.
    """
    metadata = {
        "pdf": {"Title": title, "Subject": subject, "CreationDate": None},
        "svg": {"Title": title, "Description": subject, "Date": None},
        "png": {"Title": title, "Description": subject},
    }[kind]
    figure.savefig(stream, format=kind, metadata=metadata, bbox_inches="tight")
    plt.close(figure)
