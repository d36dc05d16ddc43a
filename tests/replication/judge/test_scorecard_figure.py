"""The figure of the scorecard: its distances, its rows, and the picture."""

import numpy as np
import pandas as pd
import pytest

from replication.figures.drawn_numbers import unknown_marks
from replication.figures.style import set_style
from replication.judge.scorecard_figure import (
    Scorecard,
    claims_of_scorecard,
    draw,
    registry_of_scorecard,
    table,
    table_of_verdicts,
)
from replication.judge.verdicts import Comparison, Verdict
from replication.study.registry import SCORECARD, Departure, Registry

FIGURE = Scorecard()


def comparison(decision="holds", **changes):
    return Comparison(cell="a", decision=decision, **{"estimate": 1.0, **changes})


def verdict(claim, *comparisons, outcome="replicated", seeds=8):
    return Verdict(
        claim=claim, verdict=outcome, summary="said", seeds=seeds, comparisons=list(comparisons)
    )


CLAIM = {"where": "Theorem 1", "quote": {"words": "It works.", "place": "Theorem 1"}}
JUDGED = {
    "quantity": "Value", "expected": "above 0", "evidence": "a.b", "why": "As said.",
    "test": {"kind": "interval", "lower": 0, "level": 0.025},
}  # fmt: skip


def sentence(*claims, words="It works.", version="v1", **keys):
    return {"words": words, "claims": [*claims], "version": version, **keys}


def registry(*sentences, untested=(), late=(), errata=(), **keys):
    """One with these sentences, each with its version, and all claims that they name."""
    versions = {each["version"]: [] for each in sentences}
    for each in sentences:
        versions[each["version"]].append({k: v for k, v in each.items() if k != "version"})
    names = dict.fromkeys(name for each in sentences for name in each["claims"])
    claims = [
        CLAIM
        | {"id": name, "statement": "Long.", "headline": f"{name} says so."}
        | ({"not_tested": "No data."} if name in untested else JUDGED)
        | {"declared_late": name in late}
        for name in names
    ]
    claims += [
        CLAIM | {"id": name, "kind": "erratum", "statement": "2 is 3.", "not_tested": "Plain."}
        for name in errata
    ]
    parts = {
        "abstracts": [{"version": name, "sentences": own} for name, own in versions.items()],
        "title": "A paper", "authors": "A. Author", "venue": "Here", "figures": {},
        "methods": [], "claims": claims, **keys,
    }  # fmt: skip
    return Registry.parse(parts, "registry")


def distances(*, low=None, high=None, **changes):
    said = verdict("T1", comparison(low=low, high=high, **changes))
    row = table_of_verdicts(registry(sentence("T1")), {"T1": said}).iloc[0]
    return [row["distance"], row["low"], row["high"]]


