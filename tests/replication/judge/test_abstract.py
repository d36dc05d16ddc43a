"""Sentences of an abstract have marks that follow from the verdicts on their claims."""

import json
import re

import pytest
from conftest import JOBS, ROOT

from replication.base.errors import InputError
from replication.base.markdown import Markdown
from replication.bundle.bundle import read_bundle, reference_folder
from replication.documents.generate import check_sentences
from replication.judge.abstract import (
    MARKS,
    abstract_lines,
    count_marks,
    decided_sentences,
    joint_mark,
    mark_sentences,
    plain_line,
    sentences_by_version,
)
from replication.judge.verdicts import Comparison, Verdict, short_verdict
from replication.study.claims import Claim
from replication.study.registry import Departure, Registry, without_latex

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
    assert joint_mark(verdicts) == expected
    assert expected in MARKS


TEST = {"kind": "interval", "lower": 0}
SHOWN = {
    "where": "Figure 1",
    "statement": "It rises.",
    "quote": {"words": "It rises.", "place": "Section 1"},
    "quantity": "rise",
    "expected": "above 0",
    "evidence": "learning.rise",
    "data": [{"experiment": "main", "metric": "error"}],
    "test": TEST,
    "why": "It is a direction.",
}
SENTENCES = [
    {"words": "Much is known.", "mark": "no empirical statement", "why": "Scene."},
    {"words": "A holds,", "claims": ["A1", "A2"]},
    {"words": "on text, too.", "study": "other"},
    {"words": "B was seen.", "claims": ["B1"]},
]


def registry(*abstracts: dict, **keys: object) -> Registry:
    """One with the claims A1, A2 of a scale of its own, and B1."""
    claims = [SHOWN | {"id": "A1"}, SHOWN | {"id": "A2", "scale": "a toy"}, SHOWN | {"id": "B1"}]
    return Registry.parse(
        {
            "abstracts": [*abstracts] or [{"version": "v1", "sentences": SENTENCES}],
            "title": "T",
            "authors": "A",
            "venue": "V",
            "figures": {},
            "claims": claims,
            "methods": [],
            **keys,
        },
        "registry",
    )


def linked(claim: str, study: str | None) -> Markdown:
    return Markdown(f"[{claim}](#{study or 'own'})")


def deciding(*paper: object) -> list[str]:
    """Return the last column of the table of an abstract."""
    rows = [line.split(" | ")[-1] for line in abstract_lines(*paper, link=linked) if " | " in line]
    return [cell.removesuffix(" |") for cell in rows[2:]]


def test_every_sentence_is_marked_in_order():
    verdicts = {"A1": verdict("A1", "replicated", 2), "A2": verdict("A2", "in part", 1, 1)}
    paper = registry()
    found = mark_sentences(paper, paper.abstracts[0].sentences, verdicts)
    marks = [each.mark for each in found]
    assert marks == ["no empirical statement", "in part", None, "not tested"]
    assert [each.is_rest_open for each in found] == [False, True, False, False]
    assert deciding(paper, verdicts) == [
        "Scene.",
        "[A1](#own), [A2](#own) (in part, 1 of 2 hold, 1 open)",
        "see other",
        "[B1](#own) (not tested)",
    ]
    assert [each.scales for each in found] == [
        [], ["the paper's own, 5 seeds", "a toy, 5 seeds"], [], []
    ]  # fmt: skip
    assert paper.abstracts[0].text == "Much is known. A holds, on text, too. B was seen."


def test_a_sentence_of_the_other_study_has_the_mark_that_it_has_there():
    words = "on text, too."
    there = registry({"version": "v1", "sentences": [{"words": words, "claims": ["A1"]}]})
    elsewhere = decided_sentences([(there, {"A1": verdict("A1", "open", 0, 3)})])
    paper = registry()
    found = mark_sentences(paper, paper.abstracts[0].sentences, {}, elsewhere)[2]
    assert found.mark == "open"
    assert deciding(paper, {}, elsewhere)[2] == "[A1](#other) (open, 0 of 3 hold)"


