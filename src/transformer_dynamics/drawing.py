"""The frame of every drawing: style, command line, reproducible files with metadata."""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click
import matplotlib as mpl

mpl.use("agg")

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from transformer_dynamics.frames import read_csv
from transformer_dynamics.storage import write_atomically
from transformer_dynamics.strict import Strict

Settings = TypeVar("Settings", bound=Strict)
Value = TypeVar("Value")
Draw = Callable[[pd.DataFrame, Settings, pd.DataFrame | None], Figure]

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES = ("-", "--", "-.", (0, (8, 2, 1, 2, 1, 2)), (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (8, 2)))
"""Line styles of curves; dotted lines are left for marks."""

VERDICT_COLOURS = {
    "verified": "#9ecae1",
    "reproduced": "#74c6a8",
    "replicated": "#b5dfb0",
    "contradicted": "#f4a582",
    "inconclusive": "#e6e0b8",
    "not tested": "#dddddd",
}
"""Light enough for black text."""

VERDICT_MARKS = {
    "verified": "\N{CHECK MARK}",
    "reproduced": "=",
    "replicated": "\N{ALMOST EQUAL TO}",
    "contradicted": "\N{BALLOT X}",
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


def draw_command(
    draw: Draw[Settings],
    model: type[Settings],
    *,
    title: str,
    columns: Sequence[str],
    reference: Sequence[str] = (),
) -> click.Command:
    """The program of one figure: table in, picture out.

    Args:
        draw: from the figure's table, its settings, and the reference table if there is one, to
            the figure.
        model: of the figure's settings.
        title: what the file says of itself.
        columns: columns that the figure's table must have.
        reference: columns that a reference table must have.
    """

    @click.command(help=title)
    @click.option("--figure", required=True, help="Settings of the figure as JSON.")
    @click.option("--table", required=True, type=click.Path(path_type=Path))
    @click.option("--reference", "reference_path", type=click.Path(path_type=Path))
    @click.option("--settings", default="{}", help="What the table depends on besides, as JSON.")
    @click.option("--seeds", default="none", help="Such as 1-10,12.")
    @click.option("--output", required=True, type=click.Path(path_type=Path))
    def main(
        figure: str,
        table: Path,
        reference_path: Path | None,
        settings: str,
        seeds: str,
        output: Path,
    ) -> None:
        """Read the table, draw it and write the file."""
        set_style()
        known = (
            None
            if reference_path is None
            else read_csv(reference_path, reference, numbers=reference)
        )
        drawn = draw(read_csv(table, columns), model.parse_json(figure, "--figure"), known)
        canonical = json.dumps([json.loads(figure), json.loads(settings)], sort_keys=True)
        digest = hashlib.sha256(canonical.encode()).hexdigest()[:16]
        _save(drawn, output, title, f"{output.stem}; configuration sha256:{digest}; seeds {seeds}")

    return main


def _save(figure: Figure, path: Path, title: str, subject: str) -> None:
    kind = path.suffix.removeprefix(".")
    metadata = {
        "pdf": {"Title": title, "Subject": subject, "CreationDate": None},
        "svg": {"Title": title, "Description": subject, "Date": None},
        "png": {"Title": title, "Description": subject},
    }[kind]
    write_atomically(
        path,
        lambda stream: figure.savefig(stream, format=kind, metadata=metadata, bbox_inches="tight"),
    )
    plt.close(figure)
