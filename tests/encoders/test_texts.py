"""The readers of labelled texts, on small made-up files and on the published ones."""

import json
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from artificial_files import CB, CLINC, FILES, MRPC, write_texts
from tiers import quick_first

from replication.base.errors import InputError
from replication.study.datasets import find_datasets
from transformer_dynamics.encoders import settings, texts
from transformer_dynamics.encoders.samples import check_disjoint, samples, without
from transformer_dynamics.encoders.settings import (
    GIVEN,
    PAIRED,
    TEXT_FILES,
    EncoderChoice,
    TextChoice,
)

ROOT = Path(__file__).parents[2]
PLACES = {
    "cb": "superglue/CB", "rte": "glue/RTE", "cola": "glue/CoLA", "sst2": "glue/SST-2",
    "mrpc": "glue/MRPC", "trec6": "sentconv", "cr": "sentconv", "sst2_sentences": "sentconv",
    "sst5": "sentconv", "subj": "sentconv", "banking77": "banking77", "clinc150": "clinc150",
}  # fmt: skip
SIZES = {
    "cb": (250, None, 56, 3), "rte": (2490, None, 277, 2), "cola": (8551, None, 1043, 2),
    "sst2": (67349, None, 872, 2), "mrpc": (3668, None, 408, 2), "trec6": (5452, None, 500, 6),
    "sst2_sentences": (6920, 872, 1821, 2), "sst5": (8544, 1101, 2210, 5),
    "banking77": (10003, None, 3080, 77), "clinc150": (15000, 3000, 4500, 150),
}  # fmt: skip
"""Published numbers of training, validation and test samples and of classes."""


def made(tmp_path, name):
    return texts.read(name, write_texts(tmp_path / name, name))


@pytest.fixture(scope="module")
def published():
    """The splits of a published set, read once.

    They are looked for in the folder LABELLED_TEXTS, or else in shared/data beside the clone.
    """
    folder = Path(os.environ.get("LABELLED_TEXTS") or ROOT.parent / "shared/data")
    found = {}

    def splits(name):
        paths = [folder / PLACES[name] / file for file in TEXT_FILES[name]]
        if not all(path.is_file() for path in paths):
            pytest.skip(f"{name} is not there; LABELLED_TEXTS may name a folder that has it")
        if name not in found:
            found[name] = texts.read(name, paths)
        return found[name]

    return splits


@pytest.mark.parametrize("name", FILES)
def test_every_reader_reads_its_format(tmp_path, name):
    splits = made(tmp_path, name)
    for part in splits:
        if part is not None:
            assert part.size == len(part.first) == len(part.labels) > 0
            assert part.second is None or len(part.second) == part.size
            assert 0 <= part.labels.min() <= part.labels.max() < len(part.classes)
            assert all(text == text.strip() for text in part.first)
    assert splits.train.classes == splits.test.classes


def test_what_is_written_is_read(tmp_path):
    def rows(name):
        train = made(tmp_path, name).train
        columns = [train.first, *([train.second] if train.second else []), train.labels.tolist()]
        return list(zip(*columns, strict=True))

    assert rows("cb") == [("A?", "b", 2), ("C", "d", 0)]
    assert rows("rte") == [('A "b.', "C d.", 1), ("E", "F", 0)]
    assert rows("cola") == [("A b.", 1), ("B a.", 0)]
    assert rows("sst2") == [("a b", 0), ("c", 1)]
    assert rows("mrpc") == [('A " b', "A b", 1)]
    assert rows("trec6") == [("What\xf0 is a ?", 0), ("How b\x85c ?", 5), ("d", 2)]
    assert rows("sst2_sentences") == [("a cr\u00e8me", 1), ("b", 0)]
    assert rows("banking77") == [("A\nb, c", 1), ("d", 0)]
    assert rows("clinc150") == [("a b", 1), ("c", 0)]


