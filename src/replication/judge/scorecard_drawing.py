"""The picture of a scorecard; places and sizes are in inches from the lower left corner."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.textpath import text_to_path

from replication.figures.style import VERDICT_COLOURS, WIDTH
from replication.figures.typeset import number
from replication.judge.abstract import DEPARTS_IN, ERRATA_BESIDE
from replication.judge.verdicts import AT_PAPER_SCALE, BEST_FIRST, DECIDED_BY

END = 4.0
"""End of the axis; points that are farther away are an arrow with their distance."""
LINE = 0.11
"""Height of a line of a claim."""
SENTENCE_LINE = 0.105
"""Height of a line of a sentence."""
GAP = 0.045
"""Height of the space around a sentence, and between two rows."""
SMALL, SIZE = 6.0, 6.5
"""Sizes of type, in points."""
MARGIN = 0.1
"""Margin that is added when the picture is saved."""
MOST_LINES = 3
"""Largest number of lines of a claim's words; more are cut."""
BADGE, SENTENCE, CLAIM, SAYS, VALUES, AXIS, HOLD, SEEDS = (
    0.03, 0.79, 0.09, 0.45, 2.98, (3.04, 4.26), 4.63, 5.27,
)  # fmt: skip
"""Places of the columns: their left edges, of the axis both ends, of the seeds the right edge."""
NEEDED, TOO_SMALL, BAND = "#e3efdd", "#fbf0d6", "#efefef"
"""Colours of areas: needed values, effects that are too small, and sentences."""
STYLES: dict[str, dict[str, Any]] = {
    "holds": {"marker": "o", "color": "#0072b2", "label": "holds"},
    "open": {"marker": "s", "facecolor": "white", "edgecolor": "#6a6a6a", "label": "open"},
    "none": {"marker": "v", "color": "#e69f00", "label": "too small to count"},
    "less": {
        "marker": "v", "facecolor": "white", "edgecolor": "#e69f00", "label": "less than claimed",
    },
    "fails": {"marker": "X", "color": "#c1440e", "label": "opposite or out of range"},
}  # fmt: skip
"""Marker of a comparison by its decision."""
HOLD_WORDS = ("holds", "hold")
GROUPS = {
    "verified": HOLD_WORDS,
    "reproduced": HOLD_WORDS,
    "replicated": HOLD_WORDS,
    "in part": ("holds in part", "hold in part"),
    "does not hold": ("does not hold", "do not hold"),
    "open": ("is open", "are open"),
    "not tested": ("is not tested", "are not tested"),
}
"""Words after the number of one claim with a verdict, and after those of several."""
LIMITS = {"errata": ERRATA_BESIDE, "departs": DEPARTS_IN}
"""Words before the limits of a mark, by column."""
NO_RESULT = "no empirical statement"
"""Mark of the sentences that are only counted."""
UNIT = "distance from the needed bound,\nin smallest effects that count"
"""Name of the axis."""
KEY = (
    "▸ 9-14  distances beyond the axis      (late)  declared after its seeds had been seen"
    "      hold  how many comparisons hold"
)
"""Second line of the legend."""
EXPLANATION = """\
Each claim states the smallest effect that counts; no effect at all lies at the dotted line. Of a
range with two ends, the unit is half its width. Bars are the intervals that decide. Claims without
such a unit, and computed statements of the theory, which have no intervals, have no place on the
axis: the values found stand there, and the one that is needed. A statement of the theory holds only
if all its values do. A claim is drawn at the first sentence that it decides."""
"""Text below the picture."""


class Line(NamedTuple):
    """A line of the picture: a claim, statements of the theory that are all verified, or a text."""

    words: list[str]
    label: str = ""
    """Number of the claim."""
    rows: pd.DataFrame | None = None
    """Comparisons; none of a line that is only a text."""
    values: tuple[str, ...] = ()
    """Lines of the values found and needed, of a claim that has no place on the axis."""

    @property
    def height(self) -> float:
        """Height of the line."""
        return LINE * max(len(self.words), len(self.values))


class Row(NamedTuple):
    """A sentence, or the name of a version, which has no mark."""

    words: list[str]
    mark: str = ""
    plain: Sequence[str] = ()
    """Lines of the finding in a few words."""
    lines: Sequence[Line] = ()
    """Lines of the claims that decide the sentence."""

    @property
    def head(self) -> float:
        """Height of the sentence alone."""
        return SENTENCE_LINE * (len(self.words) + len(self.plain)) + GAP

    @property
    def height(self) -> float:
        """Height of the row."""
        return self.head + sum(line.height for line in self.lines) + GAP


