"""Samples that a run is trained, validated and tested on; it sees none of the last."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from replication.base.errors import InputError
from replication.base.random_streams import generator
from transformer_dynamics.encoders.settings import TextChoice
from transformer_dynamics.encoders.texts import SplitsOf


class Keyed(Protocol):
    """Texts in whatever form, of which repeats can be told."""

    @property
    def first(self) -> Sequence[str]:
        """[n] Name of each text in the message of an error."""

    @property
    def size(self) -> int:
        """Number of texts."""

    @property
    def keys(self) -> Sequence[Hashable]:
        """[n] Key of each text, equal for repeats."""

    def take(self, indices: Any, /) -> Self:
        """Return the texts at some places, in the order given."""


K = TypeVar("K", bound=Keyed)


class Samples(NamedTuple, Generic[K]):
    """Three sets without common texts."""

    train: K
    """Samples that are trained on."""
    validation: K
    """Samples that settings are chosen on."""
    test: K
    """Samples that are reported; they are the same for all seeds."""


def samples(splits: SplitsOf[K], choice: TextChoice, seed: int) -> Samples[K]:
    """Draw the samples of one seed, each set without a text of the test set.

    Where numbers are given, they are drawn from the published training set (validation samples from
    the published validation set where there is one), without texts that the test set repeats.
    Otherwise its distinct texts are cut in an order that is the same for all seeds: files may be
    sorted by class. Raises an `InputError` if more are asked for than there are, a part is empty,
    or only one of the two numbers is given.
    """
    if (choice.train is None) != (choice.validation is None):
        raise InputError(f"{choice.name}: give both train and validation, or none of them")
    pool = without(splits.train, [splits.test])
    random = generator(seed, f"samples of {choice.name}")
    if choice.train is None or choice.validation is None:
        return _cut(_distinct(pool), splits.test, choice)
    if splits.validation is not None:
        others = without(splits.validation, [splits.test])
        validation = drawn(others, choice.validation, random, f"{choice.name}: validation")
        left = without(pool, [validation])
        train = drawn(left, choice.train, random, f"{choice.name}: train")
        return Samples(train, validation, splits.test)
    number = choice.train + choice.validation
    both = drawn(_distinct(pool), number, random, f"{choice.name}: train and validation")
    train = both.take(range(choice.train))
    return Samples(train, both.take(range(choice.train, both.size)), splits.test)


def _cut(pool: K, test: K, choice: TextChoice) -> Samples[K]:
    """Shuffle all texts of a pool, and cut them into training and validation samples."""
    shuffled = drawn(pool, pool.size, generator(0, f"cut of {choice.name}"), choice.name)
    cut = int(choice.kept * pool.size)
    found = Samples(shuffled.take(range(cut)), shuffled.take(range(cut, pool.size)), test)
    for part, texts in found._asdict().items():
        if not texts.size:
            raise InputError(
                f"{choice.name}: no text is left for {part}; change `kept`, {choice.kept:g} of"
                f" {pool.size} texts, or give train and validation"
            )
    return found


def drawn(texts: K, number: int, random: np.random.Generator, what: str) -> K:
    """Draw texts in random order, none of them twice.

    Raises an `InputError` if there are too few; `what` names the set and the draw in its message.
    """
    if number > texts.size:
        raise InputError(
            f"{what}: there are {texts.size} samples, but {number} are asked for; ask for less"
        )
    return texts.take(random.permutation(texts.size)[:number])


def without(texts: K, others: Iterable[K]) -> K:
    """Return the texts that occur in no other set, whatever their case and punctuation."""
    known = {key for other in others for key in other.keys}
    return texts.take([i for i, key in enumerate(texts.keys) if key not in known])


def check_disjoint(texts: K, other: K, what: str) -> None:
    """Refuse two sets with a common text, such as a training set and one out of distribution.

    The `InputError` says which two, by `what`, and names a text that both have.
    """
    known = set(other.keys)
    shared = [text for text, key in zip(texts.first, texts.keys, strict=True) if key in known]
    if shared:
        raise InputError(f"{what}: {len(shared)} texts are in both, such as {shared[0]!r}")


def _distinct(texts: K) -> K:
    """Return the texts without their repeats, of which the first is kept."""
    first = {key: i for i, key in reversed(list(enumerate(texts.keys)))}
    return texts.take(sorted(first.values()))
