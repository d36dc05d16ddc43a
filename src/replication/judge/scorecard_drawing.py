"""The picture of a scorecard."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from replication.judge.abstract import DEPARTS_IN, ERRATA_BESIDE
from replication.judge.verdicts import BEST_FIRST

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DECIDED_BY = "decided by "
"""Beginning of the mark of a sentence that the paper's other study decides."""
END = 4.0
"""End of the axis; points that are farther away are an arrow with their distance."""
LINE = 0.11
"""Height of a line of a claim, in inches."""
SENTENCE_LINE = 0.105
"""Height of a line of a sentence, in inches."""
GAP = 0.045
"""Height of the space around a sentence, and between two rows, in inches."""
SMALL, SIZE = 6.0, 6.5
"""Sizes of type, in points."""
MARGIN = 0.1
"""Margin that is added when the picture is saved, in inches."""
MOST_LINES = 3
"""Largest number of lines of a claim's words; more are cut."""
BADGE, SENTENCE, CLAIM, SAYS, VALUES, AXIS, HOLD, SEEDS = (
    0.03, 0.79, 0.09, 0.45, 2.98, (3.04, 4.26), 4.63, 5.27,
)  # fmt: skip
"""Places of the columns from the left edge, in inches; of the axis, both ends.

That of the seeds is their right edge."""
NEEDED, TOO_SMALL, BAND = "#e3efdd", "#fbf0d6", "#efefef"
"""Colours of areas: needed values, effects that are too small, and sentences."""
STYLES: dict[str, dict[str, Any]] = {
    "holds": {"marker": "o", "color": "#0072b2", "label": "holds"},
    "open": {
        "marker": "s", "facecolor": "white", "edgecolor": "#6a6a6a",
        "label": "open",
    },
    "none": {"marker": "v", "color": "#e69f00", "label": "too small to count"},
    "less": {
        "marker": "v", "facecolor": "white", "edgecolor": "#e69f00", "label": "less than claimed",
    },
    "fails": {"marker": "X", "color": "#c1440e", "label": "opposite or out of range"},
}  # fmt: skip
"""Marker of a comparison by its decision."""
GROUPS = {
    "verified": "hold", "reproduced": "hold", "replicated": "hold", "in part": "hold in part",
    "does not hold": "do not hold", "open": "are open", "not tested": "are not tested",
}  # fmt: skip
"""Words after the claims that have a verdict."""
BESIDE = ("plain", "errata", "departs")
"""Columns of what stands beside a mark; not every sentence has it."""
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

    label: str
    """Number of the claim."""
    words: list[str]
    """Text of the claim, line by line."""
    rows: "pd.DataFrame | None"
    """Comparisons; none of a line that is only a text."""
    values: tuple[str, ...] = ()
    """Lines of the values found and needed, of a claim that has no place on the axis."""

    @property
    def height(self) -> float:
        """Height of the line in inches."""
        return LINE * max(len(self.words), len(self.values))


class Row(NamedTuple):
    """A sentence, or the name of a version."""

    words: list[str]
    """Lines of the sentence."""
    mark: str
    """Mark of the sentence; empty for a version."""
    lines: list[Line]
    """Lines of the claims that decide the sentence."""
    plain: list[str] = []
    """Lines of the finding in a few words."""

    @property
    def height(self) -> float:
        """Height of the row in inches."""
        return self.head + self.height_of_lines + GAP

    @property
    def height_of_lines(self) -> float:
        """Height of the lines of claims in inches."""
        return sum(line.height for line in self.lines)

    @property
    def head(self) -> float:
        """Height of the sentence in inches."""
        return SENTENCE_LINE * (len(self.words) + len(self.plain)) + GAP


