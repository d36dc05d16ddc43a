"""Sentences of an abstract have marks that follow from the verdicts on their claims."""

import json
import re

import pytest

from replication.abstract import MARKS, decided_by, mark, marked, said, to_lines
from replication.configuration import configure
from replication.errors import InputError
from replication.jobs import Jobs
from replication.registry import Abstract, Registry, Sentence
from replication.study import find_studies
from replication.verification.judgement import Comparison, Verdict

STUDIES = find_studies()
JOBS = Jobs.of(configure({}, STUDIES), STUDIES)
PAPERS = [study.registry for study in JOBS.studies.values() if study.registry.url]


def verdict(claim: str, outcome: str, holding: int = 0, others: int = 0) -> Verdict:
    cells = ["holds"] * holding + ["open"] * others
    comparisons = [
        Comparison(cell=str(number), estimate=0, decision=decision)
        for number, decision in enumerate(cells)
    ]
    return Verdict(claim=claim, verdict=outcome, summary="s", seeds=5, comparisons=comparisons)


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (["verified", "replicated", "reproduced"], "holds"),
        (["replicated", "does not hold"], "in part"),
        (["replicated", "open"], "in part"),
        (["replicated", "not tested"], "in part"),
        (["in part"], "in part"),
        (["in part", "does not hold"], "in part"),
        (["does not hold"], "does not hold"),
        (["does not hold", "open"], "does not hold"),
        (["open", "not tested"], "open"),
        (["not tested", "not tested"], "not tested"),
    ],
)
def test_a_mark_follows_from_the_verdicts(verdicts, expected):
    assert mark(verdicts) == expected
    assert expected in MARKS


ABSTRACT = Abstract.parse(
    {
        "version": "v1",
        "sentences": [
            {
                "words": "Much is known.",
                "mark": "no empirical statement",
                "why": "Scene.",
            },
            {"words": "A holds,", "claims": ["A1", "A2"]},
            {"words": "on text, too.", "study": "other"},
            {"words": "B was seen.", "claims": ["B1"]},
        ],
    },
    "abstract",
)


def test_every_sentence_is_marked_in_order():
    verdicts = {"A1": verdict("A1", "replicated", 2), "A2": verdict("A2", "in part", 1, 1)}
    found = marked(ABSTRACT, verdicts)
    marks = [each.mark for each in found]
    assert marks == ["no empirical statement", "in part", None, "not tested"]
    assert [decided_by(each) for each in found] == [
        "Scene.", "A1, A2 (in part, 1 of 2 hold)", "other", "B1 (not tested)"
    ]  # fmt: skip
    assert ABSTRACT.text == "Much is known. A holds, on text, too. B was seen."


def test_a_sentence_of_the_other_study_has_the_mark_that_it_has_there():
    words = "on text, too."
    there = Abstract(version="v1", sentences=[Sentence(words=words, claims=["W1"])])
    elsewhere = {words: marked(there, {"W1": verdict("W1", "open", 0, 3)})[0]}
    found = marked(ABSTRACT, {}, elsewhere)[2]
    assert (found.mark, decided_by(found)) == ("open", "W1 (open, 0 of 3 hold), other")


def test_how_much_holds_stands_beside_what_does_not_hold_in_all():
    assert said(verdict("A", "replicated", 3)) == "replicated"
    assert said(verdict("A", "open", 0, 1)) == "open"
    assert said(verdict("A", "does not hold", 0, 2)) == "does not hold, 0 of 2 hold"


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        ({"words": "A."}, "names the claims that decide it"),
        ({"words": "A.", "claims": ["C1"], "study": "other"}, "names the claims that decide it"),
        ({"words": "A.", "mark": "not tested"}, "has a mark and says why"),
        ({"words": "A.", "claims": ["C1"], "why": "so"}, "has a mark and says why"),
        ({"words": "A.", "claims": ["C1", "C1"]}, "C1 is repeated"),
        ({"words": "A.", "claims": ["C9"]}, "abstracts: unknown key 'C9'"),
        ({"words": "A.", "mark": "holds", "why": "I say so"}, "'not tested' or 'no empirical"),
    ],
)
def test_a_sentence_that_nothing_decides_is_refused(sentence, message):
    data = JOBS.studies["example"].registry.model_dump(mode="json", exclude={"abstracts"})
    abstract = {"version": "v1", "sentences": [sentence]}
    with pytest.raises(InputError, match=re.escape(message)):
        Registry.parse(data | {"abstracts": [abstract]}, "registry.yaml")


@pytest.mark.parametrize("registry", PAPERS, ids=[paper.title for paper in PAPERS])
def test_every_paper_begins_with_its_abstract(registry):
    assert registry.abstracts
    for abstract in registry.abstracts:
        assert "  " not in abstract.text
        judged = [sentence for sentence in abstract.sentences if sentence.mark is None]
        assert judged
    assert next(iter(json.loads(registry.model_dump_json()))) == "abstracts"


def test_the_abstract_is_a_table():
    lines = to_lines(JOBS.studies["example"].registry, {"C1": verdict("C1", "reproduced", 1)})
    assert lines[0] == "| the abstract of invented |  | decided by |"
    assert "| **in part** | C1, C2 (not tested) |" in lines[3]
    assert "| no empirical statement | It says why" in lines[2]
