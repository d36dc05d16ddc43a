"""Sets that a user gives: their texts, and what is said of a wrong file."""

import json
from pathlib import Path

import pytest
from artificial_files import write_texts
from given_files import SENTIMENTS, json_lines, pronoun, question, word

from replication.base.errors import InputError
from transformer_dynamics.encoders import texts
from transformer_dynamics.encoders.cost import SETS
from transformer_dynamics.encoders.settings import GIVEN, TextChoice

DATA = Path(texts.__file__).parents[3] / "docs/data.md.jinja"


def made(folder, name):
    return texts.read(name, write_texts(folder / name, name))


def test_questions_stand_before_passages(tmp_path):
    found = made(tmp_path, "boolq")
    assert found.train.first == ["is it so", "is it not"]
    assert found.train.second == ["About is it so.", "About is it not."]
    assert found.train.labels.tolist() == [1, 0]
    assert found.train.classes == ("false", "true")
    assert found.test.labels.tolist() == [0]


def test_a_word_is_named_in_a_question_after_both_sentences(tmp_path):
    found = made(tmp_path, "wic")
    asked = "A bank. Bank on it. Does bank have the same meaning in both sentences?"
    assert found.train.first == [asked, asked]
    assert found.train.second is None
    assert found.train.labels.tolist() == [1, 0]


def test_a_pronoun_is_named_before_its_text(tmp_path):
    found = made(tmp_path, "wsc")
    assert found.train.first[0] == "she: Ann saw that she won"
    assert found.train.second == ["Ann", "Ann"]


def test_sets_of_boss_are_quoted_and_rows_without_a_text_left_out(tmp_path):
    for name in ("amazon", "dynasent", "semeval", "boss_sst5"):
        found = made(tmp_path, name)
        assert found.train.first == ['a "good" one', "bad", "so so"]
        assert found.train.labels.tolist() == [1, 0, 2]
        assert found.train.classes == ("negative", "positive", "neutral")


def test_sentences_of_abstracts_are_in_lower_case(tmp_path):
    found = made(tmp_path, "pubmed")
    assert found.train.first == ["a cell .", "we @ it .", "it was so ."]
    assert found.train.labels.tolist() == [0, 2, 4]
    assert found.validation.first == ["to see ."]
    assert found.test.labels.tolist() == [1]


@pytest.mark.parametrize(
    ("ending", "content"),
    [
        (".csv", 'sentence,TARGET,more\n"good, I say",positive,x\nbad,0,y\n'),
        (".jsonl", json_lines({"Text": "good, I say", "Label": 1}, {"text": "bad", "label": "0"})),
        (".tsv", "label\ttext\n1\tgood, I say\nnegative\tbad\n"),
        (".tsv", "\ufefflabel\ttext\n\n1\tgood, I say\nnegative\tbad\n\n"),
        (
            ".jsonl",
            "\ufeff" + json_lines({"text": "good, I say", "label": 1}, {"text": "bad", "label": 0}),
        ),
    ],
)
def test_a_table_may_have_another_form(tmp_path, ending, content):
    for part in ("train", "test"):
        (tmp_path / f"{part}{ending}").write_text(content)
    choice = TextChoice(name="amazon", folder=str(tmp_path))
    assert [Path(path).suffix for path in choice.sources] == [ending, ending]
    found = texts.read("amazon", choice.sources)
    assert found.test.first == ["good, I say", "bad"]
    assert found.test.labels.tolist() == [1, 0]


def test_abstracts_may_be_a_table(tmp_path):
    for part in ("train", "dev", "test"):
        (tmp_path / f"{part}.csv").write_text("label,text\nMETHODS,We DID\n")
    choice = TextChoice(name="pubmed", folder=str(tmp_path))
    assert texts.read("pubmed", choice.sources).train.first == ["we did"]


WRONG_FILES = {
    "no object": ("boolq", 1, "[1]\n", "line 1: is no JSON object with question, passage and a l"),
    "label": (
        "boolq", 0, json_lines(question("a", True), question("b", "yes")),
        r"line 2: .* \(label: Input should be a valid boolean\)",
    ),
    "number": ("boolq", 0, json_lines(question("a", 1)), "line 1: .*true or false"),
    "sentence": (
        "wic", 0, json_lines({key: each for key, each in word(True).items() if key != "sentence2"}),
        r"line 1: .*word, sentence1, sentence2 and a label.*sentence2: Field required",
    ),
    "span": (
        "wsc", 1, json_lines(pronoun("a", True), pronoun("b", True) | {"target": {}}),
        "line 2: .*target.span1_text: Field required",
    ),
    "header": ("amazon", 0, "review\tlabel\na\t1\n", "line 1: the header .* lacks a column of t"),
    "cells": ("semeval", 1, "Text\tLabel\na\t1\nb\n", "line 3: does not consist of the 2 columns"),
    "class": ("dynasent", 1, "Text\tLabel\na\t1\nb\t3\n", "line 3: the label '3' is none of nega"),
    "quote": ("boss_sst5", 0, SENTIMENTS + '"open\t1\n', "line 6: cannot be read as CSV"),
    "role": ("pubmed", 2, "###1\nAIM\tTo see .\n", "line 2: the label 'AIM' is none of BACKGROUND"),
    "tab": ("pubmed", 0, "###1\nMETHODS We .\n", "line 2: does not consist of a label, a tab and"),
}  # fmt: skip


@pytest.mark.parametrize("kind", WRONG_FILES)
def test_a_wrong_file_is_answered_by_a_sentence_with_the_line(tmp_path, kind):
    name, number, content, answer = WRONG_FILES[kind]
    paths = write_texts(tmp_path / name, name)
    paths[number].write_text(content)
    with pytest.raises(InputError, match=f"{paths[number].name}, {answer}"):
        texts.read(name, paths)


@pytest.mark.parametrize(
    "line",
    [
        "5",
        '{"text": null, "label": 1}',
        '{"text": "a", "label": true}',
        '{"text": "\\ud800", "label": 1}',
        "[" * 100_000,
    ],
)
def test_a_line_without_a_text_and_a_label_is_refused(tmp_path, line):
    (tmp_path / "train.jsonl").write_text(f"{json.dumps({'text': 'a', 'label': 1})}\n{line}\n")
    (tmp_path / "test.jsonl").write_text("")
    choice = TextChoice(name="amazon", folder=str(tmp_path))
    with pytest.raises(InputError, match="line 2: does not consist of a JSON object with a text"):
        texts.read("amazon", choice.sources)


def test_the_documents_have_the_sizes():
    told = DATA.read_text()
    for name in GIVEN:
        size = SETS[name]
        assert f"{size.train:,} and {size.test:,}" in told
        assert f"`{name}`" in told
