"""Metrics of training runs on text: their names, and the words that attention is compared on."""

from typing import Literal

from pydantic import Field

from replication.base.strict import Count, Strict
from transformer_dynamics.scan_and_snap_text.settings.experiments import TextExperiment
from transformer_dynamics.scan_and_snap_text.settings.training import TokenJob

TextMetric = Literal["fingerprint", "maps", "validation", "dynamics"]


class WordSettings(Strict):
    """Words that attention along training is compared on, by the training text."""

    function_words: Count
    """Number of the most frequent words, `<unk>` left out, that stand for function words."""
    rare_below: int = Field(ge=2)
    """Number of occurrences below which a word is called rare."""
    next_words: int = Field(ge=1, le=10_000)
    """Number of the most frequent next words that are told apart in the distinctness of a word; the
    others are taken together, as their counts are small."""
    least_occurrences: Count
    """Number of occurrences from which on a word's distinctness is estimated."""
    least_keys: int = Field(ge=2)
    """Number of keys of known distinctness that a query needs for its attention to be ranked."""


class MetricSettings(Strict):
    """Words and updates by which attention on text is measured."""

    words: WordSettings
    """Words that attention is compared on."""
    early: Count
    """Number of updates after which learning rates are compared early in training."""


class TextMetricJob(Strict):
    """All that a table of one metric over all runs of an experiment depends on."""

    corpora: dict[str, TokenJob]
    """The corpora by name."""
    experiment: TextExperiment
    """Settings of the experiment."""
    device: Literal["cpu"] = "cpu"
    """Device that makes the table, whatever device trained."""
    words: WordSettings | None
    """Words that attention is compared on; of `dynamics` only."""
    metric: TextMetric
    """Metric of the table. `fingerprint`: a few numbers and a digest of every run; `maps`:
    attention on the shown chunk; `validation`: entropy and perplexity of every trained model;
    `dynamics`: what attention is spent on, along training."""
