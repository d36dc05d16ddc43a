"""The samples of one seed, as tokens and as features of the untrained encoder."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replication.base.errors import InputError
from transformer_dynamics.encoders.samples import check_disjoint, samples
from transformer_dynamics.encoders.settings import TextChoice, TextName
from transformer_dynamics.encoders.texts import SplitsOf
from transformer_dynamics.encoders.tokens import Places, Tokens

Arrays = Mapping[str, NDArray[Any]]


class Part(NamedTuple):
    """Some samples."""

    places: NDArray[np.int64]
    """[n] which of its published split they are."""
    tokens: Tokens
    """[n] with their labels."""
    features: NDArray[np.float32]
    """[n, h] phi_0."""

    @property
    def labels(self) -> NDArray[np.int64]:
        """[n] numbers of classes."""
        return self.tokens.labels


class Sets(NamedTuple):
    """All that one run looks at."""

    train: Part
    """Trained on."""
    validation: Part
    """Chosen on."""
    tests: dict[str, Part]
    """Reported on, by name: `test`, and the name of each set out of distribution."""
    classes: int
    """C."""


def sets(choice: TextChoice, others: Sequence[TextName], seed: int, data: Sequence[Arrays]) -> Sets:
    """The samples of a seed.

    Args:
        choice: what is drawn.
        others: sets out of distribution.
        seed: of the draw.
        data: tokens and features of the set, then those of each of the others, as the programs of
            `encoders.data` return them.

    Raises:
        InputError: if there are too few samples, a set out of distribution has other classes, or a
            training text is among its texts.
    """
    (tokens, features), *foreign = zip(data[::2], data[1::2], strict=True)
    held_out = "validation" if "validation_tokens" in tokens else "train"
    found = samples(
        SplitsOf(
            _places(tokens, "train"),
            _places(tokens, "validation") if held_out == "validation" else None,
            _places(tokens, "test"),
        ),
        choice,
        seed,
    )
    if choice.train is None:
        held_out = "train"
    tests = {"test": part(tokens, features, "test")}
    for name, (its_tokens, its_features) in zip(others, foreign, strict=True):
        if (own_classes := list(tokens["classes"])) != (classes := list(its_tokens["classes"])):
            raise InputError(
                f"{name}: has the classes {', '.join(classes)}, and {choice.name} has"
                f" {', '.join(own_classes)}; out of distribution only a set with the same ones can"
                " be looked at: take it out of `others`"
            )
        for own in (found.train, found.validation):
            check_disjoint(own, _places(its_tokens, "test"), f"{choice.name} and {name}")
        tests[name] = part(its_tokens, its_features, "test")
    return Sets(
        part(tokens, features, "train", found.train.indices),
        part(tokens, features, held_out, found.validation.indices),
        tests,
        len(tokens["classes"]),
    )


def part(
    tokens: Arrays, features: Arrays, split: str, places: NDArray[np.int64] | None = None
) -> Part:
    """Samples of one published split.

    Args:
        tokens: all tokens of the set.
        features: its features.
        split: which.
        places: which samples; all if left out.
    """
    whole = Tokens.of(tokens, f"{split}_")
    chosen = np.arange(len(whole.labels)) if places is None else places
    return Part(chosen, whole.take(chosen), features[f"{split}_features"][chosen])


def _places(tokens: Arrays, split: str) -> Places:
    digests = tokens[f"{split}_digests"]
    return Places(np.arange(len(digests)), digests)
