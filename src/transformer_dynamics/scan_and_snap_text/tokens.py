"""Words of a corpus as the authors' released code has them: `basic_english` and its vocabulary."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

UNKNOWN = "<unk>"
_SPACED = re.compile(r"(['.,()!?])")
_REMOVED = re.compile(r'"')
_TURNED_INTO_SPACE = re.compile(r"<br />|[;:]")


class Columns(NamedTuple):
    """A split laid out for training: each column is a stretch of running text."""

    words: NDArray[np.integer]
    """[rows, columns] word ids; row i + 1 holds the next words of row i."""

    def chunk(self, index: int, length: int) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
        """Words and next words [columns, length] of a chunk; the last one may be shorter."""
        start = index * length
        end = min(start + length, len(self.words) - 1)
        return self.words[start:end].T, self.words[start + 1 : end + 1].T

    def num_chunks(self, length: int) -> int:
        """Number of chunks, a shorter last one included."""
        return -(-(len(self.words) - 1) // length)


def basic_english(line: str) -> list[str]:
    """Split a line into words as torchtext's tokeniser `basic_english` does.

    Lower case; apostrophes and . , ( ) ! ? become words, quotation marks vanish, line breaks,
    semicolons and colons only separate.
    """
    line = _REMOVED.sub("", _SPACED.sub(r" \1 ", line.lower()))
    return _TURNED_INTO_SPACE.sub(" ", line).split()


def vocabulary(lines: Iterable[str]) -> tuple[list[str], NDArray[np.int64]]:
    """Every word and how often it occurs: `<unk>` first, then the most frequent ones.

    Words that are equally frequent stand in the order of their characters.
    """
    counts = Counter(word for line in lines for word in basic_english(line))
    unknown = counts.pop(UNKNOWN, 0)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    words = [UNKNOWN, *(word for word, _ in ordered)]
    return words, np.array([unknown, *(count for _, count in ordered)], dtype=np.int64)


def encode(lines: Iterable[str], words: list[str]) -> NDArray[np.int32]:
    """Word ids of running text; a word that is not in the vocabulary is `<unk>`."""
    ids = {word: index for index, word in enumerate(words)}
    unknown = ids[UNKNOWN]
    return np.array(
        [ids.get(word, unknown) for line in lines for word in basic_english(line)], dtype=np.int32
    )


def columns(ids: NDArray[np.integer], number: int) -> Columns:
    """Cut running text into columns of equal length; what does not fill them is left out."""
    rows = len(ids) // number
    return Columns(ids[: rows * number].reshape(number, rows).T)


class Corpus(NamedTuple):
    """The words of a corpus as numbers."""

    words: list[str]
    """[V] the words by id."""
    counts: NDArray[np.int64]
    """[V] how often each occurs in the training text."""
    train: NDArray[np.int32]
    """Ids of the training text."""
    valid: NDArray[np.int32]
    """Ids of the validation text."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Its fields as arrays."""
        return {name: np.asarray(values) for name, values in self._asdict().items()}

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> "Corpus":
        """The corpus whose `arrays` are given."""
        return cls(**{**arrays, "words": arrays["words"].tolist()})


def corpus(train: list[str], valid: list[str]) -> Corpus:
    """The corpus of two texts' lines, with the vocabulary of the first."""
    words, counts = vocabulary(train)
    return Corpus(words, counts, encode(train, words), encode(valid, words))
