"""The picture of a scorecard: rows of text below each other, and one axis for the estimates."""

from collections.abc import Iterator, Mapping
from itertools import product
from textwrap import wrap
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from replication.figures.style import VERDICT_COLOURS, WIDTH
from replication.figures.typeset import number
from replication.judge.abstract import DEPARTS_IN, ERRATA_BESIDE
from replication.judge.verdicts import AT_PAPER_SCALE, BEST_FIRST, DECIDED_BY

LINE, SIZE, ROOM = 0.11, 6.0, WIDTH - 0.2
"""Height of a line in inches, size of type in points, and width of the picture in inches, without
the margins that are added when it is saved."""
MARK, SENTENCE, CLAIM, SAYS, VALUES, AXIS, HOLD, SEEDS = (
    0.03, 0.79, 0.09, 0.45, 2.98, (3.04, 4.46), 4.63, 5.27,
)  # fmt: skip
"""Places of the columns in inches: left edges, both ends of the axis, right edge of the seeds."""
WHOLE, OF_SENTENCE, OF_CLAIM, OF_VALUES, MOST_LINES = 122, 98, 57, 34, 3
"""Letters of a line in the columns of texts, and most lines of a claim's words; more are cut."""
NEEDED, TOO_SMALL, BAND, GREY = "#e3efdd", "#fbf0d6", "#efefef", "0.35"
"""Colours of needed values, of effects that are too small, of sentences, and of notes."""
BLUE, ORANGE, RED = "#0072b2", "#e69f00", "#c1440e"
STYLES = {
    "holds": ("o", BLUE, BLUE, "holds"),
    "open": ("s", "white", "#6a6a6a", "open"),
    "none": ("v", ORANGE, ORANGE, "too small to count"),
    "less": ("v", "white", ORANGE, "less than claimed"),
    "fails": ("X", RED, RED, "opposite or out of range"),
}
"""Marker, colour, colour of the edge, and meaning of a comparison's point, by its decision."""
TICKS = (-10, -1, 0, 1, 10)
LIMITS = {"errata": ERRATA_BESIDE, "departs": DEPARTS_IN}
"""Words before the limits of a mark, by column."""
NO_RESULT = "no empirical statement"
"""Mark of sentences that have no row."""
EXPLANATION = """\
Across: distance from the needed bound, in smallest effects that count, on a scale that is
logarithmic beyond 2. Each claim states the smallest effect that counts; no effect at all lies at
the dotted line. Of a range with two ends, the unit is half its width. Bars are the intervals that
decide. Claims without such a unit, and computed statements of the theory, which have no intervals,
have no place on the axis: the values found stand there, and the one that is needed. A statement of
the theory holds only if all its values do. A claim is drawn at the first sentence that it decides;
(late) is one that was declared after its seeds had been seen. Hold: how many comparisons hold."""


class Row(NamedTuple):
    """A row of the picture: place in inches, lines and style of each text, and comparisons."""

    texts: list[tuple[float, list[str], dict[str, Any]]]
    points: pd.DataFrame | None = None
    is_sentence: bool = False

    @property
    def height(self) -> float:
        """Height in lines."""
        return max(len(lines) for _, lines, _ in self.texts) + 0.4 * self.is_sentence


HEADS = Row([
    (MARK, ["mark"], {"color": GREY}),
    (SENTENCE, ["sentence, and below it its claims"], {"color": GREY}),
    (HOLD, ["hold"], {"color": GREY}),
    (SEEDS, ["seeds"], {"ha": "right", "color": GREY}),
])  # fmt: skip


def draw_scorecard(table: pd.DataFrame) -> Figure:
    """Draw a table of `scorecard_figure`."""
    rows = [_text(""), _text(""), HEADS, *_rows(table), _text(""), _text(EXPLANATION)]
    heights = [row.height for row in rows]
    drawing, panels = plt.subplots(
        len(rows), sharex=True, figsize=(ROOM, LINE * sum(heights)), height_ratios=heights,
        gridspec_kw={
            "left": AXIS[0] / ROOM, "right": AXIS[1] / ROOM, "bottom": 0, "top": 1, "hspace": 0,
        },
    )  # fmt: skip
    drawn = table[["distance", "low", "high"]].to_numpy(np.float64)
    end = 1.1 * max(float(np.nanmax(np.abs(drawn), initial=0)), *TICKS)
    panels[0].set_xscale("symlog", linthresh=2)
    panels[0].set_xlim(-end, end)
    for axes, row in zip(panels, rows, strict=True):
        _draw_row(axes, row)
    _draw_legend(panels[0])
    for axes, at in product((panels[2], panels[-2]), TICKS):
        axes.text(at, 0.5, number(at), fontsize=SIZE, ha="center", va="center_baseline")
    return drawing


