"""The figure of the scorecard: the sentences of an abstract, and how far each of them holds."""

import textwrap
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from replication.judge.verdicts import Comparison, Verdict
from replication.study.contract import Figure
from replication.study.registry import SCORECARD, Registry

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing


FARTHEST = 100.0
"""Largest distance that is drawn, in margins; a larger one stands at this one."""
TEXT_LETTERS = 46
"""Number of letters of a sentence in one line."""
LINE_HEIGHT = 0.11
"""Height of a line, in inches."""
AXIS = (0.42, 0.71)
"""Left and right end of the axis, as parts of the width of the figure."""
DECIDED_BY = "decided by "
"""Beginning of the mark of a sentence that the paper's other study decides."""
SHADE = "#e8f1e4"
COLOURS = {"holds": "#0072b2", "open": "#7f7f7f"}
"""Colours of comparisons by decision; those of the others are `REFUTED`."""
REFUTED = "#d55e00"
MARKERS = {"holds": "o", "open": "s"}
TICKS = (-100, -10, -1, 0, 1, 10, 100)
_LEFT = -AXIS[0] / (AXIS[1] - AXIS[0])
"""Left edge of the figure, in widths of the axis."""
COLUMNS = {"claim": 1.03, "hold": 1.3, "seeds": 1.62}
"""Places of the columns of counts, in widths of the axis."""


class Scorecard(Figure):
    """The abstract's sentences with the estimates that decide them, on one axis."""

    title: ClassVar[str] = "The abstract, sentence by sentence"
    columns: ClassVar[tuple[str, ...]] = (
        "version", "sentence", "words", "mark", "claim", "verdict", "holding", "comparisons",
        "seeds", "cell", "decision", "distance", "low", "high",
    )  # fmt: skip
    kind: Literal["scorecard"] = SCORECARD
    """Kind of the figure."""


def judged_sentences(registry: Registry) -> list[dict[str, Any]]:
    """Return the sentences of all abstracts that say something empirical, each once.

    Args:
        registry: of the paper.

    Returns:
        Version and words of each sentence, the numbers of its claims that have a test and of those
        that have none, the study that decides it if not this one, and its mark if no claim does.
    """
    tested = {claim.id for claim in registry.claims if claim.test}
    seen: dict[str, dict[str, Any]] = {}
    for abstract in registry.abstracts:
        for sentence in abstract.sentences:
            if sentence.mark != "no empirical statement":
                found = {
                    "version": abstract.version,
                    "words": sentence.words,
                    "claims": [name for name in sentence.claims if name in tested],
                    "untested": [name for name in sentence.claims if name not in tested],
                    "study": sentence.study,
                    "mark": sentence.mark,
                }
                seen.setdefault(sentence.model_dump_json(), found)
    return list(seen.values())


def claims_of_sentences(sentences: list[dict[str, Any]]) -> list[str]:
    """Return the claims that decide sentences and have a test, each once."""
    return list(dict.fromkeys(claim for each in sentences for claim in each["claims"]))


def table(figure: Scorecard, *verdicts: Verdict, sentences: list[dict[str, Any]]) -> "pd.DataFrame":
    """Return one row per sentence, claim and comparison that counts.

    `distance` is that of the estimate from the end of the needed range, in margins; it is positive
    inside the range. `low` and `high` are the ends of the interval likewise. A claim that has no
    comparison, and a sentence that has no claim, are one row without numbers.

    Args:
        figure: states the columns.
        verdicts: those on `claims_of_sentences`, in this order.
        sentences: what `judged_sentences` returned.
    """
    import pandas as pd

    from replication.judge.abstract import without_latex

    found = {verdict.claim: verdict for verdict in verdicts}
    rows = [
        {"version": each["version"], "sentence": at, "words": without_latex(each["words"]), **row}
        for at, each in enumerate(sentences, 1)
        for row in _sentence_rows(each, found)
    ]
    return pd.DataFrame(rows, columns=list(figure.columns))


def table_of_verdicts(registry: Registry, verdicts: Mapping[str, Verdict]) -> "pd.DataFrame":
    """Return the table of a paper's scorecard, from the verdicts of its reference.

    Args:
        registry: of the paper.
        verdicts: by number of the claim.
    """
    sentences = judged_sentences(registry)
    given = [verdicts[claim] for claim in claims_of_sentences(sentences)]
    return table(Scorecard(), *given, sentences=sentences)


