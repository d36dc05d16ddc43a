"""Words of running text as torchtext cuts them, their numbers, and the chunks of training."""

import os
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st

from transformer_dynamics.scan_and_snap_text.data.corpus import (
    count_words,
    cut_columns,
    number_corpus,
    split_words,
    word_ids,
)

LINES = ["b a b c <unk>", "a b , c", " = D = ", ""]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        # torchtext's own example.
        (
            "You can now install TorchText using pip!",
            ["you", "can", "now", "install", "torchtext", "using", "pip", "!"],
        ),
        ("It's the dogs' bone", ["it", "'", "s", "the", "dogs", "'", "bone"]),
        ('He said "Yes"and left', ["he", "said", "yesand", "left"]),
        ("one<br />two <br /> three", ["one", "two", "three"]),
        ("a<br>b <br/> c", ["a<br>b", "<br/>", "c"]),
        ("first;second: third ;", ["first", "second", "third"]),
        ("(Really?) No...", ["(", "really", "?", ")", "no", ".", ".", "."]),
        ("1,000 @-@ year 3 @.@ 5", ["1", ",", "000", "@-@", "year", "3", "@", ".", "@", "5"]),
        (" = Valkyria Chronicles III = \n", ["=", "valkyria", "chronicles", "iii", "="]),
        ("<unk> & — é\t\u00a0x", ["<unk>", "&", "—", "é", "x"]),
        ("  \t ", []),
        ('"', []),
    ],
)
def test_words_are_cut_as_torchtext_does(line, words):
    assert split_words(line) == words


# Python's letters in lower case can be several characters, so all of Unicode is worth a try.
@given(st.text() | st.text(alphabet="aB'\".,()!?;:<br />\n"))
def test_words_follow_the_rules_one_character_at_a_time(line):
    table = {mark: f" {mark} " for mark in "'.,()!?"} | dict.fromkeys(";:", " ")
    bare = line.lower().replace('"', "").replace("<br />", " ")
    spaced = "".join(table.get(character, character) for character in bare)
    assert split_words(line) == spaced.split()


# Words with an opening bracket can stand together like a line break: "<br" and "/>".
@given(st.text().filter(lambda line: "<" not in line))
def test_cutting_words_again_changes_nothing(line):
    words = split_words(line)
    assert split_words(" ".join(words)) == words


@given(st.lists(st.text(alphabet="abc <>unk,"), max_size=5))
def test_vocabulary_is_in_the_order_of_frequency(lines):
    words, counts = count_words(lines)
    every = [word for line in lines for word in split_words(line)]
    assert words[0] == "<unk>"
    assert len(words) == len(set(words)) == len(counts)
    assert set(words) == {"<unk>", *every}
    assert counts.tolist() == [every.count(word) for word in words]
    keys = [(-count, word) for word, count in zip(words[1:], counts[1:], strict=True)]
    assert keys == sorted(keys)


def test_vocabulary_by_hand():
    words, counts = count_words(LINES)
    assert words == ["<unk>", "b", "=", "a", "c", ",", "d"]
    assert counts.tolist() == [1, 3, 2, 2, 2, 1, 1]


def test_words_out_of_the_vocabulary_are_unknown():
    made = number_corpus(LINES, ["A x <unk>", "c D B y"])
    assert made.train.tolist() == [1, 3, 1, 4, 0, 3, 1, 5, 4, 2, 6, 2]
    assert made.valid.tolist() == [3, 0, 0, 4, 6, 1, 0]
    assert made.train.dtype == made.valid.dtype == np.int32
    assert np.bincount(made.train, minlength=7).tolist() == made.counts.tolist()


def test_a_corpus_without_unknown_words_has_a_number_for_them():
    assert count_words(["a"])[0] == ["<unk>", "a"]
    assert word_ids([], ["<unk>"]).tolist() == []


def test_chunks_by_hand():
    text = cut_columns(np.arange(1, 24), 2)
    assert text.words.T.tolist() == [list(range(1, 12)), list(range(12, 23))]
    assert text.num_chunks(4) == 3
    words, targets = text.chunk(1, 4)
    assert words.tolist() == [[5, 6, 7, 8], [16, 17, 18, 19]]
    assert targets.tolist() == [[6, 7, 8, 9], [17, 18, 19, 20]]
    words, targets = text.chunk(2, 4)
    assert words.tolist() == [[9, 10], [20, 21]]
    assert targets.tolist() == [[10, 11], [21, 22]]


@given(size=st.integers(2, 200), number=st.integers(1, 5), length=st.integers(2, 20))
def test_chunks_cover_every_word_once(size, number, length):
    text = cut_columns(np.arange(size), number)
    if len(text.words) < 2:
        return
    chunks = [text.chunk(index, length) for index in range(text.num_chunks(length))]
    for words, targets in chunks:
        np.testing.assert_array_equal(targets, words + 1)
        assert 1 <= words.shape[1] <= length
    assert {words.shape[1] for words, _ in chunks[:-1]} <= {length}
    together = np.concatenate([words for words, _ in chunks], axis=1)
    rows = size // number
    np.testing.assert_array_equal(
        together, rows * np.arange(number)[:, None] + np.arange(rows - 1)[None]
    )


def wikitext_2() -> Path | None:
    """Where WikiText-2 is: the folder WIKITEXT_2, or else shared/data/wikitext-2 beside the clone.

    The folder must hold wiki.train.tokens and wiki.valid.tokens.
    """
    folder = Path(os.environ.get("WIKITEXT_2") or ROOT.parent / "shared/data/wikitext-2")
    return folder if (folder / "wiki.train.tokens").is_file() else None


@pytest.mark.thorough
@pytest.mark.skipif(wikitext_2() is None, reason="set WIKITEXT_2 to a folder with WikiText-2")
def test_wikitext_2_has_the_numbers_of_the_released_notebook():
    folder = wikitext_2()
    train, valid = (
        (folder / f"wiki.{split}.tokens").read_bytes().decode().split("\n")
        for split in ("train", "valid")
    )
    made = number_corpus(train, valid)
    assert len(made.words) == 28_782
    assert len(made.train) == 2_049_990
    assert made.words[:4] == ["<unk>", "the", ",", "."]
    words, _ = cut_columns(made.train, 20).chunk(100, 35)
    # Printed by the notebook in the authors' repository.
    assert words[0].tolist() == [
        43, 6971, 3, 66, 407, 1, 3476, 2, 1, 319, 157, 29, 842, 19, 13722, 7, 294, 24, 14, 5902,
        14, 687, 2, 18, 1, 5832, 16, 1, 157, 162, 1963, 735, 60, 1946, 89,
    ]  # fmt: skip