# The claim's bound is 0 and the smallest effect .5, so that the needed range begins at .5.
DIRECTIONS = {
    "above": (
        {"estimate": 1.0, "low": 0.75, "high": 1.25, "lower": 0.5, "bound": 0}, [1, 0.5, 1.5],
    ),
    "below": (
        {"estimate": -1.0, "low": -1.25, "high": -0.75, "upper": -0.5, "bound": 0}, [1, 0.5, 1.5],
    ),
    "at the bound": ({"estimate": 0.0, "low": -0.5, "high": 0.5, "lower": 0.5, "bound": 0},
                     [-1, -2, 0]),
    "equal within": ({"estimate": 0.1, "low": -0.1, "high": 0.3, "lower": -0.4, "upper": 0.4},
                     [0.75, 0.25, 1]),
    "one side of the middle": (
        {"estimate": 0.2, "low": 0.1, "high": 0.3, "lower": -0.4, "upper": 0.4}, [0.5, 0.25, 0.75],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("numbers", "expected"), DIRECTIONS.values(), ids=[*DIRECTIONS])
def test_distances_are_in_smallest_effects_and_positive_inside(numbers, expected):
    assert np.allclose(distances(**numbers), expected, rtol=1e-12)


WITHOUT_UNIT = {
    "theory": {"estimate": 0.0, "upper": 1e-9},
    "no smallest effect": {"estimate": 3.0, "low": 2.5, "high": 3.5, "lower": 2.0, "bound": 2},
    "a point": {"estimate": 0.0, "low": -1, "high": 1, "lower": 0.0, "upper": 0.0},
}


@pytest.mark.parametrize("numbers", WITHOUT_UNIT.values(), ids=[*WITHOUT_UNIT])
def test_a_claim_without_a_unit_has_no_place(numbers):
    assert np.isnan(distances(**numbers)).all()


def test_no_effect_has_a_place_where_a_direction_is_claimed():
    direction, equal = (numbers for numbers, _ in list(DIRECTIONS.values())[::3])
    said = verdict("T1", comparison(**direction), comparison(**equal))
    found = table_of_verdicts(registry(sentence("T1")), {"T1": said})
    assert [*found["no_effect"].fillna(0)] == [-1, 0]


def whole_table():
    held = verdict("T1", comparison(estimate=9, lower=0.5, bound=0, low=8.0, high=10.0))
    proved = [
        verdict(name, comparison(upper=2.0), outcome="verified", seeds=0) for name in ("T2", "T3")
    ]
    lost = verdict(
        "T4",
        comparison("fails", estimate=-2.0, lower=0.5, bound=0, low=-2.5, high=-1.5),
        comparison("open", estimate=0.6, lower=0.5, bound=0, low=-0.5, high=1.5),
        comparison("none", estimate=0.1, lower=0.5, bound=0, low=-0.1, high=0.3),
        comparison(lower=0.5, bound=0, is_robustness=True),
        outcome="does not hold",
    )
    unmeasured = Verdict.without_evidence("T5", "no data")
    bare = verdict("T7", comparison("fails", estimate=16.5, upper=1.0, bound=1, low=16, high=17),
                   outcome="does not hold")  # fmt: skip
    paper = registry(
        sentence("T1", "T2", "T3", words="It $works and scans_\\emph{all} tokens of a text."),
        sentence(
            "T4",
            "T6",
            "T5",
            words="It snaps.",
            errata=["E1", "E2"],
            plain='{{ verdict("T1").comparisons[0].estimate | number }} times',
        ),
        sentence("T4", "T7", words="It snaps again.", version="v2"),
        sentence(words="It is fast.", mark="not tested", why="No time.", version="v2"),
        sentence(words="It is new.", mark="no empirical statement", why="Praise.", version="v2"),
        sentence(words="On text, too.", study="text", version="v2"),
        untested=["T6"],
        late=["T4"],
        errata=["E1", "E2"],
    )
    momentum = Departure("momentum", ("0",), "0.9", is_regime=True)
    paper = paper.model_copy(update={"departures": {"T5": [momentum]}})
    assert claims_of_scorecard(paper) == ["T1", "T2", "T3", "T4", "T5", "T7"]
    given = (held, *proved, lost, unmeasured, bare)
    return table(FIGURE, *given, registry=registry_of_scorecard(paper))


def test_a_row_is_a_comparison_that_counts_and_every_sentence_has_its_mark():
    found = whole_table()
    assert list(found.columns) == list(FIGURE.columns)
    claims = ["T1", "T2", "T3", *["T4"] * 3, "T5", "T6", *["T4"] * 3, "T7", "", "", ""]
    assert [*found["claim"].fillna("")] == claims
    marks = found.drop_duplicates("sentence").set_index("sentence")["mark"]
    assert [*marks] == [
        "holds", "does not hold", "does not hold", "not tested", "no empirical statement",
        "decided by text",
    ]  # fmt: skip
    assert found[["holding", "comparisons", "seeds"]].iloc[3].tolist() == [0, 3, 8]


@pytest.mark.filterwarnings("error")
def test_picture_shows_its_table_and_words_as_they_are(tmp_path):
    set_style()
    path = tmp_path / "table.csv"
    whole_table().to_csv(path, index=False)
    shown = pd.read_csv(path)
    drawing = draw(FIGURE, shown)
    assert list(unknown_marks(drawing, [shown])) == []
    said = [text.get_text() for axes in drawing.axes for text in axes.texts]
    for words in (
        "holds", "does not hold", "see there", "The abstract of v1", "T4", "T4 says so. (late)",
        "2 statements of the theory: T2, T3", "computed, all as stated", "2 of 2", "0 of 3",
        "16, needed ≤ 1", "not tested", "Drawn above: T4 (does not hold).",
        "Not tested: No time.", "This study decides the sentence: text.", "9 times",
        "Errata that touch it: E1, E2. Departs from the paper in momentum: 0 instead of 0.9.",
    ):  # fmt: skip
        assert words in said
    assert any("It $works and scans_" in text for text in said)
    drawing.draw_without_rendering()


def test_estimates_far_away_have_a_place_and_a_long_text_is_cut():
    near, far = (
        comparison(estimate=at, low=at, high=at, lower=0.5, bound=0) for at in (1.0, 500.0)
    )
    found = table_of_verdicts(registry(sentence("T1")), {"T1": verdict("T1", near, far)})
    drawing = draw(FIGURE, found.assign(says="as long as it is " * 20))
    (points,) = (axes.collections[-1] for axes in drawing.axes[1:] if axes.collections)
    low, high = drawing.axes[0].get_xlim()
    assert [low < place < high for place in points.get_offsets()[:, 0]] == [True, True]
    lines = [text.get_text() for axes in drawing.axes for text in axes.texts]
    assert [line for line in lines if "as it is" in line][-1].endswith(" …")


def test_each_sentence_stands_once():
    empirical = sentence("T1", "T2", words=r"It \emph{works}.")
    plain = sentence(words="It is new.", mark="no empirical statement", why="Praise.")
    paper = registry(plain, empirical, empirical | {"version": "v2"}, untested=["T2"])
    found = table(FIGURE, verdict("T1"), registry=registry_of_scorecard(paper))
    assert [*found["mark"]] == ["no empirical statement", "in part", "in part"]
    assert [*found["says"]] == ["Praise.", "T1 says so.", "T2 says so."]
    assert [*found["words"].iloc[1:]] == ["It works."] * 2
    assert [*found["version"]] == ["v1"] * 3
    assert [*found["late"].iloc[1:]] == [False, False]
    assert claims_of_scorecard(paper) == ["T1"]
    assert SCORECARD in paper.figures


def test_lines_on_the_papers_scale_stand_below_a_sentence_each_claim_once():
    told = "at the paper's scale"
    lines = {"It works.": f"{told}: open", "Again.": f"{told}: open", "T1": told}
    paper = registry(sentence("T1"), sentence("T1", words="Again."), at_paper_scale=lines)
    judged = verdict("T1", comparison(low=0.75, high=1.25, lower=0.5, bound=0))
    made = table_of_verdicts(paper, {"T1": judged})
    assert [*made.columns] == [*Scorecard.columns, "at_paper_scale"]
    texts = [text.get_text() for axes in draw(FIGURE, made).axes for text in axes.texts]
    assert texts.count("The sentence at the paper's scale: open") == 2
    assert texts.count("T1 at the paper's scale") == 1