def _sentence_rows(
    sentence: dict[str, Any], verdicts: dict[str, Verdict]
) -> Iterator[dict[str, Any]]:
    from replication.judge.abstract import joint_mark

    judged = [verdicts[claim] for claim in sentence["claims"]]
    judged += [Verdict.without_evidence(claim, "no test") for claim in sentence["untested"]]
    if not judged:
        yield {"mark": sentence["mark"] or f"{DECIDED_BY}{sentence['study']}"}
    mark = joint_mark([each.verdict for each in judged]) if judged else None
    for verdict in judged:
        own = {
            "mark": mark,
            "claim": verdict.claim,
            "verdict": verdict.verdict,
            "holding": verdict.holding,
            "comparisons": len(verdict.counted),
            "seeds": verdict.seeds,
        }
        for item in verdict.counted:
            yield own | _comparison_row(item)
        if not verdict.counted:
            yield own


def _comparison_row(item: Comparison) -> dict[str, Any]:
    distance = _distance(item, item.estimate)
    row = {"cell": item.cell, "decision": item.decision, "distance": distance}
    if item.low is None or item.high is None:
        return row
    ends = [_distance(item, item.low), _distance(item, item.high)]
    # The middle of a range with two ends is farther inside than the ends of an interval around it.
    if item.lower is not None and item.upper is not None:
        middle = (item.lower + item.upper) / 2
        ends += [_distance(item, middle)] if item.low < middle < item.high else []
    return row | {"low": min(ends), "high": max(ends)}


def _distance(item: Comparison, value: float) -> float:
    """Return how far a value lies inside the needed range, in margins, at most `FARTHEST`."""
    inside = min(
        value - item.lower if item.lower is not None else float("inf"),
        item.upper - value if item.upper is not None else float("inf"),
    )
    return float(min(max(inside / _margin(item), -FARTHEST), FARTHEST))


def _margin(item: Comparison) -> float:
    """Return the unit of a comparison's distances.

    That is the smallest effect that matters, or half the width of a range with two ends. A claim
    that has neither is measured in units of its bound, of half its interval, or of its estimate.
    """
    if item.lower is not None and item.upper is not None:
        return (item.upper - item.lower) / 2 or 1.0
    needed = float(item.lower if item.lower is not None else item.upper or 0)
    width = (item.high or 0) - (item.low or 0)
    effect = needed - item.bound if item.bound is not None else 0
    return abs(effect or needed or width / 2 or item.estimate) or 1.0


class Line(NamedTuple):
    """A line of the picture: a claim, or the statements of the theory that are all verified."""

    label: str
    """Number of the claim; of several, the first and the number of the others."""
    rows: "pd.DataFrame"
    """Comparisons."""

    @property
    def counts(self) -> str:
        """Return how many of the comparisons hold, or the verdict if there is none."""
        claims = self.rows.drop_duplicates("claim")
        holding, compared = claims["holding"].sum(), claims["comparisons"].sum()
        return f"{holding:.0f} of {compared:.0f}" if compared else str(claims["verdict"].iloc[0])

    @property
    def seeds(self) -> str:
        """Return the number of seeds; none of the theory."""
        seeds = self.rows["seeds"].iloc[0]
        return f"{seeds:.0f}" if seeds else "theory" if self.rows["cell"].notna().all() else ""


class Row(NamedTuple):
    """A row of the picture: a sentence."""

    words: list[str]
    """Lines of the sentence."""
    mark: str
    """Mark of the sentence."""
    lines: list[Line]
    """Lines that decide it."""

    @property
    def height(self) -> float:
        """Return the height of the row in lines of text."""
        return max(len(self.words) + 1.2, len(self.lines), 2) + 0.8


