"""Texts as numbers, in the words of an encoder's own tokeniser."""

import hashlib
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replication.base.errors import InputError
from replication.base.strict import shorten
from transformer_dynamics.encoders.settings import MEND
from transformer_dynamics.encoders.texts import Texts

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

LARGEST = int(np.iinfo(np.int32).max)
"""Number of a token."""
LONGEST = 10.0
"""Time of a processor for a text, in seconds; what tokenisers of encoders need is under 1 ms."""


class Tokens(NamedTuple):
    """Tokenised, labelled texts, padded with 0 to a common length."""

    tokens: NDArray[np.int32]
    """[n, T] numbers of tokens, the special ones included."""
    lengths: NDArray[np.int32]
    """[n] how many of them are no padding."""
    seconds: NDArray[np.int32]
    """[n] where the second text of a pair begins; the length for a single text."""
    labels: NDArray[np.int64]
    """[n] numbers of classes."""

    def arrays(self, prefix: str = "") -> dict[str, NDArray[Any]]:
        """Its fields as arrays, such as `train_tokens` with a prefix `train_`."""
        return {prefix + name: values for name, values in self._asdict().items()}

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]], prefix: str = "") -> "Tokens":
        """The texts whose `arrays` are given."""
        return cls(*(arrays[prefix + name] for name in cls._fields))

    def take(self, indices: NDArray[np.integer]) -> "Tokens":
        """Some of them, with no more padding than they need."""
        chosen = Tokens(*(values[indices] for values in self))
        longest = int(chosen.lengths.max(initial=1))
        return chosen._replace(tokens=chosen.tokens[:, :longest])


class Places(NamedTuple):
    """Texts as their places in a split, with which samples are drawn."""

    indices: NDArray[np.int64]
    """[n] places."""
    digests: NDArray[np.int64]
    """[n] of the texts, see `digests`."""

    @property
    def first(self) -> list[str]:
        """[n] what an error calls them."""
        return [f"text {index}" for index in self.indices]

    @property
    def size(self) -> int:
        """N."""
        return len(self.indices)

    @property
    def keys(self) -> list[int]:
        """[n] equal where texts are, up to case and punctuation."""
        return [int(digest) for digest in self.digests]

    def take(self, chosen: Sequence[int] | NDArray[np.integer]) -> "Places":
        """Some of them, in the order given."""
        which = np.asarray(chosen, dtype=np.int64)
        return Places(self.indices[which], self.digests[which])


def digests(texts: Texts) -> NDArray[np.int64]:
    """[n] 64 bits of each text's key, equal for repeats, in whatever set they are."""
    found = [hashlib.sha256(key.encode()).digest()[:8] for key in texts.keys]
    return np.frombuffer(b"".join(found), dtype="<i8").astype(np.int64)


def tokenizer(document: str) -> "Tokenizer":
    """A tokeniser from the text of its `tokenizer.json`.

    Raises:
        InputError: if the package is not installed, or the text describes no tokeniser.
    """
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise InputError(
            "the package tokenizers is needed; install what encoders need with `make encoders`"
        ) from error
    try:
        return Tokenizer.from_str(document)
    except Exception as error:
        # The package raises nothing more special.
        raise InputError(f"tokenizer.json describes no tokeniser ({error}); {MEND}") from error


def tokenise(tokeniser: "Tokenizer", texts: Texts, length: int) -> Tokens:
    """Tokenise texts; of too long a pair the longer text is cut.

    Args:
        tokeniser: of the encoder; its own padding and limits are put aside.
        texts: what to tokenise.
        length: T, the largest number of tokens.

    Returns:
        The tokens, [n, T'] with T' <= T as long as the longest text.

    Raises:
        InputError: names a text that the tokeniser cannot take.
    """
    tokeniser.no_padding()
    tokeniser.enable_truncation(length, strategy="longest_first")
    # Not as a batch, so that what goes wrong with a text is said of it.
    encoded = [
        _encoded(tokeniser, first, texts.second[index] if texts.second else None)
        for index, first in enumerate(texts.first)
    ]
    lengths = np.array([len(found.ids) for found in encoded], dtype=np.int32)
    tokens = np.zeros((len(encoded), int(lengths.max(initial=1))), dtype=np.int32)
    for row, found in zip(tokens, encoded, strict=True):
        row[: len(found.ids)] = found.ids
    # Sequence 1 is the second text; RoBERTa gives both texts the same type.
    seconds = [
        next((i for i, which in enumerate(found.sequence_ids) if which == 1), len(found.ids))
        for found in encoded
    ]
    return Tokens(tokens, lengths, np.array(seconds, dtype=np.int32), texts.labels)


def _encoded(tokeniser: "Tokenizer", first: str, second: str | None) -> "Encoding":
    """The tokens of a text, or of a pair.

    Raises:
        InputError: if the tokeniser cannot take it, takes far too long, or gives a token a number
            that arrays of tokens do not hold.
    """
    begun = time.process_time()
    try:
        found = tokeniser.encode(first, second)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        # The package raises nothing more special, and of a panic what is no Exception.
        wrong = f"fails ({shorten(error)})"
    else:
        largest = max(found.ids, default=0)
        if largest <= LARGEST and time.process_time() - begun <= LONGEST:
            return found
        is_large = largest > LARGEST
        wrong = f"gives a token the number {largest}" if is_large else f"takes over {LONGEST:g} s"
    raise InputError(f"tokenizer.json {wrong} in the text {shorten(repr(first))}; {MEND}")
