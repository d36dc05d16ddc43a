"""Samples of one seed, as tokens and as features of the untrained encoder."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replication.base.errors import InputError
from replication.base.random_streams import generator
from transformer_dynamics.encoders.samples import check_disjoint, samples
from transformer_dynamics.encoders.settings import TextChoice, TextName
from transformer_dynamics.encoders.texts import SplitsOf
from transformer_dynamics.encoders.tokens import Places, Tokens

Arrays = Mapping[str, NDArray[Any]]


class Samples(NamedTuple):
    """Samples of one set, with their tokens and untrained features."""

    places: NDArray[np.int64]
    """[n] Places in the published split."""
    tokens: Tokens
    """[n] Tokens with their labels."""
    features: NDArray[np.float32]
    """[n, h] Untrained features phi_0."""

    @property
    def labels(self) -> NDArray[np.int64]:
        """[n] Number of the class of each sample."""
        return self.tokens.labels


class SeedSamples(NamedTuple):
    """All samples of one run."""

    train: Samples
    validation: Samples
    tests: dict[str, Samples]
    """Test samples by name: `test`, and the name of each set out of distribution."""
    classes: int
    """Number of classes C."""


def draw_samples(
    choice: TextChoice, others: Sequence[TextName], seed: int, data: Sequence[Arrays]
) -> SeedSamples:
    """Draw the samples of a seed, and those of the `others`, sets out of distribution.

    The data are tokens and test features of the set, then those of each of the others; features of
    the samples of this seed come last. Raises an `InputError` if there are too few samples, a set
    out of distribution has other classes, or a training text is among its texts.
    """
    *whole, drawn = data
    (tokens, features), *foreign = zip(whole[::2], whole[1::2], strict=True)
    held_out = "validation" if "validation_tokens" in tokens else "train"
    found = samples(
        SplitsOf(
            _split_places(tokens, "train"),
            _split_places(tokens, "validation") if held_out == "validation" else None,
            _split_places(tokens, "test"),
        ),
        choice,
        seed,
    )
    if choice.train is None:
        held_out = "train"
    tests = {"test": _test_samples(tokens, features)}
    for name, (its_tokens, its_features) in zip(others, foreign, strict=True):
        if (own_classes := list(tokens["classes"])) != (classes := list(its_tokens["classes"])):
            raise InputError(
                f"{name}: has the classes {', '.join(classes)}, and {choice.name} has"
                f" {', '.join(own_classes)}; out of distribution only a set with the same ones can"
                " be looked at: take it out of `others`"
            )
        for own in (found.train, found.validation):
            check_disjoint(own, _split_places(its_tokens, "test"), f"{choice.name} and {name}")
        tests[name] = _test_samples(its_tokens, its_features)
    train, validation = (drawn[f"{part}_features"][0] for part in ("train", "validation"))
    return SeedSamples(
        _samples_at(found.train.indices, tokens, "train", train),
        _samples_at(found.validation.indices, tokens, held_out, validation),
        tests,
        len(tokens["classes"]),
    )


def _test_samples(tokens: Arrays, features: Arrays) -> Samples:
    places = np.arange(len(tokens["test_labels"]))
    return _samples_at(places, tokens, "test", features["test_features"])


def _samples_at(
    places: NDArray[np.int64], tokens: Arrays, split: str, features: NDArray[np.float32]
) -> Samples:
    """Return samples at some places of a published split, with their features."""
    return Samples(places, Tokens.of(tokens, f"{split}_").take(places), features)


def _split_places(tokens: Arrays, split: str) -> Places:
    digests = tokens[f"{split}_digests"]
    return Places(np.arange(len(digests)), digests)


def draw_places(samples: Samples, number: int, seed: int, scope: str) -> NDArray[np.int64]:
    """Draw ascending places of some samples, or of all if there are no more.

    `scope` is the name of the draw, which tells it from others of the seed.
    """
    order = generator(seed, scope).permutation(len(samples.labels))
    return np.sort(order[:number])