@pytest.mark.parametrize("name", TEXT_FILES)
def test_sets_of_pairs_are_known_as_such(tmp_path, name):
    assert (made(tmp_path, name).train.second is not None) == (name in PAIRED)


def test_a_held_out_test_set_is_fixed_and_splits_no_repeats(tmp_path):
    splits = made(tmp_path, "cr")
    assert not set(splits.train.keys) & set(splits.test.keys)
    assert splits.train.size + splits.test.size == 20
    assert splits.test.size == 10
    again = made(tmp_path, "cr")
    assert again.test.first == splits.test.first


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_answered_by_a_sentence(tmp_path, name):
    paths = write_texts(tmp_path / name, name)
    paths[-1].unlink()
    fetched = f"fetch them with `snakemake results/datasets/{name}/"
    with pytest.raises(InputError, match="; set its folder" if name in GIVEN else fetched):
        texts.read(name, paths)


@pytest.mark.parametrize("wrong", ["7 a\n", "a\n", "x y\n"])
def test_a_line_that_is_no_sample_is_refused(tmp_path, wrong):
    paths = write_texts(tmp_path / "sst5", "sst5")
    paths[1].write_text("0 fine\n\n" + wrong)
    with pytest.raises(InputError, match=r"stsa\.fine\.dev, line 3: .*; correct it or fetch it ag"):
        texts.read("sst5", paths)


