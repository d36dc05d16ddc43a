"""Running text and labelled texts as numbers of one vocabulary, for small transformers.

Its words are those of the running text, in lower case, the most frequent first.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replication.base.errors import InputError
from replication.base.random_streams import generator
from transformer_dynamics.encoders import texts
from transformer_dynamics.encoders.data.tokens import of_splits
from transformer_dynamics.encoders.lines import decoded
from transformer_dynamics.encoders.settings import MEND
from transformer_dynamics.encoders.tokens import Tokens, digests
from transformer_dynamics.gradient_heterogeneity.settings.data import VocabularyJob
from transformer_dynamics.gradient_heterogeneity.settings.networks import Masking

SPECIAL = ("[PAD]", "<unk>", "[CLS]", "[MASK]")
"""Words with the numbers 0 to 3: padding, all other words, the beginning of a text, the mask."""
PADDING, OTHER, BEGIN, MASK = range(len(SPECIAL))


def list_words(lines: Sequence[str], number: int) -> list[str]:
    """Return the special words, then the most frequent ones; equals by their characters.

    There are `number` in all, fewer if the running text has fewer.
    """
    counts = Counter(word for line in lines for word in split_words(line))
    counts.pop(SPECIAL[OTHER], None)
    ordered = sorted(counts, key=lambda word: (-counts[word], word))
    return [*SPECIAL, *ordered[: number - len(SPECIAL)]]


def split_words(line: str) -> list[str]:
    """Split a line into words in lower case, those of `SPECIAL` included."""
    return line.lower().split()


def number_words(words: Sequence[str], known: Mapping[str, int]) -> NDArray[np.int32]:
    """Return the numbers [n] of words; all unknown words have one number."""
    return np.array([known.get(word, OTHER) for word in words], dtype=np.int32)


def number_running_text(lines: Sequence[str], known: Mapping[str, int]) -> NDArray[np.int32]:
    """Return the numbers [N] of all words of running text but those of headings, in their order."""
    heading = re.compile(r"^\s*=.*=\s*$")
    parts = (split_words(line) for line in lines if not heading.match(line))
    return np.concatenate([np.empty(0, np.int32), *(number_words(words, known) for words in parts)])


def tokenise_texts(part: texts.Texts, known: Mapping[str, int], length: int) -> Tokens:
    """Tokenise labelled single texts, each with a beginning; an `InputError` for pairs of texts.

    `known` has the numbers of words, `length` is the largest number T of tokens.
    """
    if part.second is not None:
        raise InputError("small transformers read single texts, and these are pairs")
    rows = [
        np.concatenate([[BEGIN], number_words(split_words(text), known)])[:length]
        for text in part.first
    ]
    lengths = np.array([len(row) for row in rows], dtype=np.int32)
    tokens = np.full((len(rows), int(lengths.max(initial=1))), PADDING, dtype=np.int32)
    for place, row in zip(tokens, rows, strict=True):
        place[: len(row)] = row
    return Tokens(tokens, lengths, lengths, part.labels)


def sample(
    job: VocabularyJob, seeds: list[int], sources: Sequence[Path]
) -> dict[str, NDArray[Any]]:
    """Return the words of running text, and running and labelled texts as numbers of these.

    The running text is the first file. It gives `words` [W] and `stream` [N]. The labelled texts
    give `classes` [C] and, for each split (`train`, `test` and, if there is one, `validation`), the
    arrays of `Tokens`, for instance `train_tokens`, and digests, for instance `train_digests`. No
    seed is used: each run draws its samples from all texts. Raises an `InputError` if a file cannot
    be read, or the labelled texts are pairs.
    """
    corpus, *labelled = sources
    if not corpus.is_file():
        raise InputError(
            f"{corpus}: the running text is not there; fetch it with `snakemake"
            " results/datasets/wikitext2/train.txt`, or name a folder that has train.txt"
        )
    lines = decoded(corpus).split("\n")
    words = list_words(lines, job.words)
    known = {word: number for number, word in enumerate(words)}
    stream = number_running_text(lines, known)
    if not stream.size:
        raise InputError(f"{corpus}: has no running text; {MEND}")
    splits = texts.read(job.texts, labelled)
    found: dict[str, NDArray[Any]] = {
        "words": np.array(words),
        "stream": stream,
        "classes": np.array(splits.train.classes),
    }
    for name, part in of_splits(splits).items():
        found |= tokenise_texts(part, known, job.length).arrays(f"{name}_")
        found[f"{name}_digests"] = digests(part)
    return found


class MaskedText(NamedTuple):
    """Stretches of running text of which some words are masked."""

    tokens: NDArray[np.int32]
    """[n, T] Numbers of words, the first of which is the beginning."""
    places: NDArray[np.int64]
    """[n, k] Places that are masked, ascending."""
    labels: NDArray[np.int64]
    """[n, k] Numbers of the words that are masked."""

    def take(self, indices: NDArray[np.int64]) -> "MaskedText":
        """Return the stretches at some places, in the order given."""
        return MaskedText(self.tokens[indices], self.places[indices], self.labels[indices])


def mask_words(
    stream: NDArray[np.int32], length: int, known: int, masking: Masking, seed: int
) -> MaskedText:
    """Cut running text into stretches, and mask some words of each at random.

    `stream` is [N] as `number_running_text` returns it. A stretch has T = `length` tokens with its
    beginning; `known` counts the words, the special ones included. Raises an `InputError` if the
    text is shorter than a stretch.
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
    np.put_along_axis(tokens, places, _stand_ins(labels, known, masking, seed), axis=1)
    return MaskedText(tokens, places, labels)


def _stand_ins(
    labels: NDArray[np.int64], known: int, masking: Masking, seed: int
) -> NDArray[np.int64]:
    """Draw the numbers [n, k] that stand in the places of masked words."""
    if masking.mask == 1:
        return np.full_like(labels, MASK)
    random = generator(seed, "what stands for masked words")
    kinds = random.random(labels.shape)
    others = random.integers(len(SPECIAL), known, labels.shape)
    is_random = kinds < masking.mask + masking.random
    return np.where(kinds < masking.mask, MASK, np.where(is_random, others, labels))
