"""The style of every figure, words where it shows nothing, and reproducible files with metadata."""

from collections.abc import Iterable, Iterator
from itertools import cycle
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

import matplotlib as mpl

mpl.use("agg")

import matplotlib.pyplot as plt
import numpy as np
from cycler import cycler
from matplotlib.collections import PathCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager, get_font, ttfFontProperty
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Rectangle

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
    "open": "#e6e0b8",
    "not tested": "#dddddd",
}
"""Colours of verdicts, light enough for black text."""

WIDTH = 5.5
"""Width of the text of a page in inches; a column has half of it.

Figures are drawn at the size of print, so that their type has the size that it names."""

NOTHING = "no finite value"
"""Words in a panel that has nothing to show."""
CATEGORIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f")
"""Colours of categories without an order, by Okabe and Ito, which all eyes can tell apart."""

_SIZE, _SMALL, _GREY = 8.0, 7.0, ".15"
# Seaborn's theme "ticks" for figures of a page's width. It is written out here, as the import of
# seaborn takes half of the time of a figure.
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
    """Set a type that can be read in print, and files that are the same on every machine.

    Only Matplotlib's own style and fonts count, not those of the user or the system.
    """
    mpl.rcdefaults()
    plt.rcParams.update(_STYLE)
    own = sorted(Path(mpl.get_data_path(), "fonts/ttf").glob("*.ttf"))
    # Matplotlib reads its list of fonts from a file in the user's home, which may hold anything.
    fontManager.ttflist = [ttfFontProperty(get_font(path)) for path in own]


class Style(NamedTuple):
    """The style of one curve: colour as red, green and blue from 0 to 1, line and marker.

    Of ordered values the colour is darker from curve to curve.
    """

    colour: tuple[float, float, float]
    line: Any
    marker: str

    @property
    def look(self) -> dict[str, Any]:
        """Colour, line and marker as Matplotlib names them."""
        return {"color": self.colour, "linestyle": self.line, "marker": self.marker}


def curve_styles(values: Iterable[Value]) -> list[tuple[Value, Style]]:
    """Return a style for each of ascending values; lines and markers repeat after the last."""
    listed = list(values)
    shades = np.linspace(0, 1, len(listed) + 3)[2:-1]
    return _styled(listed, map(tuple, mpl.colormaps["viridis_r"](shades)[:, :3].tolist()))


def category_styles(values: Iterable[Value]) -> list[tuple[Value, Style]]:
    """Return a style for each of values without an order; colours, too, repeat after the last."""
    return _styled(values, cycle(map(to_rgb, CATEGORIES)))


def _styled(values: Iterable[Value], colours: Iterable[Any]) -> list[tuple[Value, Style]]:
    return list(zip(values, map(Style, colours, cycle(LINES), cycle(MARKERS)), strict=False))


def tell_nothing(figure: Figure) -> None:
    """Write into each panel with data that no value of it is finite, if that is so.

    So it is after trainings that diverged.
    """
    for axes in figure.axes:
        points = [each for each in _points(axes) if len(each)]
        if points and not np.isfinite(np.concatenate(points)).all(axis=1).any():
            axes.text(0.5, 0.5, NOTHING, transform=axes.transAxes, ha="center", va="center")


def _points(axes: Any) -> Iterator[Any]:
    """Yield the points of each line, scatter and bar; a line across the panel is no data."""
    for line in axes.lines:
        if line.get_transform() == axes.transData:
            yield np.asarray(line.get_xydata())
    for item in axes.collections:
        if isinstance(item, PathCollection):
            yield np.ma.filled(item.get_offsets(), np.nan)
    for patch in axes.patches:
        if isinstance(patch, Rectangle):
            yield patch.get_bbox().get_points()[1:]


class _Settled(ConstrainedLayoutEngine):
    """A layout that stays as it is."""

    def execute(self, fig: Figure) -> None:
        """Leave everything in its place."""


def write_note(figure: Figure, text: str) -> None:
    """Write small lines below the figure, which is laid out once and keeps this layout.

    A picture is cut to its content. The note moves the edge of the picture, and legends that are
    placed at this edge would then cover the note.
    """
    figure.draw_without_rendering()
    engine = figure.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        figure.set_layout_engine(_Settled(**engine.get()))
    for legend in figure.legends:
        legend.set_bbox_to_anchor((0, 0, 1, 1), figure.transFigure)
    figure.text(0, 0, text, fontsize=_SMALL, va="top", wrap=True)


def save_figure(figure: Figure, stream: IO[bytes], kind: str, title: str, subject: str) -> None:
    """Write a picture as `pdf`, `svg` or `png` with the same bytes every time, and close it.

    Title and subject, the content and origin of the figure, stand in the metadata of the file.
    """
    metadata = {
        "pdf": {"Title": title, "Subject": subject, "CreationDate": None},
        "svg": {"Title": title, "Description": subject, "Date": None},
        "png": {"Title": title, "Description": subject},
    }[kind]
    # With the padding of the layout a file is no wider than its figure.
    figure.savefig(stream, format=kind, metadata=metadata, bbox_inches="tight", pad_inches="layout")
    plt.close(figure)
