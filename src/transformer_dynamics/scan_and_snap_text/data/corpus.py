"""The words of a corpus as numbers, by the released code's tokeniser and vocabulary."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replication.base.errors import InputError
from transformer_dynamics.scan_and_snap_text.settings.training import TokenJob

UNKNOWN = "<unk>"
_SPACED = re.compile(r"(['.,()!?])")
_REMOVED = re.compile(r'"')
_TURNED_INTO_SPACE = re.compile(r"<br />|[;:]")


class Corpus(NamedTuple):
    """The words of a corpus as numbers."""

    words: list[str]
    """[V] Words by id."""
    counts: NDArray[np.int64]
    """[V] Number of times that each word occurs in the training text."""
    train: NDArray[np.int32]
    """[N] Ids of the words of the training text."""
    valid: NDArray[np.int32]
    """[N] Ids of the words of the validation text."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the fields of the corpus as arrays."""
        return {name: np.asarray(values) for name, values in self._asdict().items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "Corpus":
        """Return the corpus whose `arrays` are given."""
        return cls(**{**arrays, "words": arrays["words"].tolist()})


class Columns(NamedTuple):
    """A split laid out for training: each column is a stretch of running text."""

    words: NDArray[np.integer]
    """[rows, columns] Ids of words; row i + 1 holds the next words of row i."""

    def chunk(self, index: int, length: int) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
        """Return words and next words [columns, length] of a chunk; the last one may be shorter."""
        start = index * length
        end = min(start + length, len(self.words) - 1)
        return self.words[start:end].T, self.words[start + 1 : end + 1].T

    def num_chunks(self, length: int) -> int:
        """Return the number of chunks, a shorter last one included."""
        return -(-(len(self.words) - 1) // length)


def sample(job: TokenJob, seeds: list[int], sources: list[Path]) -> dict[str, NDArray[Any]]:
    """Return the arrays of a `Corpus` from the files of the training and of the validation text.

    Raise InputError if a file cannot be read or is not the text that the job names.
    """
    train, valid = sources
    return number_corpus(_read_lines(train, job.train), _read_lines(valid, job.valid)).arrays()


def number_corpus(train: list[str], valid: list[str]) -> Corpus:
    """Return the words of two texts as numbers, by the vocabulary of the first."""
    words, counts = count_words(train)
    return Corpus(words, counts, word_ids(train, words), word_ids(valid, words))


def split_words(line: str) -> list[str]:
    """Split a line into words as torchtext's tokeniser `basic_english` does.

    Lower case; apostrophes and . , ( ) ! ? become words, quotation marks vanish, line breaks,
    semicolons and colons only separate.
    """
    line = _REMOVED.sub("", _SPACED.sub(r" \1 ", line.lower()))
    return _TURNED_INTO_SPACE.sub(" ", line).split()


def count_words(lines: Iterable[str]) -> tuple[list[str], NDArray[np.int64]]:
    """Return every word and how often it occurs: `<unk>` first, then the most frequent ones.

    Words that are equally frequent stand in the order of their characters.
    """
    counts = Counter(word for line in lines for word in split_words(line))
    unknown = counts.pop(UNKNOWN, 0)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    words = [UNKNOWN, *(word for word, _ in ordered)]
    return words, np.array([unknown, *(count for _, count in ordered)], dtype=np.int64)


def word_ids(lines: Iterable[str], words: list[str]) -> NDArray[np.int32]:
    """Return word ids of running text; a word that is not in the vocabulary is `<unk>`."""
    ids = {word: index for index, word in enumerate(words)}
    unknown = ids[UNKNOWN]
    return np.array(
        [ids.get(word, unknown) for line in lines for word in split_words(line)], dtype=np.int32
    )


def cut_columns(ids: NDArray[np.integer], number: int) -> Columns:
    """Cut running text into columns of equal length; the rest is left out."""
    rows = len(ids) // number
    return Columns(ids[: rows * number].reshape(number, rows).T)


def _read_lines(path: Path, sha256: str) -> list[str]:
    """Return the lines of a text whose digest must be the given one."""
    try:
        content = path.read_bytes()
        lines = content.decode().split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as text ({error})") from error
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise InputError(
            f"{path}: its sha256 is {found}, expected {sha256}: it is not the text that the"
            " configuration names; delete it and run again"
        )
    return lines
