"""The layout of a figure with a note below it."""

from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine


class _Settled(ConstrainedLayoutEngine):
    """A layout that stays as it is."""

    def execute(self, fig: Figure) -> None:
        """Leave everything in its place."""


def settle(figure: Figure) -> None:
    """Lay a figure out once, and keep this layout.

    A picture is cut to its content. A note below the figure moves the edge of the picture, and
    legends that are placed at this edge would then cover the note.
    """
    figure.draw_without_rendering()
    engine = figure.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        figure.set_layout_engine(_Settled(**engine.get()))
    for legend in figure.legends:
        legend.set_bbox_to_anchor((0, 0, 1, 1), figure.transFigure)