def draw_scorecard(table: "pd.DataFrame") -> "Figure":
    """Draw a table of `scorecard_figure`."""
    import matplotlib.pyplot as plt

    from replication.figures.style import WIDTH

    foot = [*wrap(EXPLANATION, SEEDS - BADGE, SMALL), _counted(table)]
    top, bottom = 0.72, 0.3 + SENTENCE_LINE * len(foot)
    rows = list(_rows(table))
    height = top + sum(row.height for row in rows) + bottom
    drawing = plt.figure(figsize=(WIDTH - 2 * MARGIN, height))
    page = Page(drawing, WIDTH - 2 * MARGIN, height)
    _write_heads(page, height)
    at = height - top
    for row in rows:
        _draw_row(page, row, at)
        at -= row.height
    _write_ticks(page, at - 0.02, at_top=False)
    page.write(BADGE, at - 0.22, "\n".join(foot), fontsize=SMALL, linespacing=1.2)
    return drawing


def width(text: str, size: float) -> float:
    """Return the width of a text in inches.

    Args:
        text: one line.
        size: of the type, in points.
    """
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    points, _, _ = text_to_path.get_text_width_height_descent(
        text, FontProperties(size=size), ismath=False
    )
    return float(points) / 72


def wrap(text: str, room: float, size: float, most: int | None = None) -> list[str]:
    """Return a text in lines.

    Args:
        text: the text.
        room: width of the lines in inches.
        size: as `width` takes it.
        most: largest number of lines; a longer text is cut.
    """
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width(longer, size) <= room:
            lines[-1] = longer
        elif len(lines) == most:
            lines[-1] = _with_dots(lines[-1], room, size)
            break
        else:
            lines.append(word)
    return lines


def _with_dots(line: str, room: float, size: float) -> str:
    """Return a line that ends with dots, without the words for which there is no room then."""
    while width(f"{line} …", size) > room and " " in line:
        line = line.rpartition(" ")[0]
    return f"{line} …"


class Page(NamedTuple):
    """A figure on which places are in inches from the lower left corner."""

    drawing: "Figure"
    width: float
    height: float

    def write(self, left: float, at: float, text: str, **style: Any) -> None:
        """Write a text at a place."""
        style = {"fontsize": SIZE, "va": "top", "parse_math": False, **style}
        self.drawing.text(left / self.width, at / self.height, text, **style)

    def axes(self, left: float, right: float, lower: float, upper: float) -> "Axes":
        """Return new axes between four edges."""
        width, height = (right - left) / self.width, (upper - lower) / self.height
        return self.drawing.add_axes((left / self.width, lower / self.height, width, height))

    def shade(self, lower: float, upper: float, colour: str) -> None:
        """Shade a band of the whole width."""
        from matplotlib.patches import Rectangle

        self.drawing.add_artist(
            Rectangle(
                (0, lower / self.height), 1, (upper - lower) / self.height,
                transform=self.drawing.transFigure, color=colour, linewidth=0, zorder=-1,
            )
        )  # fmt: skip


def _rows(table: "pd.DataFrame") -> Iterator[Row]:
    """Yield the rows of the picture; a claim is drawn at the first sentence that it decides."""
    shown = table[table["mark"] != NO_RESULT]
    drawn: set[str] = set()
    several = len(shown["version"].unique()) > 1
    version = None
    for _, rows in shown.groupby("sentence", sort=True):
        first = rows.iloc[0]
        if several and first["version"] != version:
            version = first["version"]
            yield Row([f"The abstract of {version}"], "", [])
        words = wrap(first["words"], SEEDS - SENTENCE - 0.05, SIZE)
        claims = rows.dropna(subset="claim")
        lines = list(_lines(claims, drawn)) if len(claims) else [_text_line(first)]
        # A file has no value where a text is empty.
        plain, errata, departs = (first[name] if first.notna()[name] else "" for name in BESIDE)
        if limits := _limits(errata, departs):
            lines.append(Line("", wrap(limits, SEEDS - CLAIM, SMALL, MOST_LINES), None))
        told = first["at_paper_scale"].splitlines() if first.notna().get("at_paper_scale") else []
        new = [text for text in told if text.partition(" ")[0] not in drawn]
        lines += [Line("", wrap(text, SEEDS - CLAIM, SMALL), None) for text in new]
        in_plain_words = wrap(plain, SEEDS - SENTENCE - 0.05, SIZE)
        yield Row(words, _mark(first["mark"]), lines, in_plain_words)
        drawn |= {*claims["claim"]}


