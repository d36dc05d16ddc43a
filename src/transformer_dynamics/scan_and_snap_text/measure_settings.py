"""Typed settings of what attention on text is compared with."""

from pydantic import Field

from replication.base.strict import Count, Strict


class WordMeasures(Strict):
    """Which words attention along training is compared on, by the training text."""

    function_words: Count
    """How many of the most frequent words, `<unk>` left out, stand for function words."""
    rare_below: int = Field(ge=2)
    """Words that occur less often than this are called rare."""
    next_words: int = Field(ge=1, le=10_000)
    """How many of the most frequent next words are told apart in the distinctness of a word; the
    others are taken together, as their counts are small."""
    least_occurrences: Count
    """Occurrences from which on a word's distinctness is estimated."""
    least_keys: int = Field(ge=2)
    """Keys of known distinctness that a query must have for its attention to be ranked."""


class Measures(Strict):
    """How attention on text is measured."""

    words: WordMeasures
    """Which words it is compared on."""
    early: Count
    """Number of updates after which learning rates are compared early in training."""
