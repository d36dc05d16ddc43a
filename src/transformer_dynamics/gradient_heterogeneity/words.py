"""Running text and labelled texts in numbers of the same words, for small transformers.

Words are those of the running text, in lower case, the most frequent first.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from replication.base.errors import InputError
from replication.base.random_streams import generator
from transformer_dynamics.encoders.texts import Texts
from transformer_dynamics.encoders.tokens import Tokens
from transformer_dynamics.gradient_heterogeneity.net_settings import Masking

SPECIAL = ("[PAD]", "<unk>", "[CLS]", "[MASK]")
"""Numbers 0 to 3: padding, all other words, the beginning of a text, and what is masked."""
PADDING, OTHER, BEGIN, MASK = range(len(SPECIAL))


def word_list(lines: Sequence[str], number: int) -> list[str]:
    """The special words, then the most frequent ones; equals in the order of their characters.

    Args:
        lines: running text.
        number: how many in all; fewer if the text has fewer.
    """
    counts = Counter(word for line in lines for word in words_of(line))
    counts.pop(SPECIAL[OTHER], None)
    ordered = sorted(counts, key=lambda word: (-counts[word], word))
    return [*SPECIAL, *ordered[: number - len(SPECIAL)]]


def words_of(line: str) -> list[str]:
    """Words in lower case as spaces part them, those of `SPECIAL` included."""
    return line.lower().split()


def numbered(words: Sequence[str], known: Mapping[str, int]) -> NDArray[np.int32]:
    """[n] numbers of words; those that are not known are others."""
    return np.array([known.get(word, OTHER) for word in words], dtype=np.int32)


def running(lines: Sequence[str], known: Mapping[str, int]) -> NDArray[np.int32]:
    """[N] all words of running text but those of headings, one after another."""
    heading = re.compile(r"^\s*=.*=\s*$")
    texts = (words_of(line) for line in lines if not heading.match(line))
    return np.concatenate([np.empty(0, np.int32), *(numbered(words, known) for words in texts)])


def tokenised(texts: Texts, known: Mapping[str, int], length: int) -> Tokens:
    """Labelled single texts, each with a beginning.

    Args:
        texts: what to tokenise.
        known: numbers of words.
        length: T, the largest number of tokens.

    Raises:
        InputError: for pairs of texts.
    """
    if texts.second is not None:
        raise InputError("small transformers read single texts, and these are pairs")
    rows = [
        np.concatenate([[BEGIN], numbered(words_of(text), known)])[:length] for text in texts.first
    ]
    lengths = np.array([len(row) for row in rows], dtype=np.int32)
    tokens = np.full((len(rows), int(lengths.max(initial=1))), PADDING, dtype=np.int32)
    for place, row in zip(tokens, rows, strict=True):
        place[: len(row)] = row
    return Tokens(tokens, lengths, lengths, texts.labels)


class Masked(NamedTuple):
    """Stretches of running text of which some words are masked."""

    tokens: NDArray[np.int32]
    """[n, T], the first of which is the beginning."""
    places: NDArray[np.int64]
    """[n, k] which are masked, ascending."""
    labels: NDArray[np.int64]
    """[n, k] what they were."""

    def take(self, indices: NDArray[np.int64]) -> "Masked":
        """Some of them, in the order given."""
        return Masked(self.tokens[indices], self.places[indices], self.labels[indices])


def masked(
    stream: NDArray[np.int32], length: int, known: int, masking: Masking, seed: int
) -> Masked:
    """Running text cut into stretches, of each of which some words are masked at random.

    Args:
        stream: [N] as `running` gives it.
        length: T, with the beginning.
        known: number of words, the special ones included.
        masking: how many, and what stands in their places.
        seed: of the choice.

    Raises:
        InputError: if the text is shorter than a stretch.
    """
    number, inner = len(stream) // (length - 1), length - 1
    if number == 0:
        raise InputError(f"the running text has {len(stream)} words, fewer than {inner}")
    words = stream[: number * inner].reshape(number, inner)
    tokens = np.concatenate([np.full((number, 1), BEGIN, np.int32), words], axis=1)
    hidden = max(round(masking.share * inner), 1)
    keys = generator(seed, "masked words").random((number, inner))
    places = np.sort(np.argpartition(keys, hidden - 1, axis=1)[:, :hidden], axis=1) + 1
    labels = np.take_along_axis(tokens, places, axis=1).astype(np.int64)
    np.put_along_axis(tokens, places, _shown(labels, known, masking, seed), axis=1)
    return Masked(tokens, places, labels)


def _shown(labels: NDArray[np.int64], known: int, masking: Masking, seed: int) -> NDArray[np.int64]:
    """[n, k] what stands in the places of words that are to be told."""
    if masking.mask == 1:
        return np.full_like(labels, MASK)
    random = generator(seed, "what stands for masked words")
    kinds = random.random(labels.shape)
    others = random.integers(len(SPECIAL), known, labels.shape)
    is_random = kinds < masking.mask + masking.random
    return np.where(kinds < masking.mask, MASK, np.where(is_random, others, labels))