def draw_scorecard(table: pd.DataFrame) -> Figure:
    """Draw a table of `scorecard_figure`."""
    foot = [*wrap(EXPLANATION, SEEDS - BADGE, SMALL), _counted(table)]
    top, bottom = 0.72, 0.3 + SENTENCE_LINE * len(foot)
    rows = list(_rows(table))
    height = top + sum(row.height for row in rows) + bottom
    page = Page(plt.figure(figsize=(WIDTH - 2 * MARGIN, height)), WIDTH - 2 * MARGIN, height)
    _write_heads(page)
    at = height - top
    for row in rows:
        _draw_row(page, row, at)
        at -= row.height
    _write_ticks(page, at - 0.02, at_top=False)
    page.write(BADGE, at - 0.22, "\n".join(foot), fontsize=SMALL, linespacing=1.2)
    return page.drawing


def width(text: str, size: float) -> float:
    """Return the width of one line of text in inches, given the size of the type in points."""
    points, _, _ = text_to_path.get_text_width_height_descent(
        text, FontProperties(size=size), ismath=False
    )
    return float(points) / 72


def wrap(text: str, room: float, size: float, most: int | None = None) -> list[str]:
    """Return a text in lines of a width in inches, cut after the given number of lines.

    The size of the type is in points.
    """
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width(longer, size) <= room:
            lines[-1] = longer
        elif len(lines) == most:
            while width(f"{lines[-1]} …", size) > room and " " in lines[-1]:
                lines[-1] = lines[-1].rpartition(" ")[0]
            lines[-1] += " …"
            break
        else:
            lines.append(word)
    return lines


class Page(NamedTuple):
    """A figure on which things are placed in inches."""

    drawing: Figure
    width: float
    height: float

    def write(self, left: float, at: float, text: str, **style: Any) -> None:
        """Write a text at a place."""
        style = {"fontsize": SIZE, "va": "top", "parse_math": False, **style}
        self.drawing.text(left / self.width, at / self.height, text, **style)

    def write_lines(self, left: float, middle: float, lines: Sequence[str], **style: Any) -> None:
        """Write lines of small type below each other."""
        style = {"fontsize": SMALL, "va": "center_baseline", **style}
        for place, text in enumerate(lines):
            self.write(left, middle - LINE * place, text, **style)

    def axes(self, lower: float, upper: float) -> Axes:
        """Return new axes between two heights, in the column of the axis."""
        left, right = AXIS
        size = (right - left) / self.width, (upper - lower) / self.height
        axes = self.drawing.add_axes((left / self.width, lower / self.height, *size))
        axes.set_xlim(-END - 0.25, END + 0.25)
        return axes

    def shade(self, lower: float, upper: float) -> None:
        """Shade a band of the whole width."""
        band = Rectangle(
            (0, lower / self.height), 1, (upper - lower) / self.height, color=BAND, linewidth=0,
            transform=self.drawing.transFigure, zorder=-1,
        )  # fmt: skip
        self.drawing.add_artist(band)


def _rows(table: pd.DataFrame) -> Iterator[Row]:
    """Yield the rows of the picture; a claim is drawn at the first sentence that it decides."""
    shown = table[table["mark"] != NO_RESULT]
    drawn: set[str] = set()
    several = len(shown["version"].unique()) > 1
    version = None
    for _, rows in shown.groupby("sentence", sort=True):
        # A file has no value where a text is empty.
        first = rows.iloc[0].dropna().to_dict()
        if several and first["version"] != version:
            version = first["version"]
            yield Row([f"The abstract of {version}"])
        claims = rows.dropna(subset="claim")
        lines = list(_lines(claims, drawn)) if len(claims) else [_text_line(first)]
        limits = " ".join(f"{LIMITS[name]} {first[name]}." for name in LIMITS if first.get(name))
        lines += [_text(limits, MOST_LINES)] if limits else []
        at_paper_scale = first.get(AT_PAPER_SCALE, "").splitlines()
        lines += [_text(each) for each in at_paper_scale if each.partition(" ")[0] not in drawn]
        mark = "see there" if first["mark"].startswith(DECIDED_BY) else first["mark"]
        words, plain = (
            wrap(first.get(name, ""), SEEDS - SENTENCE - 0.05, SIZE) for name in ("words", "plain")
        )
        yield Row(words, mark, plain, lines)
        drawn |= {*claims["claim"]}


def _text(text: str, most: int | None = None) -> Line:
    """Return the lines of a text that has no comparisons."""
    return Line(wrap(text, SEEDS - CLAIM, SMALL, most))


def _text_line(first: dict[Any, Any]) -> Line:
    """Return the line of a sentence that no claim decides here."""
    says = first["says"]
    is_untested = first["mark"] == "not tested"
    return _text(f"Not tested: {says}" if is_untested else says[:1].upper() + says[1:], MOST_LINES)


