"""The frame of every figure."""

import io

import matplotlib.pyplot as plt
import numpy as np
import pytest
import seaborn as sns
from matplotlib.font_manager import font_scalings
from PIL import Image

from replication.figures.style import (
    CATEGORIES,
    LINES,
    WIDTH,
    category_styles,
    curve_styles,
    save_figure,
    set_style,
    write_note,
)

LEGIBLE = 6.5
"""Points."""


def test_type_is_legible_in_a_figure_as_wide_as_the_page():
    with plt.rc_context():
        set_style()
        found = dict(plt.rcParams)
    sizes = {key: size for key, size in found.items() if key.endswith(("size", "fontsize"))}
    types = {key: size for key, size in sizes.items() if "label" in key or "font" in key}
    scaled = {
        key: size if isinstance(size, float) else found["font.size"] * font_scalings[size]
        for key, size in types.items()
        if size not in (None, "larger")
    }
    assert {"font.size", "xtick.labelsize", "legend.fontsize"} <= scaled.keys()
    assert min(scaled.values()) >= LEGIBLE
    assert found["font.size"] * font_scalings["small"] >= LEGIBLE


def test_a_legend_shows_the_whole_pattern_of_a_line():
    with plt.rc_context():
        set_style()
        found = dict(plt.rcParams)
    named = {"--": found["lines.dashed_pattern"], "-.": found["lines.dashdot_pattern"]}
    patterns = [named.get(line) or line[1] for line in LINES if line != "-"]
    room = found["legend.handlelength"] * found["legend.fontsize"]
    assert max(map(sum, patterns)) * found["lines.linewidth"] <= room


def test_a_file_is_as_wide_as_its_figure():
    with plt.rc_context():
        set_style()
        drawing, axes = plt.subplots(figsize=(WIDTH, 2), layout="constrained")
        axes.plot([0, 1], [0, 1])
        stream = io.BytesIO()
        save_figure(drawing, stream, "png", "a title", "a subject")
        dots = plt.rcParams["savefig.dpi"]
    width, _ = Image.open(stream).size
    assert WIDTH - 0.1 < width / dots <= WIDTH + 0.01


@pytest.mark.parametrize("place", ["lower center", "upper center", "center right"])
def test_a_note_stands_below_all_and_moves_no_legend(place):
    """A legend of a figure stands at the edge of the picture, which the note moves."""

    def drawn(text: str) -> tuple[int, list[int]]:
        """Height of the picture, and where the legend is, from the corner of the axes."""
        drawing, axes = plt.subplots(figsize=(WIDTH, 2), layout="constrained")
        axes.plot([0, 1], [0, 1], label="line")
        axes.set(xlabel="update", facecolor="#00ff00")
        drawing.legend(loc=f"outside {place}", facecolor="#ff0000", framealpha=1)
        if text:
            write_note(drawing, text)
        stream = io.BytesIO()
        save_figure(drawing, stream, "png", "a title", "a subject")
        pixels = np.asarray(Image.open(stream).convert("RGB"))
        panel, legend = (
            np.argwhere((pixels == colour).all(axis=2)) for colour in ([0, 255, 0], [255, 0, 0])
        )
        return len(pixels), [*(legend.min(0) - panel.min(0)), *(legend.max(0) - panel.min(0))]

    with plt.rc_context():
        set_style()
        height, before = drawn("")
        with_note, after = drawn("No published values, as the settings differ. " * 5)
        line = plt.rcParams["savefig.dpi"] * plt.rcParams["font.size"] / 72
    assert with_note > height + 2 * line
    assert np.abs(np.subtract(after, before)).max() < line / 4


def test_curves_get_darker_as_in_seaborns_palette():
    styles = [style.colour for _, style in curve_styles("abcd")]
    assert styles == [tuple(colour) for colour in sns.color_palette("viridis_r", 5)[1:]]


def test_what_has_no_order_differs_in_colour_line_and_marker():
    styles = [style for _, style in category_styles(CATEGORIES)]
    for part in zip(*styles, strict=True):
        assert len(set(part)) == len(CATEGORIES)
