"""Running text and labelled texts as numbers of the same words."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replication.base.errors import InputError
from transformer_dynamics.encoders import texts
from transformer_dynamics.encoders.data.tokens import of_splits
from transformer_dynamics.encoders.settings import MEND
from transformer_dynamics.encoders.tokens import digests
from transformer_dynamics.gradient_heterogeneity.net_settings import WordsJob
from transformer_dynamics.gradient_heterogeneity.words import running, tokenised, word_list


def sample(job: WordsJob, seeds: list[int], sources: Sequence[Path]) -> dict[str, NDArray[Any]]:
    """List the words of running text, and read both texts with them.

    Args:
        job: how many words, and which labelled texts.
        seeds: not used: each run draws its samples from all of them.
        sources: the running text, then files of the labelled texts.

    Returns:
        `words` [W], `stream` [N] of running text; of the labelled texts `classes` [C] and, by split
        (`train`, `test` and, if there is one, `validation`), the arrays of `Tokens`, such as
        `train_tokens`, and `train_digests`.

    Raises:
        InputError: if a file cannot be read, or the labelled texts are pairs.
    """
    corpus, *labelled = sources
    if not corpus.is_file():
        raise InputError(
            f"{corpus}: the running text is not there; fetch it with `snakemake"
            " results/datasets/wikitext2/train.txt`, or name a folder that has train.txt"
        )
    lines = texts.decoded(corpus).split("\n")
    words = word_list(lines, job.words)
    known = {word: number for number, word in enumerate(words)}
    stream = running(lines, known)
    if not stream.size:
        raise InputError(f"{corpus}: has no running text; {MEND}")
    splits = texts.read(job.texts, labelled)
    found: dict[str, NDArray[Any]] = {
        "words": np.array(words),
        "stream": stream,
        "classes": np.array(splits.train.classes),
    }
    for name, part in of_splits(splits).items():
        found |= tokenised(part, known, job.length).arrays(f"{name}_")
        found[f"{name}_digests"] = digests(part)
    return found