def _lines(rows: pd.DataFrame, drawn: set[str]) -> Iterator[Line]:
    """Yield the lines of a sentence: its claims, then those that are drawn further up.

    Of the theory, verified statements are one line.
    """
    is_drawn = rows["claim"].isin(drawn)
    new, old = rows[~is_drawn], rows[is_drawn].drop_duplicates("claim")
    is_verified = new["verdict"] == "verified"
    proved = list(new["claim"][is_verified].unique())
    if len(proved) > 1:
        says = f"{len(proved)} statements of the theory: {', '.join(proved)}"
        yield _claim_line("theory", says, new[is_verified])
        new = new[~is_verified]
    for claim, own in new.groupby("claim", sort=False):
        yield _claim_line(str(claim), str(own["says"].iloc[0]), own)
    if len(old):
        groups: dict[tuple[str, str], list[str]] = {words: [] for words in GROUPS.values()}
        for claim, verdict in zip(old["claim"], old["verdict"], strict=True):
            groups[GROUPS[verdict]].append(claim)
        said = (
            f"{', '.join(claims)} {words[len(claims) > 1]}"
            for words, claims in groups.items()
            if claims
        )
        yield _text(f"Drawn above: {'; '.join(said)}.")


def _claim_line(label: str, says: str, rows: pd.DataFrame) -> Line:
    is_far_left = bool((rows["distance"] < -END).any())
    room = VALUES - SAYS - 0.06 - 0.3 * is_far_left
    late = " (late)" if rows["late"].any() else ""
    words = wrap(says, room - width(late, SMALL), SMALL, MOST_LINES)
    values = () if rows["distance"].notna().any() else _values(rows)
    return Line([*words[:-1], words[-1] + late], label, rows, values)


def _draw_row(page: Page, row: Row, at: float) -> None:
    """Draw a sentence with its mark, and the lines below it."""
    if not row.mark:
        page.write(BADGE, at - 0.04, row.words[0], weight="bold")
        return
    page.shade(at - row.head, at)
    colour = VERDICT_COLOURS.get("replicated" if row.mark == "holds" else row.mark, "0.85")
    box = {"facecolor": colour, "edgecolor": "none", "pad": 1.2}
    page.write(BADGE, at - 0.035, row.mark, weight="bold", bbox=box)
    page.write(SENTENCE, at - 0.035, "\n".join(row.words), linespacing=1.12)
    below = at - 0.035 - SENTENCE_LINE * len(row.words)
    page.write(SENTENCE, below, "\n".join(row.plain), linespacing=1.12, weight="bold")
    at -= row.head
    for line in row.lines:
        if line.rows is None:
            page.write_lines(CLAIM, at - LINE / 2, line.words, color="0.35")
        else:
            _draw_line(page, at, line, line.rows)
        at -= line.height


def _draw_line(page: Page, at: float, line: Line, rows: pd.DataFrame) -> None:
    """Draw a claim: number, words, comparisons or values, counts and seeds."""
    middle = at - LINE / 2
    page.write_lines(CLAIM, middle, [line.label], weight="bold")
    page.write_lines(SAYS, middle, line.words)
    known = rows.dropna(subset="distance")
    if len(known):
        _draw_comparisons(page.axes(at - line.height, at), len(line.words), known)
        _write_far(page, middle, known)
    else:
        decisions = (decision for decision in rows["decision"] if decision in BEST_FIRST)
        worst = max(decisions, key=BEST_FIRST.index, default="open")
        page.write_lines(VALUES, middle, line.values, color=_colour(worst))
    claims = rows.drop_duplicates("claim")
    holding, compared = claims["holding"].sum(), claims["comparisons"].sum()
    if compared:
        page.write_lines(HOLD, middle, [f"{holding:.0f} of {compared:.0f}"])
    if seeds := rows["seeds"].iloc[0]:
        page.write_lines(SEEDS, middle, [f"{seeds:.0f}"], ha="right")


def _colour(decision: str) -> str:
    style = STYLES[decision]
    return str(style.get("color") or style["edgecolor"])


def _values(rows: pd.DataFrame) -> tuple[str, ...]:
    """Return the values found and needed, in two lines if one has no room for both."""
    if not rows["comparisons"].iloc[0]:
        return ("not tested",)
    if len(rows["claim"].unique()) > 1:
        return ("computed, all as stated",)
    found = " to ".join(
        dict.fromkeys(number(end, 2) for end in (rows["estimate"].min(), rows["estimate"].max()))
    )
    ends = [(sign, rows[name].unique()) for sign, name in (("≥", "lower"), ("≤", "upper"))]
    bounds = [
        f"{sign} {number(end[0], 2)}" for sign, end in ends if len(end) == 1 and end[0] == end[0]
    ]
    if not bounds:
        return (found,)
    needed = f"needed {' and '.join(bounds)}"
    both = f"{found}, {needed}"
    # In one line if it keeps a distance from the next column.
    return (both,) if width(both, SMALL) < HOLD - VALUES - 0.06 else (f"{found},", needed)