def _mark(mark: str) -> str:
    return "see there" if mark.startswith(DECIDED_BY) else mark


def _limits(errata: str, departs: str) -> str:
    """Return the errata that touch a sentence, and departures from the paper, in words."""
    parts = (
        f"{ERRATA_BESIDE} {errata}." * bool(errata),
        f"{DEPARTS_IN} {departs}." * bool(departs),
    )
    return " ".join(filter(None, parts))


def _text_line(first: "pd.Series[Any]") -> Line:
    """Return the line of a sentence that no claim decides here."""
    before = "Not tested: " * (first["mark"] == "not tested")
    says = str(first["says"])
    says = before + says if before else says[:1].upper() + says[1:]
    return Line("", wrap(says, SEEDS - CLAIM, SMALL, MOST_LINES), None)


def _lines(rows: "pd.DataFrame", drawn: set[str]) -> Iterator[Line]:
    """Yield the lines of a sentence: its claims, then those that are drawn further up.

    Of the theory, verified statements are one line.
    """
    new = rows[~rows["claim"].isin(drawn)]
    is_verified = new["verdict"] == "verified"
    proved = list(new["claim"][is_verified].unique())
    if len(proved) > 1:
        says = f"{len(proved)} statements of the theory: {', '.join(proved)}"
        yield _claim_line("theory", says, new[is_verified])
        new = new[~is_verified]
    for claim, own in new.groupby("claim", sort=False):
        yield _claim_line(str(claim), str(own["says"].iloc[0]), own)
    old = rows[rows["claim"].isin(drawn)].drop_duplicates("claim")
    if len(old):
        yield Line("", _words_of_drawn(old), None)


def _claim_line(label: str, says: str, rows: "pd.DataFrame") -> Line:
    is_far_left = bool((rows["distance"] < -END).any())
    room = VALUES - SAYS - 0.06 - 0.3 * is_far_left
    late = " (late)" if rows["late"].any() else ""
    words = wrap(says, room - width(late, SMALL), SMALL, MOST_LINES)
    values = () if rows["distance"].notna().any() else _values(rows)
    return Line(label, [*words[:-1], words[-1] + late], rows, values)


def _words_of_drawn(rows: "pd.DataFrame") -> list[str]:
    """Return in lines of words which claims are drawn further up, and how they were judged."""
    groups: dict[str, list[str]] = {}
    for claim, verdict in zip(rows["claim"], rows["verdict"], strict=True):
        groups.setdefault(GROUPS[verdict], []).append(claim)
    order = dict.fromkeys(GROUPS.values())
    told = [
        f"{', '.join(groups[group])} {_verb(group, groups[group])}"
        for group in order
        if group in groups
    ]
    return wrap(f"Drawn above: {'; '.join(told)}.", SEEDS - CLAIM, SMALL)


def _verb(group: str, claims: list[str]) -> str:
    if len(claims) > 1:
        return group
    first, _, rest = group.partition(" ")
    return f"{ {'hold': 'holds', 'do': 'does', 'are': 'is'}[first] } {rest}".strip().replace(
        "  ", " "
    )


def _draw_row(page: Page, row: Row, at: float) -> None:
    """Draw a sentence with its mark, and the lines below it."""
    if not row.mark:
        page.write(BADGE, at - 0.04, row.words[0], weight="bold")
        return
    page.shade(at - row.head, at, BAND)
    _write_badge(page, at, row.mark)
    page.write(SENTENCE, at - 0.035, "\n".join(row.words), linespacing=1.12)
    below = at - 0.035 - SENTENCE_LINE * len(row.words)
    page.write(SENTENCE, below, "\n".join(row.plain), linespacing=1.12, weight="bold")
    at -= row.head
    for line in row.lines:
        middle = at - LINE / 2
        if line.rows is None:
            _write_lines(page, CLAIM, middle, line.words, color="0.35")
        else:
            _draw_line(page, at, line, line.rows)
        at -= line.height


