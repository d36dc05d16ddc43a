"""The frame of every drawing."""

import matplotlib.pyplot as plt
import seaborn as sns

from replication.drawing import curve_styles, set_style

OURS = {"pdf.fonttype", "svg.hashsalt", "figure.dpi", "savefig.dpi"}
"""Of embedded fonts, reproducible files and pixels; seaborn leaves them as they are."""


def test_the_theme_is_one_of_seaborns():
    with plt.rc_context():
        sns.set_theme(context="paper", style="ticks", font_scale=0.9)
        expected = dict(plt.rcParams)
        plt.rcdefaults()
        set_style()
        found = dict(plt.rcParams)
    different = {key for key in found if repr(found[key]) != repr(expected[key])}
    numbers = {key for key in different if isinstance(found[key], float)}
    assert all(abs(found[key] - expected[key]) < 1e-12 for key in numbers - OURS)
    # The palette of pictures is named where one is drawn.
    assert different - numbers <= OURS | {"axes.prop_cycle", "image.cmap"}
    colours = [item["color"] for item in expected["axes.prop_cycle"]]
    assert sns.color_palette([item["color"] for item in found["axes.prop_cycle"]]) == colours


def test_curves_get_darker_as_in_seaborns_palette():
    styles = [style.colour for _, style in curve_styles("abcd")]
    assert styles == [tuple(colour) for colour in sns.color_palette("viridis_r", 5)[1:]]