WRONG_FILES = {
    "label": ("trec6", 1, b"1 e\n9 f\n", "line 2: the label '9' is none of 0, 1, 2, 3, 4, 5;"),
    "no space": ("trec6", 1, b"1 e\n5\n", "line 2: does not consist of a label, a space and a te"),
    "no utf-8": ("sst5", 2, b"1 e\n\n1 caf\xe9\n", "line 3: is not in utf-8;"),
    "columns": ("cola", 1, b"gj04\t1\t\ta\ngj\t1\n", "line 2: does not consist of four tab-separa"),
    "header": ("rte", 1, b"index\tsentence1\tlabel\n", "line 1: .*, among them label, sentence1"),
    "cell": ("sst2", 0, b"sentence\tlabel\na\t1\nb\n", "line 3: does not consist of tab-separated"),
    "mark": ("mrpc", 2, MRPC.replace("\n0", "\nx").encode(), "line 3: the label 'x' is none"),
    "list": ("cb", 1, b"[1, 2]\n", "line 1: does not consist of a JSON object"),
    "null": ("cb", 1, b"null\n", "line 1: does not consist of a JSON object"),
    "null text": ("cb", 0, CB.replace('"A?"', "null").encode(), "line 1: does not consist of"),
    "list of labels": ("cb", 0, CB.replace('"neutral"', '["neutral"]').encode(), "line 1: does"),
    "surrogate": ("cb", 0, CB.replace("C", "\\ud800").encode(), "line 2: does not consist of"),
    "cut": ("cb", 1, CB.encode()[:-20], "line 2: does not consist of a JSON object"),
    "number": ("clinc150", 0, b"5", "data_full.json: Input should be an object"),
    "no pairs": ("clinc150", 0, b'{"train": null}', "train: Input should be a valid array"),
    "no pair": ("clinc150", 0, b'{"train": [["a", 2]]}', "train > 0 > 1: Input should be a valid"),
    "intent": (
        "clinc150", 0, json.dumps(CLINC | {"test": [["e", "q"]]}).encode(),
        "test > 0: the label 'q' is none of w, x;",
    ),
    "no JSON": ("clinc150", 0, b'{"train": ', "data_full.json: Invalid JSON"),
    "quote": ("banking77", 1, b'text,category\r\n"e,x\r\n', "line 2: cannot be read as CSV"),
    "long quote": ("banking77", 0, b'text,category\r\n"' + b"e f,x\r\n" * 20000, "as CSV"),
    "blank": ("banking77", 0, b"text,category\r\na,x\r\n\r\n", "line 3: does not consist of"),
    "heading": ("banking77", 1, b"text,label\r\n", "line 1: the header is not text,category;"),
    "category": ("banking77", 1, b"text,category\r\ne,z\r\n", "line 2: the label 'z' is none of"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG_FILES)
def test_file_and_line_of_what_is_wrong_are_named(tmp_path, case):
    name, number, content, said = WRONG_FILES[case]
    paths = write_texts(tmp_path / name, name)
    paths[number].write_bytes(content)
    with pytest.raises(InputError, match=said) as raised:
        texts.read(name, paths)
    assert raised.value.message.startswith(str(paths[number]))
    assert raised.value.message.endswith("; correct it or fetch it again")
    assert "\n" not in raised.value.message


@pytest.mark.parametrize(
    ("name", "number", "content", "part"),
    [
        ("trec6", 0, "", "train"),
        ("trec6", 1, "\n\n  \n", "test"),
        ("sst5", 1, "", "validation"),
        ("rte", 1, "", "test"),
        ("banking77", 1, "", "test"),
        ("banking77", 0, "", "train"),
        ("banking77", 0, "text,category\n", "train"),
        ("clinc150", 0, json.dumps(CLINC | {"train": []}), "train"),
        ("mrpc", 2, MRPC.partition("\n")[0], "test"),
        ("clinc150", 0, json.dumps(CLINC | {"val": []}), "validation"),
        ("cr", 0, "1 a b\n", "train"),
        ("cr", 0, "1 a b\n" * 50, "train"),
    ],
)
def test_an_empty_split_is_refused(tmp_path, name, number, content, part):
    paths = write_texts(tmp_path / name, name)
    paths[number].write_text(content)
    with pytest.raises(
        InputError, match=f"{paths[number]}.*: the {part} set of {name} has no text"
    ):
        texts.read(name, paths)


def test_samples_are_drawn_by_the_seed_and_share_no_text(tmp_path):
    splits = made(tmp_path, "cr")
    choice = TextChoice(name="cr", train=3, validation=2)
    first, again, other = (samples(splits, choice, seed) for seed in (1, 1, 2))
    assert [part.size for part in first] == [3, 2, splits.test.size]
    assert first.train.first == again.train.first != other.train.first
    keys = [set(part.keys) for part in first]
    assert len(keys[0] | keys[1] | keys[2]) == sum(map(len, keys))
    assert first.test.first == other.test.first
    with pytest.raises(InputError, match=r"cr: train and validation: .*ask for less"):
        samples(splits, TextChoice(name="cr", train=30, validation=2), 1)
    with pytest.raises(InputError, match="give both"):
        samples(splits, TextChoice(name="cr", train=3), 1)


def test_without_numbers_the_training_set_is_shuffled_and_cut(tmp_path):
    """The same way for all seeds; of repeats one is kept."""
    splits = made(tmp_path, "subj")
    repeated = splits.train.first[0].upper()
    train = splits.train._replace(first=[*splits.train.first[:-1], repeated])
    choice = TextChoice(name="subj", kept=0.5)
    found, again = (samples(splits._replace(train=train), choice, seed) for seed in (3, 4))
    assert (found.train.first, found.validation.first) == (
        again.train.first,
        again.validation.first,
    )
    both = [*found.train.first, *found.validation.first]
    assert sorted(both) == sorted(splits.train.first[:-1])
    assert both != splits.train.first[:-1]
    assert found.train.size == (splits.train.size - 1) // 2


def test_an_empty_part_is_refused(tmp_path):
    splits = made(tmp_path, "subj")
    with pytest.raises(
        InputError, match=r"subj: no text is left for train; change `kept`, 1e-06 of"
    ):
        samples(splits, TextChoice(name="subj", kept=1e-6), 1)


def test_a_common_text_is_found_whatever_its_case_and_punctuation(tmp_path):
    one, other = (made(tmp_path, name).train for name in ("trec6", "sst5"))
    check_disjoint(one, other, "TREC and SST-5")
    spoilt = other._replace(first=["what\xf0 IS, a", *other.first[1:]])
    with pytest.raises(InputError, match="TREC and SST-5: 1 texts are in both"):
        check_disjoint(one, spoilt, "TREC and SST-5")
    assert without(one, [spoilt]).first == one.first[1:]


@pytest.mark.parametrize("name", quick_first(SIZES))
def test_published_sets_have_their_published_sizes(published, name):
    splits = published(name)
    train, validation, test, classes = SIZES[name]
    assert splits.train.size == train
    assert (splits.validation and splits.validation.size) == validation
    assert splits.test.size == test
    assert len(splits.train.classes) == classes
    assert len(np.unique(splits.train.labels)) == classes


def test_labels_of_published_sets_are_those_of_their_papers(published):
    assert Counter(published("cb").test.labels.tolist()) == {0: 23, 1: 28, 2: 5}
    assert published("sst2").test.labels.sum() == 444
    assert published("mrpc").test.labels.sum() == 279
    assert published("trec6").test.labels.tolist().count(0) == 138
    assert published("sst5").train.first[0].endswith("1930s horror films")
    assert sum("\u00e8" in text for text in published("sst2_sentences").test.first) > 0


@pytest.mark.parametrize(("name", "whole"), [("cr", 3775), ("subj", 10000)])
def test_published_sets_without_a_test_set(published, name, whole):
    splits = published(name)
    assert splits.train.size + splits.test.size == whole
    assert 0 <= splits.test.size - texts.HELD_OUT[name] < 5
    assert not set(splits.train.keys) & set(splits.test.keys)


def test_reviews_and_sentences_of_films_share_nothing(published):
    """CR is trained on where SST-2's sentences are the test out of distribution."""
    reviews, films = published("cr"), published("sst2_sentences")
    for part in (films.test, films.validation, films.train):
        check_disjoint(reviews.train, part, "CR and SST-2")
        check_disjoint(reviews.test, part, "CR and SST-2")


def test_the_papers_numbers_of_cb(published):
    found = samples(published("cb"), TextChoice(name="cb", length=96), 1)
    assert (found.train.size, found.validation.size, found.test.size) == (225, 25, 56)


@pytest.mark.parametrize("name", ["cr", "trec6", "cola", "rte", "banking77", "clinc150"])
def test_parts_of_a_whole_set_have_all_classes_and_no_common_text(published, name):
    """Files of some sets are sorted by class."""
    splits = published(name)
    found = samples(splits, TextChoice(name=name), 1)
    assert {*found.train.labels} == {*splits.train.labels}
    if name not in {"banking77", "clinc150"}:
        assert {*found.validation.labels} == {*splits.train.labels}
    check_disjoint(found.validation, found.train, name)
    assert found.train.size / (found.train.size + found.validation.size) == pytest.approx(
        0.9, abs=1e-3
    )


def test_training_samples_that_the_test_set_repeats_are_left_out(published):
    splits = published("trec6")
    assert splits.train.size - without(splits.train, [splits.test]).size >= 10
    found = samples(splits, TextChoice(name="trec6", train=1000, validation=250), 1)
    check_disjoint(found.train, found.test, "TREC")
    check_disjoint(found.validation, found.train, "TREC")


def test_the_registry_names_every_file():
    found = find_datasets([Path(settings.__file__).parent])
    public = {name: files for name, files in TEXT_FILES.items() if name not in GIVEN}
    for name, files in public.items():
        assert {*found[name].downloads} == {*files}
        assert {*TextChoice(name=name).sources} == {*found[name].paths(name)}
    for name in ("minilm", "mpnet", "roberta"):
        assert {*EncoderChoice(name=name).sources} == {*found[name].paths(name)}
    assert {*found} == {*public, "minilm", "mpnet", "roberta"}
    assert TextChoice(name="cr", folder="my").sources == ("my/custrev.all",)