def _rows(table: pd.DataFrame) -> Iterator[Row]:
    """Yield the rows of all sentences; a claim is drawn at the first sentence that it decides."""
    shown = table[table["mark"] != NO_RESULT]
    drawn: set[str] = set()
    version = shown["version"].iloc[0] if len(shown["version"].unique()) == 1 else None
    for _, rows in shown.groupby("sentence"):
        # A file has no value where a text is empty.
        first = rows.iloc[0].dropna().to_dict()
        if first["version"] != version:
            version = first["version"]
            yield Row([(MARK, [f"The abstract of {version}"], {"weight": "bold"})])
        yield _sentence(first)
        claims = rows.dropna(subset="claim")
        if len(claims):
            yield from _claims(claims, drawn)
        else:
            yield _text("Not tested: " * (first["mark"] == "not tested") + first["says"])
        limits = [f"{words} {first[name]}." for name, words in LIMITS.items() if first.get(name)]
        if limits:
            yield _text(" ".join(limits), max_lines=MOST_LINES)
        for line in first.get(AT_PAPER_SCALE, "").splitlines():
            if line.partition(" ")[0] not in drawn:
                yield _text(line)
        yield _text("")
        drawn |= {*claims["claim"]}


def _text(text: str, **options: Any) -> Row:
    """Return the row of a text that has no comparisons."""
    lines = wrap(text, WHOLE, placeholder=" …", **options) or [""]
    return Row([(CLAIM, lines, {"color": GREY})])


def _sentence(first: Mapping[Any, Any]) -> Row:
    """Return the row of a sentence with its mark, and its finding in a few words."""
    mark = "see there" if first["mark"].startswith(DECIDED_BY) else first["mark"]
    colour = VERDICT_COLOURS.get("replicated" if mark == "holds" else mark, "0.85")
    box = {"facecolor": colour, "edgecolor": "none", "pad": 1.2}
    words, plain = (wrap(first.get(name, ""), OF_SENTENCE) for name in ("words", "plain"))
    return Row(
        [
            (MARK, [mark], {"weight": "bold", "bbox": box}),
            (SENTENCE, words, {}),
            (SENTENCE, [""] * len(words) + plain, {"weight": "bold"}),
        ],
        is_sentence=True,
    )


def _claims(rows: pd.DataFrame, drawn: set[str]) -> Iterator[Row]:
    """Yield the rows of a sentence's claims; those that are drawn further up are named last.

    Of the theory, verified statements are one row.
    """
    is_drawn = rows["claim"].isin(drawn)
    new, old = rows[~is_drawn], rows[is_drawn].drop_duplicates("claim")
    is_verified = new["verdict"] == "verified"
    proved = new["claim"][is_verified].unique()
    if len(proved) > 1:
        says = f"{len(proved)} statements of the theory: {', '.join(proved)}"
        yield _claim("theory", says, new[is_verified])
        new = new[~is_verified]
    for claim, own in new.groupby("claim", sort=False):
        yield _claim(str(claim), str(own["says"].iloc[0]), own)
    if len(old):
        groups = old.groupby("verdict", sort=False)["claim"]
        said = "; ".join(f"{', '.join(claims)} ({verdict})" for verdict, claims in groups)
        yield _text(f"Drawn above: {said}.")