def _write_lines(
    page: Page, left: float, middle: float, words: Sequence[str], **style: Any
) -> None:
    """Write lines of small type below each other."""
    for place, text in enumerate(words):
        lower = middle - LINE * place
        page.write(left, lower, text, fontsize=SMALL, va="center_baseline", **style)


def _write_badge(page: Page, at: float, mark: str) -> None:
    from replication.figures.style import VERDICT_COLOURS

    colour = VERDICT_COLOURS.get("replicated" if mark == "holds" else mark, "0.85")
    box = {"facecolor": colour, "edgecolor": "none", "pad": 1.2}
    page.write(BADGE, at - 0.035, mark, weight="bold", bbox=box)


def _draw_line(page: Page, at: float, line: Line, rows: "pd.DataFrame") -> None:
    """Draw a claim: number, words, comparisons or values, counts and seeds."""
    middle = at - LINE / 2
    first = rows.iloc[0]
    _write_lines(page, CLAIM, middle, [line.label], weight="bold")
    _write_lines(page, SAYS, middle, line.words)
    known = rows.dropna(subset="distance")
    if len(known):
        _draw_comparisons(page.axes(*AXIS, at - line.height, at), len(line.words), known)
        _write_far(page, middle, known)
    else:
        _write_lines(page, VALUES, middle, line.values, color=_colour(rows))
    claims = rows.drop_duplicates("claim")
    holding, compared = claims["holding"].sum(), claims["comparisons"].sum()
    if compared:
        _write_lines(page, HOLD, middle, [f"{holding:.0f} of {compared:.0f}"])
    if first["seeds"]:
        _write_lines(page, SEEDS, middle, [f"{first['seeds']:.0f}"], ha="right")


def _colour(rows: "pd.DataFrame") -> str:
    """Return the colour of the comparison that speaks most against a claim."""
    known = (decision for decision in rows["decision"] if decision in BEST_FIRST)
    style = STYLES[max(known, key=BEST_FIRST.index, default="open")]
    return str(style.get("color") or style["edgecolor"])


def _values(rows: "pd.DataFrame") -> tuple[str, ...]:
    """Return the values found and needed, in two lines if one has no room for both."""
    from replication.figures.typeset import number

    if not rows["comparisons"].iloc[0]:
        return ("not tested",)
    if len(rows["claim"].unique()) > 1:
        return ("computed, all as stated",)
    ranges = dict.fromkeys(
        number(end, 2) for end in (rows["estimate"].min(), rows["estimate"].max())
    )
    ends = [(sign, rows[name].unique()) for sign, name in (("≥", "lower"), ("≤", "upper"))]
    bounds = [
        f"{sign} {number(end[0], 2)}" for sign, end in ends if len(end) == 1 and end[0] == end[0]
    ]
    found, needed = " to ".join(ranges), f"needed {' and '.join(bounds)}"
    if not bounds:
        return (found,)
    both = f"{found}, {needed}"
    # In one line if it keeps a distance from the next column.
    return (both,) if width(both, SMALL) < HOLD - VALUES - 0.06 else (f"{found},", needed)


def _draw_comparisons(axes: "Axes", lines: int, rows: "pd.DataFrame") -> None:
    """Draw the needed range, and in the first line the estimates with their intervals."""
    axes.set_xlim(-END - 0.25, END + 0.25)
    axes.set_ylim(1 - 2 * lines, 1)
    axes.set_axis_off()
    _box(axes, 0, END + 0.25, lines, NEEDED)
    if rows["no_effect"].notna().any():
        _box(axes, -2, 0, lines, TOO_SMALL)
        axes.axvline(-1, color="0.55", linewidth=0.7, linestyle=":")
    _box(axes, -0.02, 0.02, lines, "0.3")
    for decision, points in rows.groupby("decision", sort=False):
        style = {name: value for name, value in STYLES[str(decision)].items() if name != "label"}
        colour = style.get("color") or style["edgecolor"]
        axes.hlines(
            [0] * len(points), points["low"], points["high"], color=colour, linewidth=0.7, zorder=2
        )
        near = points[points["distance"].abs() <= END]
        axes.scatter(near["distance"], [0] * len(near), s=10, linewidth=0.7, zorder=3, **style)


