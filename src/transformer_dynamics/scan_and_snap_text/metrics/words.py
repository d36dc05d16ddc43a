"""Kinds of words, and the distinctness of a word: how much it tells about the next one."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transformer_dynamics.scan_and_snap_text.settings.metrics import WordSettings


class Words(NamedTuple):
    """Kinds and distinctness of the words of a corpus."""

    function: NDArray[np.bool_]
    """[V] True for a function word."""
    rare: NDArray[np.bool_]
    """[V] True for a rare word."""
    distinctness: NDArray[np.float64]
    """[V] Distinctness of each word, see `distinctness`; nan where it is not known."""


def sort_words(
    counts: NDArray[np.integer], information: NDArray[np.float64], by: WordSettings
) -> Words:
    """Sort words into kinds by their [V] occurrences; word 0, `<unk>`, is of none."""
    frequent = np.argsort(-counts[1:], kind="stable")[: by.function_words] + 1
    function = np.zeros(len(counts), dtype=bool)
    function[frequent] = True
    rare = counts < by.rare_below
    rare[0] = False
    return Words(function, rare, information)


def distinctness(
    ids: NDArray[np.integer], counts: NDArray[np.integer], length: int, by: WordSettings
) -> NDArray[np.float64]:
    """Return [V] the information that a word in the context gives on the next word, in nats.

    D(l) = KL(P(n|l) || P(n)), where P(n|l) is the distribution of the word that follows a context
    of up to `length` words with l among them. Its mean over l is the mutual information of key and
    next word; a word that occurs in all contexts alike, a common token of the theory, has 0, one
    that occurs before one next word only has -ln P(n). The counts' bias, (cells - 1) / (2 N) with
    the word's number of pairs N, is subtracted (Miller and Madow). Words that occur fewer than
    `least_occurrences` times have nan.
    """
    known = np.flatnonzero(counts >= by.least_occurrences)
    # The last column is that of all other next words.
    others = by.next_words
    row = np.full(len(counts), -1)
    row[known] = np.arange(len(known))
    column = np.full(len(counts), others)
    frequent = np.argsort(-counts, kind="stable")[:others]
    column[frequent] = np.arange(len(frequent))
    pairs = np.zeros((len(known), others + 1))
    for lag in range(1, length + 1):
        keys, following = row[ids[:-lag]], column[ids[lag:]]
        cells = keys[keys >= 0] * (others + 1) + following[keys >= 0]
        pairs += np.bincount(cells, minlength=pairs.size).reshape(pairs.shape)
    information = np.full(len(counts), np.nan)
    if len(known):
        information[known] = _divergence(pairs)
    return information


def _divergence(pairs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return [keys] KL divergence of every row's distribution from that of all, bias subtracted."""
    total = pairs.sum(axis=1)
    of_all = pairs.sum(axis=0) / pairs.sum()
    share = pairs / total[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(share > 0, share * np.log(share / of_all), 0)
    bias = (np.count_nonzero(pairs, axis=1) - 1) / (2 * total)
    return np.asarray(terms.sum(axis=1) - bias)
