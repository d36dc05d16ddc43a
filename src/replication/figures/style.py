"""The frame of every drawing: style, and reproducible files with metadata."""

from collections.abc import Iterable
from itertools import cycle
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

import matplotlib as mpl

mpl.use("agg")

import matplotlib.pyplot as plt
import numpy as np
from cycler import cycler
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager, get_font, ttfFontProperty

Value = TypeVar("Value")

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES = ("-", "--", "-.", (0, (8, 2, 1, 2, 1, 2)), (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (8, 2)))
"""Line styles of curves; dotted lines are left for marks."""

VERDICT_COLOURS = {
    "verified": "#9ecae1",
    "reproduced": "#74c6a8",
    "replicated": "#b5dfb0",
    "in part": "#e0ecb4",
    "does not hold": "#f4a582",
    "no effect left": "#cbb4e0",
    "open": "#e6e0b8",
    "not tested": "#dddddd",
}
"""Light enough for black text."""

VERDICT_MARKS = {
    "verified": "\N{CHECK MARK}",
    "reproduced": "=",
    "replicated": "\N{ALMOST EQUAL TO}",
    "in part": "\N{PLUS-MINUS SIGN}",
    "does not hold": "\N{BALLOT X}",
    "no effect left": "\N{EMPTY SET}",
    "open": "?",
    "not tested": "-",
}
"""For those who do not tell the colours apart."""


WIDTH = 5.5
"""Of a page's text, in inches; half of it is a column's. Figures are drawn as large as they are
printed, so that their type is as large as it says."""

CATEGORIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f")
"""Colours of what has no order, after Okabe and Ito: to be told apart by all eyes."""

_SIZE, _SMALL, _GREY = 8.0, 7.0, ".15"
# After seaborn's theme "ticks", for figures of a page's width. Written out, as what needs nothing
# else of seaborn is then drawn in half the time.
_STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": _GREY,
    "axes.labelcolor": _GREY,
    "axes.labelsize": _SIZE,
    "axes.linewidth": 0.8,
    "axes.prop_cycle": cycler(color=CATEGORIES),
    "axes.titlesize": _SIZE,
    "font.size": _SIZE,
    "grid.color": ".8",
    "hatch.linewidth": 0.5,
    "legend.fontsize": _SMALL,
    # As long as the longest pattern of dashes.
    "legend.handlelength": 3.5,
    "legend.title_fontsize": _SMALL,
    "lines.linewidth": 1.2,
    "lines.markersize": 4.0,
    "lines.solid_capstyle": "round",
    "patch.edgecolor": "w",
    "patch.force_edgecolor": True,
    "patch.linewidth": 0.8,
    "text.color": _GREY,
    **{
        f"{axis}tick.{key}": value
        for axis in "xy"
        for key, value in {
            "color": _GREY, "labelsize": _SMALL, "major.size": 3.0, "major.width": 0.8,
            "minor.size": 1.8, "minor.width": 0.6,
        }.items()
    },
    # Fonts embedded as TrueType, and files that are the same every time.
    "pdf.fonttype": 42,
    "svg.hashsalt": "transformer-dynamics",
    "figure.dpi": 100,
    "savefig.dpi": 300,
}  # fmt: skip


def set_style() -> None:
    """Type that can be read in print, and files that are the same on every machine.

    Neither the user's own style nor the fonts of the system count, only what Matplotlib brings.
    """
    mpl.rcdefaults()
    plt.rcParams.update(_STYLE)
    own = sorted(Path(mpl.get_data_path(), "fonts/ttf").glob("*.ttf"))
    # Matplotlib's own list comes from a file in the user's home, which may say anything of them.
    fontManager.ttflist = [ttfFontProperty(get_font(path)) for path in own]


class Style(NamedTuple):
    """How one curve looks."""

    colour: tuple[float, float, float]
    """Of ordered values darker from curve to curve, distinct in print without colour, too."""
    line: Any
    """Matplotlib's line style."""
    marker: str
    """Matplotlib's marker."""


def curve_styles(values: Iterable[Value]) -> list[tuple[Value, Style]]:
    """A style for each of ascending values; lines and markers repeat after the last."""
    listed = list(values)
    shades = np.linspace(0, 1, len(listed) + 3)[2:-1]
    colours = [tuple(shade) for shade in mpl.colormaps["viridis_r"](shades)[:, :3].tolist()]
    styles = map(Style, colours, cycle(LINES), cycle(MARKERS))
    return list(zip(listed, styles, strict=False))


def category_styles(values: Iterable[Value]) -> list[tuple[Value, Style]]:
    """A style for each of values that have no order; colours, too, repeat after the last."""
    styles = map(Style, cycle(map(to_rgb, CATEGORIES)), cycle(LINES), cycle(MARKERS))
    return list(zip(values, styles, strict=False))


def note(figure: Figure, text: str) -> None:
    """Write small lines below everything that is drawn."""
    figure.text(0, 0, text, fontsize=_SMALL, va="top", wrap=True)


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
    # Padded as its layout is, a file is no wider than its figure.
    figure.savefig(stream, format=kind, metadata=metadata, bbox_inches="tight", pad_inches="layout")
    plt.close(figure)
