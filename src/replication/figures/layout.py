"""The layout of a figure that something is written beside."""

from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine


class _Settled(ConstrainedLayoutEngine):
    """A layout that was found and is not looked for again."""

    def execute(self, fig: Figure) -> None:
        """Move nothing."""


def settle(figure: Figure) -> None:
    """Lay a figure out for good.

    A picture is cut to what is drawn. Something below the figure moves its edge, where legends of
    the figure would then stand, over what is written there.
    """
    figure.draw_without_rendering()
    engine = figure.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        figure.set_layout_engine(_Settled(**engine.get()))
    for legend in figure.legends:
        legend.set_bbox_to_anchor((0, 0, 1, 1), figure.transFigure)
