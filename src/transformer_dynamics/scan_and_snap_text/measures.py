"""Measure one metric on all runs of an experiment on text."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from replication.study.contract import Run
from transformer_dynamics.scan_and_snap_text.attention import (
    Words,
    on_diagonal,
    on_first,
    rank_correlation,
    share_of_uniform,
    spent_on,
    total_variation,
    word_kinds,
)
from transformer_dynamics.scan_and_snap_text.distinctness import distinctness
from transformer_dynamics.scan_and_snap_text.experiments import (
    TextMeasureJob,
    TextMetric,
    TextRun,
)
from transformer_dynamics.scan_and_snap_text.tokens import Corpus, columns

Arrays = Mapping[str, NDArray[Any]]
Measure = Callable[[TextMeasureJob, Corpus, TextRun, Arrays], pd.DataFrame]


def measure(job: TextMeasureJob, runs: Iterable[Run], data: Sequence[Arrays]) -> pd.DataFrame:
    """The metric's rows of every run, with what tells the runs apart.

    Args:
        job: the metric, and what the runs depend on.
        runs: of one seed each, in the job's order.
        data: the corpora of the experiment, in its order.
    """
    corpora = {
        name: Corpus.of(arrays) for name, arrays in zip(job.experiment.corpora, data, strict=True)
    }
    metrics: dict[TextMetric, Measure] = {
        "fingerprint": _fingerprint,
        "maps": _maps,
        "validation": _validation,
        "dynamics": partial(_dynamics, kinds=_word_kinds(job, corpora)),
    }
    tables = []
    for run, file in zip(job.experiment.runs, runs, strict=True):
        arrays = {name: values[0] for name, values in file.arrays.items()}
        table = metrics[job.metric](job, corpora[run.corpus], run, arrays)
        if job.metric != "fingerprint":
            for place, (name, value) in enumerate(run._asdict().items()):
                table.insert(place, name, value)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def _fingerprint(job: TextMeasureJob, corpus: Corpus, run: TextRun, arrays: Arrays) -> pd.DataFrame:
    """One row: a few numbers and a digest of the arrays; `mixture` is corpus, model and rate."""
    digest = hashlib.sha256(b"".join(arrays[name].tobytes() for name in sorted(arrays)))
    return pd.DataFrame(
        {
            "seed": [run.seed],
            "mixture": [run.variant],
            "first_loss": [arrays["losses"][0]],
            "last_loss": [arrays["losses"][-1]],
            "entropy": [arrays["entropy"][-1].mean(dtype="float64")],
            "digest": [digest.hexdigest()[:16]],
        }
    )


def _maps(job: TextMeasureJob, corpus: Corpus, run: TextRun, arrays: Arrays) -> pd.DataFrame:
    """One row per recorded update, query and key of the shown chunk."""
    training = job.experiment.training
    text = columns(corpus.train, training.batch_size)
    ids = text.chunk(job.experiment.evaluation.shown_chunk, training.chunk_length)[0][0]
    words = np.array([corpus.words[index] for index in ids])
    update, query, key = (axis.ravel() for axis in np.indices(arrays["shown"].shape))
    return pd.DataFrame(
        {
            "layers": job.experiment.models[run.model].layers,
            "iteration": arrays["updates"][update],
            "query_position": query,
            "key_position": key,
            "attention": arrays["shown"].ravel(),
            "query_word": words[query],
            "key_word": words[key],
        }
    )


def _validation(job: TextMeasureJob, corpus: Corpus, run: TextRun, arrays: Arrays) -> pd.DataFrame:
    """One row: the trained model on the whole validation text."""
    training = job.experiment.training
    text = columns(corpus.train, training.batch_size)
    return pd.DataFrame(
        {
            "updates": [arrays["updates"][-1]],
            "epochs": [arrays["updates"][-1] / text.num_chunks(training.chunk_length)],
            "attention_entropy": [float(arrays["entropy"][-1].mean(dtype=np.float64))],
            "perplexity": [float(np.exp(arrays["validation_loss"][-1]))],
        }
    )


def _word_kinds(job: TextMeasureJob, corpora: dict[str, Corpus]) -> dict[str, Words]:
    """The kinds of the words of every corpus, which take seconds; of `dynamics` only."""
    length, by = job.experiment.training.chunk_length, job.words
    return {
        name: word_kinds(corpus.counts, distinctness(corpus.train, corpus.counts, length, by), by)
        for name, corpus in corpora.items()
        if by is not None
    }


def _dynamics(
    job: TextMeasureJob, corpus: Corpus, run: TextRun, arrays: Arrays, kinds: dict[str, Words]
) -> pd.DataFrame:
    """One row per recorded update: what attention is spent on, in the sampled validation text."""
    assert job.words is not None
    length, evaluation = job.experiment.training.chunk_length, job.experiment.evaluation
    least_keys = job.words.least_keys
    valid, words = columns(corpus.valid, evaluation.batch_size), kinds[run.corpus]
    chunks = range(evaluation.sampled_chunks)
    keys = np.concatenate([valid.chunk(index, length)[0] for index in chunks])
    sampled = arrays["sampled"].astype(np.float64).reshape(-1, len(keys), length, length)
    entropy = arrays["entropy"].astype(np.float64)
    change = [np.nan, *map(total_variation, sampled, sampled[1:])]
    known = words.distinctness[keys]
    return pd.DataFrame(
        {
            "iteration": arrays["updates"],
            "entropy": entropy.mean(axis=1),
            "entropy_share": [share_of_uniform(row) for row in entropy],
            "diagonal": [*map(on_diagonal, sampled)],
            "first": [*map(on_first, sampled)],
            "function_words": [spent_on(each, words.function[keys][:, None]) for each in sampled],
            "rare_words": [spent_on(each, words.rare[keys][:, None]) for each in sampled],
            "distinctness": [rank_correlation(each, known, least_keys) for each in sampled],
            "change": change / np.diff(arrays["updates"], prepend=np.nan) * 100,
        }
    )