def _draw_comparisons(axes: Axes, lines: int, rows: pd.DataFrame) -> None:
    """Draw the needed range, and in the first line the estimates with their intervals."""
    axes.set_ylim(1 - 2 * lines, 1)
    axes.set_axis_off()

    def fill(left: float, right: float, colour: str) -> None:
        box = Rectangle(
            (left, 1 - 2 * lines), right - left, 2 * lines, color=colour, linewidth=0, zorder=0
        )
        axes.add_patch(box)

    fill(0, END + 0.25, NEEDED)
    if rows["no_effect"].notna().any():
        fill(-2, 0, TOO_SMALL)
        axes.axvline(-1, color="0.55", linewidth=0.7, linestyle=":")
    fill(-0.02, 0.02, "0.3")
    for decision, points in rows.groupby("decision", sort=False):
        style = {name: value for name, value in STYLES[str(decision)].items() if name != "label"}
        axes.hlines(
            [0] * len(points), points["low"], points["high"], color=_colour(str(decision)),
            linewidth=0.7, zorder=2,
        )  # fmt: skip
        near = points[points["distance"].abs() <= END]
        axes.scatter(near["distance"], [0] * len(near), s=10, linewidth=0.7, zorder=3, **style)


def _write_far(page: Page, middle: float, rows: pd.DataFrame) -> None:
    """Write an arrow at each end of the axis, and how far away the points beyond it are."""
    for side in (-1, 1):
        far = rows[rows["distance"] * side > END].sort_values("distance", key=abs)
        if len(far):
            farthest = far["distance"].abs().iloc[[0, -1]]
            ends = "-".join(dict.fromkeys(f"{end:.0f}" for end in farthest))
            page.write_lines(
                AXIS[side > 0] + 0.01 * side, middle, [f"▸{ends}" if side > 0 else f"{ends}◂"],
                ha="left" if side > 0 else "right",
                color=STYLES[str(far["decision"].iloc[0])].get("color", "0.35"),
            )  # fmt: skip


def _write_heads(page: Page) -> None:
    """Write the legend, and the heads of the columns."""
    handles: list[Any] = [
        Line2D(
            [], [], linestyle="", marker=style["marker"], markersize=4, label=style["label"],
            markerfacecolor=style.get("facecolor", _colour(decision)),
            markeredgecolor=_colour(decision),
        )
        for decision, style in STYLES.items()
    ]  # fmt: skip
    handles += [Patch(color=NEEDED, label="needed"), Patch(color=TOO_SMALL, label="too small")]
    page.drawing.legend(
        handles=handles, loc="upper left", ncols=7, fontsize=SIZE, frameon=False, borderpad=0,
        handlelength=1, handletextpad=0.4, columnspacing=1.1, bbox_to_anchor=(0, 1),
        borderaxespad=0.3,
    )  # fmt: skip
    top = page.height
    page.write(BADGE, top - 0.2, KEY, fontsize=SMALL)
    page.write(sum(AXIS) / 2, top - 0.34, UNIT, ha="center", fontsize=SMALL, linespacing=1.1)
    heads = {BADGE: "mark", SENTENCE: "sentence, and below it its claims", HOLD: "hold"}
    for left, text in heads.items():
        page.write(left, top - 0.59, text, color="0.35")
    page.write(SEEDS, top - 0.59, "seeds", color="0.35", ha="right")
    _write_ticks(page, top - 0.7, at_top=True)


def _write_ticks(page: Page, at: float, *, at_top: bool) -> None:
    """Draw the axis with its numbers."""
    axes = page.axes(at, at + 0.01)
    places = [-4, -2, 0, 2, 4]
    axes.set_xticks(places, [number(place) for place in places])
    axes.tick_params(
        length=2, pad=1, labelsize=SMALL, top=at_top, bottom=not at_top, labeltop=at_top,
        labelbottom=not at_top,
    )  # fmt: skip
    axes.set_yticks([])
    axes.spines[["left", "right", "bottom" if at_top else "top"]].set_visible(False)


def _counted(table: pd.DataFrame) -> str:
    silent = table["sentence"][table["mark"] == NO_RESULT].nunique()
    shown = table["sentence"].nunique() - silent
    states = "states" if silent == 1 else "state"
    return f"{shown} sentences are shown, each once; {silent} more {states} no result."