def test_a_later_version_has_only_what_no_earlier_one_says():
    second = [{"words": "Much is known.", "mark": "no empirical statement", "why": "Scene."}]
    second += [{"words": "B was shown.", "claims": ["B1"]}]
    first = {"version": "v1", "sentences": SENTENCES}
    paper = registry(first, {"version": "v2", "sentences": second})
    found = sentences_by_version(paper, {"B1": verdict("B1", "replicated", 1)})
    assert list(found) == ["v1", "v2, where its words are others"]
    assert [each.sentence.words for each in found["v2, where its words are others"]] == [
        "B was shown."
    ]
    counts = count_marks(paper, {"B1": verdict("B1", "replicated", 1)})
    assert list(counts) == ["v1", "v2"]
    # A sentence that another study decides whose verdicts are not at hand has no mark.
    assert {name: count for name, count in counts["v1"].items() if count} == {
        "holds": 1,
        "not tested": 1,
        "no empirical statement": 1,
    }


def test_how_much_holds_stands_beside_what_does_not_hold_in_all():
    assert short_verdict(verdict("A", "replicated", 3)) == "replicated"
    assert short_verdict(verdict("A", "open", 0, 1)) == "open"
    late = short_verdict(verdict("A", "does not hold", 0, 2), late=True)
    assert late == "does not hold, declared late, 0 of 2 hold, 2 open"
    assert short_verdict(verdict("A", "replicated", 3), late=True) == "replicated, declared late"
    assert (
        short_verdict(verdict("A", "does not hold", 0, 2)) == "does not hold, 0 of 2 hold, 2 open"
    )


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        ({"words": "A."}, "names the claims that decide it"),
        ({"words": "A.", "claims": ["C1"], "study": "other"}, "names the claims that decide it"),
        ({"words": "A.", "mark": "not tested"}, "has a mark and says why"),
        ({"words": "A.", "study": "other", "why": "so"}, "has a mark and says why"),
        ({"words": "A.", "claims": ["C9"]}, "abstracts: 'A.': unknown key 'C9'"),
        ({"words": "A.", "claims": ["F1"]}, "'A.': F1 stands in the wrong list"),
        ({"words": "A.", "claims": ["F2"]}, "'A.': F2 stands in the wrong list"),
        ({"words": "A.", "mark": "holds", "why": "I say so"}, "'not tested' or 'no empirical"),
    ],
)
def test_a_sentence_that_nothing_decides_is_refused(sentence, message):
    claims = [{**SHOWN, "id": "C1"}]
    claims += [{**SHOWN, "id": "F1", "quote": None}, {**SHOWN, "id": "F2", "kind": "finding"}]
    with pytest.raises(InputError, match=re.escape(message)):
        registry({"version": "v1", "sentences": [sentence]}, claims=claims)


@pytest.mark.parametrize(
    "name", [name for name, study in JOBS.studies.items() if study.registry.url]
)
def test_a_plain_line_is_short_and_cites_what_the_reference_has(name):
    verdicts = read_bundle(reference_folder(ROOT, name))[0].verdicts
    for sentence in JOBS.studies[name].registry.sentences_with_marks:
        line = plain_line(sentence.plain, verdicts)
        assert bool(line) == bool(sentence.plain)
        assert len(line.split()) <= 12


@pytest.mark.parametrize("registry", PAPERS, ids=[paper.title for paper in PAPERS])
def test_every_paper_begins_with_its_abstract(registry):
    assert registry.abstracts
    for abstract in registry.abstracts:
        assert "  " not in abstract.text
        judged = [sentence for sentence in abstract.sentences if sentence.mark is None]
        assert judged
    assert next(iter(json.loads(registry.model_dump_json()))) == "abstracts"


