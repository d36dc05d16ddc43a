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
"""Largest number of a token."""
LONGEST = 10.0
"""Longest time of a processor for a text, in seconds; tokenisers of encoders need under 1 ms."""


class Tokens(NamedTuple):
    """Tokenised, labelled texts, padded with 0 to a common length."""

    tokens: NDArray[np.int32]
    """[n, T] Numbers of tokens, the special ones included."""
    lengths: NDArray[np.int32]
    """[n] Number of tokens of each text that are no padding."""
    seconds: NDArray[np.int32]
    """[n] Place where the second text of a pair begins; the length for a single text."""
    labels: NDArray[np.int64]
    """[n] Number of the class of each text."""

    def arrays(self, prefix: str = "") -> dict[str, NDArray[Any]]:
        """Return the fields as arrays, such as `train_tokens` with a prefix `train_`."""
        return {prefix + name: values for name, values in self._asdict().items()}

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]], prefix: str = "") -> "Tokens":
        """Return the texts that `arrays` has put into arrays."""
        return cls(*(arrays[prefix + name] for name in cls._fields))

    def take(self, indices: NDArray[np.integer]) -> "Tokens":
        """Return the texts at some places, with no more padding than they need."""
        chosen = Tokens(*(values[indices] for values in self))
        longest = int(chosen.lengths.max(initial=1))
        return chosen._replace(tokens=chosen.tokens[:, :longest])


class Places(NamedTuple):
    """Texts as their places in a split, with which samples are drawn."""

    indices: NDArray[np.int64]
    """[n] Place of each text in the split."""
    digests: NDArray[np.int64]
    """[n] Digest of each text, see `digests`."""

    @property
    def first(self) -> list[str]:
        """[n] Name of each text in the message of an error."""
        return [f"text {index}" for index in self.indices]

    @property
    def size(self) -> int:
        """Number of texts."""
        return len(self.indices)

    @property
    def keys(self) -> list[int]:
        """[n] Key of each text, equal for repeats up to case and punctuation."""
        return [int(digest) for digest in self.digests]

    def take(self, chosen: Sequence[int] | NDArray[np.integer]) -> "Places":
        """Return the places of some of the texts, in the order given."""
        which = np.asarray(chosen, dtype=np.int64)
        return Places(self.indices[which], self.digests[which])


def digests(texts: Texts) -> NDArray[np.int64]:
    """Return 64 bits of each text's key, [n], equal for repeats, in whatever set they are."""
    found = [hashlib.sha256(key.encode()).digest()[:8] for key in texts.keys]
    return np.frombuffer(b"".join(found), dtype="<i8").astype(np.int64)


def tokenizer(document: str) -> "Tokenizer":
    """Return a tokeniser from the text of its `tokenizer.json`.

    Raises an `InputError` if the package is not installed, or the text describes no tokeniser.
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
    """Tokenise texts, [n, T'] with T' <= T = `length` as long as the longest text.

    Of too long a pair the longer text is cut. The tokeniser's own padding and limits are put aside.
    Raises an `InputError` with a text that the tokeniser cannot take.
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
    """Return the tokens of a text, or of a pair.

    Raises an `InputError` if the tokeniser cannot take it, takes far too long, or gives a token a
    number that arrays of tokens do not hold.
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