def draw(figure: Scorecard, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw a row per sentence: words and mark, a line per claim on a common axis, its counts.

    Sentences that the paper's other study decides are counted below.
    """
    import matplotlib.pyplot as plt

    from replication.figures.style import WIDTH, write_note

    is_elsewhere = table["mark"].str.startswith(DECIDED_BY)
    rows = list(_rows(table[~is_elsewhere]))
    height = LINE_HEIGHT * (sum(row.height for row in rows) + 7)
    drawing, column = plt.subplots(
        len(rows), 1, sharex=True, squeeze=False, figsize=(WIDTH, height),
        gridspec_kw={"height_ratios": [row.height for row in rows], "hspace": 0},
    )  # fmt: skip
    top, bottom = 1 - 3 * LINE_HEIGHT / height, 4 * LINE_HEIGHT / height
    drawing.subplots_adjust(left=AXIS[0], right=AXIS[1], top=top, bottom=bottom)
    least = min(table[["distance", "low"]].min().min(), -2) * 1.5
    for axes, row in zip(column[:, 0], rows, strict=True):
        _draw_axis(axes, least)
        _write_sentence(axes, row)
        # Lines are as far apart as lines of text, and begin at the top of the row.
        axes.set_ylim(row.height - 1, -1)
        for at, line in enumerate(row.lines):
            _draw_line(axes, at, line)
    _write_heads(column[0, 0])
    last = column[-1, 0]
    last.tick_params(length=3, labelbottom=True, labelsize=6.5)
    last.set_xlabel("distance from the end of the needed range, in margins", fontsize=6.5)
    for mark, found in table[is_elsewhere].groupby("mark"):
        write_note(drawing, f"Sentences that are {mark}: {found['sentence'].nunique()}.")
    return drawing


def _rows(table: "pd.DataFrame") -> Iterator[Row]:
    """Yield the rows of the picture; the first of each of several versions names its version."""
    version = table["version"].iloc[0] if table["version"].nunique() < 2 else ""
    for _, rows in table.groupby("sentence", sort=True):
        first = rows.iloc[0]
        words = textwrap.wrap(first["words"], TEXT_LETTERS)
        if first["version"] != version:
            version = first["version"]
            words.insert(0, f"[{version}]")
        yield Row(words, str(first["mark"]), list(_lines(rows.dropna(subset="claim"))))


def _lines(rows: "pd.DataFrame") -> Iterator[Line]:
    """Yield the lines of a sentence, that of the verified statements of the theory first."""
    is_verified = rows["verdict"] == "verified"
    if is_verified.any():
        claims = rows["claim"][is_verified].unique()
        more = f" +{len(claims) - 1}" if len(claims) > 1 else ""
        yield Line(claims[0] + more, rows[is_verified])
    for claim, own in rows[~is_verified].groupby("claim", sort=False):
        yield Line(str(claim), own)


def _draw_axis(axes: "Axes", least: float) -> None:
    """Draw the shaded range, its end, and the place of a claim's bound."""
    from replication.figures.typeset import number

    axes.set_xscale("symlog", linthresh=1)
    axes.set_xlim(least, FARTHEST * 1.6)
    axes.axvspan(0, FARTHEST * 1.6, color=SHADE, linewidth=0)
    axes.axvline(0, color="0.3", linewidth=0.8)
    axes.axvline(-1, color="0.6", linewidth=0.6, linestyle=":")
    axes.set_yticks([])
    shown = [place for place in TICKS if place > least]
    axes.set_xticks(shown, [number(place) for place in shown])
    axes.minorticks_off()
    axes.tick_params(length=0, labelbottom=False)
    axes.spines[["left", "right"]].set_visible(False)
    axes.spines[["top", "bottom"]].set(color="0.8", linewidth=0.6)


def _write_sentence(axes: "Axes", row: Row) -> None:
    from replication.figures.style import VERDICT_COLOURS

    place: dict[str, Any] = {"transform": axes.transAxes, "fontsize": 6.5, "va": "top"}
    axes.text(
        _LEFT,
        1 - 0.4 / row.height,
        "\n".join(row.words),
        linespacing=1.12,
        parse_math=False,
        **place,
    )
    colour = VERDICT_COLOURS.get("replicated" if row.mark == "holds" else row.mark, "0.9")
    axes.text(
        _LEFT, 1 - (len(row.words) + 0.75) / row.height, f" {row.mark} ", weight="bold",
        bbox={"facecolor": colour, "edgecolor": "none", "pad": 1.2}, **place,
    )  # fmt: skip


def _draw_line(axes: "Axes", at: int, line: Line) -> None:
    """Draw the comparisons, the interval of the least favourable one, and the counts."""
    known = line.rows.dropna(subset="distance")
    for decision, points in known.groupby("decision", sort=False):
        axes.scatter(
            points["distance"], [at] * len(points), s=9, color=COLOURS.get(str(decision), REFUTED),
            marker=MARKERS.get(str(decision), "X"), zorder=3, linewidth=0, alpha=0.8,
        )  # fmt: skip
    worst = known.sort_values("distance").head(1)
    for _, found in worst.dropna(subset=["low", "high"]).iterrows():
        colour = COLOURS.get(found["decision"], REFUTED)
        axes.hlines(at, found["low"], found["high"], color=colour, linewidth=0.9, zorder=2)
    texts = (line.label, line.counts, line.seeds)
    for place, text in zip(COLUMNS.values(), texts, strict=True):
        axes.text(
            place, at, text, transform=axes.get_yaxis_transform(), fontsize=6, va="center_baseline"
        )


def _write_heads(axes: "Axes") -> None:
    """Write the heads of the columns above the first row."""
    heads = {"sentence of the abstract, and its mark": _LEFT, "outside": 0, **COLUMNS}
    texts = [(place, text, "left") for text, place in heads.items()]
    for place, text, side in (*texts, (1, "needed range", "right")):
        axes.annotate(
            text, (place, 1), (0, 3), xycoords="axes fraction", textcoords="offset points",
            fontsize=6.5, color="0.3", ha=side,
        )  # fmt: skip