def test_the_abstract_is_a_table_with_its_scales_below():
    verdicts = {name: verdict(name, "replicated", 1) for name in ("A1", "A2", "B1")}
    lines = abstract_lines(registry(), verdicts, link=linked)
    assert lines[0] == "| the abstract, v1 |  | decided by |"
    assert lines[3] == "| A holds, | **holds** <sup>1, 2</sup> | [A1](#own), [A2](#own) |"
    assert lines[4] == "| on text, too. | **judged there** | see other |"
    assert lines[5] == "| B was seen. | **holds** <sup>1</sup> | [B1](#own) |"
    scales = "<sup>1</sup> the paper's own, 5 seeds; <sup>2</sup> a toy, 5 seeds"
    assert lines[7] == f"Judged at this scale: {scales}."


def test_the_scale_of_the_paper_is_told_where_ours_is_smaller():
    paper = registry(scale="tiny; the paper's models are large.")
    lines = abstract_lines(paper, {"A1": verdict("A1", "replicated", 1)})
    assert lines[-2] == (
        "Judged at this scale: <sup>1</sup> tiny, 5 seeds. The paper's models are large."
    )


def test_what_limits_a_mark_stands_beside_it():
    erratum = {"id": "E1", "kind": "erratum", "where": "Eq. 1", "statement": "2 is 3."}
    sentences = [
        {
            "words": "It rises.", "claims": ["A1"], "errata": ["E1"],
            "plain": '{{ verdict("A1").comparisons | length | words }} of one rise',
            "departs": {"momentum": "Both rise."},
        },
        {"words": "It falls.", "claims": ["B1"]},
    ]  # fmt: skip
    paper = registry(
        {"version": "v1", "sentences": sentences},
        claims=[SHOWN | {"id": "A1"}, SHOWN | {"id": "B1"}, erratum | {"not_tested": "Plain."}],
        seeds_share="the split",
    )
    own = Departure("momentum", ("0",), "0.9", is_regime=True)
    other = Departure("momentum", ("0.5", "0"), "0.9", is_regime=True)
    width = Departure("width", ("8",), "512", is_regime=False)
    departures = {"A1": [own, width], "B1": [other, width]}
    paper = paper.model_copy(update={"departures": departures})
    verdicts = {name: verdict(name, "replicated", 1) for name in ("A1", "B1")}
    lines = abstract_lines(paper, verdicts, link=linked)
    assert lines[2] == (
        "| It rises. | **holds** <sup>1</sup>: one of one rise | [A1](#own)<br>Errata that touch"
        " it: [E1](#own) (as printed: not tested)<br>Departs from the paper in momentum: 0 instead"
        " of 0.9. Both rise. |"
    )
    assert "momentum: 0.5, 0 instead of 0.9." in lines[3]
    assert "Settings of scale that are not the paper's: width: 8 instead of 512." in lines
    assert "Seeds share, so that intervals do not generalise over it: the split." in lines
    # Under other settings a verdict that the line cites may lack.
    assert "**open**" not in abstract_lines(paper, {}, link=linked)[2]
    assert "of one rise" not in abstract_lines(paper, {}, link=linked)[2]


def test_errata_of_a_sentence_are_errata_and_cited_claims_exist():
    for changes, message in (
        ({"errata": ["B1"]}, "'It rises.': B1 stands in the wrong list"),
        ({"plain": '{{ verdict("C1").seeds }}'}, "'It rises.': unknown key 'C1'"),
    ):
        sentence = {"words": "It rises.", "claims": ["A1"], **changes}
        with pytest.raises(InputError, match=message):
            registry({"version": "v1", "sentences": [sentence]})


def test_what_was_declared_late_or_answered_is_told_beside_its_number():
    half = {**SHOWN, "declared_late": True, "test": {**TEST, "level": 0.025}}
    late = {**half, "id": "A1"}
    answered = {**half, "id": "A2", "answer": "We disagree."}
    paper = registry(claims=[late, answered, {**SHOWN, "id": "B1"}])
    verdicts = {"A1": verdict("A1", "replicated", 1), "A2": verdict("A2", "open", 0, 2)}
    lines = abstract_lines(paper, verdicts)
    assert (
        "A1 (declared late), A2 (open, 0 of 2 hold; declared late; the authors answer)" in lines[3]
    )
    assert (
        paper.claims[1].remarks
        == "Declared after its seeds had been seen. The authors: We disagree."
    )


