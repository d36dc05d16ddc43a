"""What can be seen in a drawing, in words, without laying it out or drawing a line of it.

Two drawings with the same words are written as the same files, but for what depends on the size of
type. To write a picture takes several times as long.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.path import Path
from matplotlib.spines import Spine
from matplotlib.ticker import FixedFormatter, FixedLocator
from matplotlib.transforms import BboxBase

SEEN = (
    "text", "position", "fontsize", "rotation", "visible", "zorder", "alpha", "color", "facecolor",
    "edgecolor", "linestyle", "linewidth", "hatch", "marker", "xydata", "path", "paths", "offsets",
    "array", "clim", "extent", "xlim", "ylim", "xscale", "yscale",
)  # fmt: skip
"""Properties of all kinds of parts; most parts have some of them."""


def looks(drawing: Figure) -> str:
    """What can be seen, a line for each part of the drawing."""
    return "\n".join(f"{type(part).__name__} {' '.join(_seen(part))}" for part in _parts(drawing))


def _parts(part: Artist) -> Iterator[Artist]:
    yield part
    # Ticks are made when they are first asked for, which takes long; they follow from the limits.
    if not isinstance(part, Axis):
        for child in part.get_children():
            yield from _parts(child)


def _seen(part: Artist) -> Iterator[str]:
    for name in () if isinstance(part, Spine) else SEEN:
        # Of several mixins, some ask for what a part may lack.
        if getter := getattr(part, f"get_{name}", None):
            yield f"{name}={_words(getter())}"
    if isinstance(part, Axis):
        yield part.get_label_text()
        if isinstance(locator := part.get_major_locator(), FixedLocator):
            yield _words(locator())
        if isinstance(formatter := part.get_major_formatter(), FixedFormatter):
            yield _words(formatter.seq)


def _words(value: Any) -> str:
    """A value to the last digit."""
    if isinstance(value, Path):
        return _words([value.vertices, value.codes])
    if isinstance(value, BboxBase):
        return _words(value.get_points())
    if isinstance(value, np.ndarray):
        return repr(value.tolist())
    if isinstance(value, Iterable) and not isinstance(value, str):
        return f"[{', '.join(map(_words, value))}]"
    return repr(value)