def _write_far(page: Page, middle: float, rows: "pd.DataFrame") -> None:
    """Write an arrow at each end of the axis, and how far away the points beyond it are."""
    for side in (-1, 1):
        far = rows[rows["distance"] * side > END].sort_values("distance", key=abs)
        if len(far):
            ends = "-".join(
                dict.fromkeys(f"{end:.0f}" for end in far["distance"].abs().iloc[[0, -1]])
            )
            style = STYLES[str(far["decision"].iloc[0])]
            _write_lines(
                page, AXIS[side > 0] + 0.01 * side, middle,
                [f"▸{ends}" if side > 0 else f"{ends}◂"],
                ha="left" if side > 0 else "right", color=style.get("color", "0.35"),
            )  # fmt: skip


def _box(axes: "Axes", left: float, right: float, lines: int, colour: str) -> None:
    """Fill an area of an axis over lines of text."""
    from matplotlib.patches import Rectangle

    axes.add_patch(
        Rectangle(
            (left, 1 - 2 * lines), right - left, 2 * lines, color=colour, linewidth=0, zorder=0
        )
    )


def _write_heads(page: Page, height: float) -> None:
    """Write the legend, and the heads of the columns."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Line2D(
            [], [], linestyle="", marker=style["marker"], markersize=4,
            markerfacecolor=style.get("facecolor", style.get("color")),
            markeredgecolor=style.get("edgecolor", style.get("color")), label=style["label"],
        )
        for style in STYLES.values()
    ]  # fmt: skip
    handles += [Patch(color=NEEDED, label="needed"), Patch(color=TOO_SMALL, label="too small")]
    page.drawing.legend(
        handles=handles, loc="upper left", ncols=7, fontsize=SIZE, frameon=False, borderpad=0,
        handlelength=1, handletextpad=0.4, columnspacing=1.1, bbox_to_anchor=(0, 1),
        borderaxespad=0.3,
    )  # fmt: skip
    page.write(BADGE, height - 0.2, KEY, fontsize=SMALL)
    page.write(sum(AXIS) / 2, height - 0.34, UNIT, ha="center", fontsize=SMALL, linespacing=1.1)
    heads = {BADGE: "mark", SENTENCE: "sentence, and below it its claims", HOLD: "hold"}
    for left, text in heads.items():
        page.write(left, height - 0.59, text, color="0.35")
    page.write(SEEDS, height - 0.59, "seeds", color="0.35", ha="right")
    _write_ticks(page, height - 0.7, at_top=True)


def _write_ticks(page: Page, at: float, *, at_top: bool) -> None:
    """Draw the axis with its numbers."""
    from replication.figures.typeset import number

    axes = page.axes(*AXIS, at, at + 0.01)
    axes.set_xlim(-END - 0.25, END + 0.25)
    places = [-4, -2, 0, 2, 4]
    axes.set_xticks(places, [number(place) for place in places])
    axes.tick_params(
        length=2,
        pad=1,
        labelsize=SMALL,
        top=at_top,
        bottom=not at_top,
        labeltop=at_top,
        labelbottom=not at_top,
    )
    axes.set_yticks([])
    axes.spines[["left", "right", "top" if not at_top else "bottom"]].set_visible(False)


def _counted(table: "pd.DataFrame") -> str:
    silent = table["sentence"][table["mark"] == NO_RESULT].nunique()
    shown = table["sentence"].nunique() - silent
    states = "states" if silent == 1 else "state"
    return f"{shown} sentences are shown, each once; {silent} more {states} no result."