def test_a_sentence_that_something_speaks_against_is_told_from_one_whose_rest_is_open():
    for worst, told in (("open", "**in part**, the rest is open"), ("fails", "**in part**")):
        said = verdict("A2", "in part", 1, 1)
        said.comparisons[1] = said.comparisons[1].model_copy(update={"decision": worst})
        lines = abstract_lines(registry(), {"A1": verdict("A1", "replicated", 2), "A2": said})
        assert f"| A holds, | {told} <sup>" in "\n".join(lines)


def test_a_claim_of_the_paper_that_was_declared_late_is_tested_at_half_the_level():
    late = {**SHOWN, "id": "A1", "declared_late": True}
    with pytest.raises(ValueError, match=r"A1 was declared late; write `level: 0.025`"):
        Claim.model_validate(late)
    Claim.model_validate({**late, "kind": "finding"})


def test_a_sentence_of_intent_has_no_verdict_and_names_the_claims_behind_it():
    intent = {
        "words": "We consider A.", "claims": ["A1"], "mark": "no empirical statement",
        "why": "It says what is considered.",
    }  # fmt: skip
    paper = registry({"version": "v1", "sentences": [intent]})
    verdicts = {"A1": verdict("A1", "does not hold", 0, 2)}
    (found,) = mark_sentences(paper, paper.abstracts[0].sentences, verdicts)
    assert found.mark == "no empirical statement"
    said = "It says what is considered. See [A1](#own) (does not hold, 0 of 2 hold, 2 open)."
    assert deciding(paper, verdicts) == [said]


def test_marks_of_latex_are_not_shown():
    words = r"By \emph{this} and that, \url{https://a.org/b}."
    assert without_latex(words) == "By this and that, https://a.org/b."


def test_a_scale_is_told_as_text():
    paper = registry(scale="<b>tiny</b>; the paper's are large")
    lines = abstract_lines(paper, {"A1": verdict("A1", "replicated", 1)})
    assert "<sup>1</sup> &lt;b>tiny&lt;/b>, 5 seeds" in lines[-2]


def test_a_version_that_is_there_twice_is_refused():
    twice = [{"version": "v1", "sentences": SENTENCES[:1]}] * 2
    with pytest.raises(InputError, match="v1 is repeated"):
        registry(*twice)


def test_a_sentence_that_a_later_version_decides_otherwise_is_shown_again():
    again = [SENTENCES[0], {**SENTENCES[1], "claims": ["B1"]}]
    paper = registry(
        {"version": "v1", "sentences": SENTENCES}, {"version": "v2", "sentences": again}
    )
    (_, (name, rows)) = sentences_by_version(paper, {}).items()
    assert name == "v2, where its words are others"
    assert [each.sentence.claims for each in rows] == [["B1"]]


def test_neither_marks_of_latex_nor_a_reason_make_another_sentence():
    first = {**SENTENCES[0], "words": r"See \url{https://a.org} of it."}
    again = {**SENTENCES[0], "words": "See https://a.org of it.", "why": "An address."}
    paper = registry(
        {"version": "v1", "sentences": [first]}, {"version": "v2", "sentences": [again]}
    )
    assert sentences_by_version(paper, {})["v2, where its words are others"] == []


@pytest.mark.parametrize("study", ["nowhere", "own", "undecided"])
def test_a_sentence_that_the_other_study_does_not_decide_is_refused(study):
    elsewhere = [{"words": "on text, too.", "study": study}]
    own = registry({"version": "v1", "sentences": elsewhere})
    other = registry({"version": "v1", "sentences": [{"words": "on text, too.", "claims": ["A1"]}]})
    papers = {"own": own, "undecided": registry(), "other": other}
    words = f"own: abstracts: {study} does not decide 'on text, too.'; name the study"
    with pytest.raises(InputError, match=re.escape(words)):
        check_sentences(papers)
    moved = {"version": "v1", "sentences": [{"words": "on text, too.", "study": "other"}]}
    check_sentences({"own": registry(moved), "other": other})