def _claim(label: str, says: str, rows: pd.DataFrame) -> Row:
    """Return the row of a claim: number, words, comparisons or values, counts and seeds."""
    late = " (late)" * bool(rows["late"].any())
    words = wrap(says, OF_CLAIM - len(late), max_lines=MOST_LINES, placeholder=" …")
    claims = rows.drop_duplicates("claim")
    holding, compared = claims["holding"].sum(), claims["comparisons"].sum()
    seeds = rows["seeds"].iloc[0]
    known = rows.dropna(subset="distance")
    texts = [
        (CLAIM, [label], {"weight": "bold"}),
        (SAYS, [*words[:-1], words[-1] + late], {}),
        (HOLD, [f"{holding:.0f} of {compared:.0f}" if compared else ""], {}),
        (SEEDS, [f"{seeds:.0f}" if seeds else ""], {"ha": "right"}),
    ]
    if len(known):
        return Row(texts, known)
    decisions = (decision for decision in rows["decision"] if decision in BEST_FIRST)
    worst = max(decisions, key=BEST_FIRST.index, default="open")
    return Row([*texts, (VALUES, _values(rows), {"color": STYLES[worst][2]})])


def _values(rows: pd.DataFrame) -> list[str]:
    """Return lines with the values found and needed."""
    if not rows["comparisons"].iloc[0]:
        return ["not tested"]
    if len(rows["claim"].unique()) > 1:
        return ["computed, all as stated"]
    ends = (number(end, 2) for end in (rows["estimate"].min(), rows["estimate"].max()))
    needed = [
        f"{sign} {number(bounds[0], 2)}"
        for sign, name in (("≥", "lower"), ("≤", "upper"))
        if len(bounds := rows[name].unique()) == 1 and bounds[0] == bounds[0]
    ]
    said = f", needed {' and '.join(needed)}" if needed else ""
    return wrap(" to ".join(dict.fromkeys(ends)) + said, OF_VALUES)


def _across(left: float) -> float:
    """Return a place in inches as a share of the axis."""
    return (left - AXIS[0]) / (AXIS[1] - AXIS[0])


def _draw_row(axes: Axes, row: Row) -> None:
    axes.set_ylim(row.height, 0)
    axes.set_axis_off()
    if row.is_sentence:
        band = Rectangle(
            (_across(0), 0), _across(ROOM) - _across(0), 1, color=BAND, linewidth=0, zorder=-1,
            transform=axes.transAxes, clip_on=False,
        )  # fmt: skip
        axes.add_patch(band)
    for left, lines, style in row.texts:
        for at, text in enumerate(lines):
            axes.text(
                _across(left), at + 0.5 + 0.2 * row.is_sentence, text,
                **{"fontsize": SIZE, "va": "center_baseline", "parse_math": False, **style},
                transform=axes.get_yaxis_transform(),
            )  # fmt: skip
    if row.points is not None:
        _draw_comparisons(axes, row.points)


def _draw_comparisons(axes: Axes, rows: pd.DataFrame) -> None:
    """Draw the needed range, and in the first line the estimates with their intervals."""
    axes.axvspan(0, axes.get_xlim()[1], color=NEEDED, linewidth=0)
    if rows["no_effect"].notna().any():
        axes.axvspan(-2, 0, color=TOO_SMALL, linewidth=0)
        axes.axvline(-1, color="0.55", linewidth=0.7, linestyle=":")
    axes.axvline(0, color="0.3", linewidth=0.7)
    for decision, points in rows.groupby("decision", sort=False):
        marker, colour, edge, _ = STYLES[str(decision)]
        middle = np.full(len(points), 0.5)
        axes.hlines(middle, points["low"], points["high"], edge, linewidth=0.7)
        axes.scatter(
            points["distance"], middle, s=10, c=colour, marker=marker, edgecolor=edge,
            linewidth=0.7, zorder=3,
        )  # fmt: skip


def _draw_legend(axes: Axes) -> None:
    for marker, colour, edge, label in STYLES.values():
        axes.scatter([], [], s=12, c=colour, marker=marker, edgecolor=edge, label=label)
    for label, colour in (("needed", NEEDED), ("too small", TOO_SMALL)):
        axes.fill_between([], [], color=colour, label=label)
    axes.legend(
        loc="upper left", ncols=7, fontsize=SIZE, frameon=False, borderpad=0, handlelength=1,
        handletextpad=0.4, columnspacing=1.3, bbox_to_anchor=(_across(MARK), 1),
    )  # fmt: skip
