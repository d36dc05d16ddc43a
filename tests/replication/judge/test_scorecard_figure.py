"""The figure of the scorecard: its distances, its rows, and the picture."""

import numpy as np
import pandas as pd
import pytest

from replication.figures.marks import unknown_marks
from replication.figures.style import set_style
from replication.judge.scorecard_figure import (
    FARTHEST,
    Scorecard,
    claims_of_sentences,
    draw,
    judged_sentences,
    table,
)
from replication.judge.verdicts import Comparison, Verdict
from replication.study.registry import SCORECARD, Registry

FIGURE = Scorecard()


def comparison(decision="holds", **changes):
    return Comparison(cell="a", decision=decision, **{"estimate": 1.0, **changes})


def verdict(claim, *comparisons, outcome="replicated", seeds=8):
    return Verdict(
        claim=claim, verdict=outcome, summary="said", seeds=seeds, comparisons=list(comparisons)
    )


def sentence(*claims, words="It works.", untested=(), study=None, mark=None, version="v1"):
    return {
        "version": version, "words": words, "claims": [*claims], "untested": [*untested],
        "study": study, "mark": mark,
    }  # fmt: skip


def distances(*, low=None, high=None, **changes):
    said = verdict("T1", comparison(low=low, high=high, **changes))
    row = table(FIGURE, said, sentences=[sentence("T1")]).iloc[0]
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
    "unit is the bound": ({"estimate": 3.0, "low": 2.5, "high": 3.5, "lower": 2.0, "bound": 2},
                          [0.5, 0.25, 0.75]),
    "unit is half the interval": ({"estimate": 3.0, "low": 1.0, "high": 5.0, "lower": 0.0,
                                   "bound": 0}, [1.5, 0.5, 2.5]),
}  # fmt: skip


@pytest.mark.parametrize(("numbers", "expected"), DIRECTIONS.values(), ids=[*DIRECTIONS])
def test_distances_are_in_margins_and_positive_inside(numbers, expected):
    assert np.allclose(distances(**numbers), expected, rtol=1e-12)


def test_theory_has_no_interval_and_far_points_stand_at_the_end():
    assert distances(estimate=0.0, upper=1e-9)[0] == 1
    assert np.isnan(distances(estimate=0.0, upper=1e-9)[1])
    assert distances(estimate=1e9, lower=0.5, bound=0)[0] == FARTHEST
    assert distances(estimate=-1e9, lower=0.5, bound=0)[0] == -FARTHEST
    assert distances(estimate=0.0, lower=0.0, upper=0.0)[0] == 0
    assert distances(estimate=0.0, lower=0.0)[0] == 0


def whole_table():
    held = verdict("T1", comparison(lower=0.5, bound=0, low=0.8, high=1.2))
    proved = [
        verdict(name, comparison(upper=2.0), outcome="verified", seeds=0) for name in ("T2", "T3")
    ]
    lost = verdict(
        "T4",
        comparison("fails", estimate=-2.0, lower=0.5, bound=0, low=-2.5, high=-1.5),
        comparison("open", estimate=0.6, lower=0.5, bound=0, low=-0.5, high=1.5),
        comparison(lower=0.5, bound=0, is_robustness=True),
        outcome="does not hold",
    )
    unmeasured = Verdict.without_evidence("T5", "no data")
    sentences = [
        sentence("T1", "T2", "T3", words="It $works and scans_\\emph{all} tokens of a text."),
        sentence("T4", "T5", words="It snaps.", untested=["T6"]),
        sentence(words="It is fast.", mark="not tested", version="v2"),
        sentence(words="On text, too.", study="text"),
    ]
    assert claims_of_sentences(sentences) == ["T1", "T2", "T3", "T4", "T5"]
    return table(FIGURE, held, *proved, lost, unmeasured, sentences=sentences)


def test_a_row_is_a_comparison_that_counts_and_every_sentence_has_its_mark():
    found = whole_table()
    assert list(found.columns) == list(FIGURE.columns)
    assert [*found["claim"].fillna("")] == ["T1", "T2", "T3", "T4", "T4", "T5", "T6", "", ""]
    marks = found.drop_duplicates("sentence").set_index("sentence")["mark"]
    assert marks.to_dict() == {
        1: "holds", 2: "does not hold", 3: "not tested", 4: "decided by text",
    }  # fmt: skip
    assert found[["holding", "comparisons", "seeds"]].iloc[3].tolist() == [0, 2, 8]


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
        " holds ",
        " does not hold ",
        "T2 +1",
        "2 of 2",
        "theory",
        "0 of 2",
        "not tested",
    ):
        assert words in said
    assert any("\nIt $works and scans_" in text for text in said)
    assert any(text.startswith("[v2]") for text in said)
    assert [text.get_text() for text in drawing.texts] == ["Sentences that are decided by text: 1."]
    drawing.draw_without_rendering()


def test_sentences_are_those_that_can_be_decided_and_each_stands_once(monkeypatch):
    empirical = {"words": r"It \emph{works}.", "claims": ["T1", "T2"]}
    plain = {"words": "It is new.", "mark": "no empirical statement", "why": "Praise."}
    claim = {
        "kind": "claim", "where": "Theorem 1", "statement": "It works.", "quote": {
            "words": "It works.", "place": "Theorem 1"},
    }  # fmt: skip
    judged = {
        "quantity": "Value", "expected": "above 0", "evidence": "a.b", "data": [],
        "test": {"kind": "bounds", "lower": 0}, "why": "As said.", "checked_by": ["test_a.test_b"],
    }  # fmt: skip
    registry = Registry.parse(
        {
            "abstracts": [
                {"version": "v1", "sentences": [plain, empirical]},
                {"version": "v2", "sentences": [empirical]},
            ],
            "title": "A paper", "authors": "A. Author", "venue": "Here", "figures": {},
            "methods": [],
            "claims": [
                {"id": "T1", **claim, **judged}, {"id": "T2", **claim, "not_tested": "No data."},
            ],
        },
        "registry",
    )  # fmt: skip
    (found,) = judged_sentences(registry)
    assert found["words"] == r"It \emph{works}."
    assert table(FIGURE, verdict("T1"), sentences=[found])["words"].iloc[0] == "It works."
    assert (found["version"], found["claims"], found["untested"]) == ("v1", ["T1"], ["T2"])
    assert SCORECARD in registry.figures
