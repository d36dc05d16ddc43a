"""Tables of the metrics of an experiment's training runs on text."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from replication.study.contract import Run
from replication.study.fingerprint import digest
from transformer_dynamics.scan_and_snap_text.data.corpus import Corpus, cut_columns
from transformer_dynamics.scan_and_snap_text.metrics.attention import (
    attention_over_uniform,
    diagonal_over_uniform,
    entropy_over_uniform,
    first_over_uniform,
    rank_correlation,
    total_variation,
)
from transformer_dynamics.scan_and_snap_text.metrics.words import Words, distinctness, sort_words
from transformer_dynamics.scan_and_snap_text.settings.experiments import TextRun
from transformer_dynamics.scan_and_snap_text.settings.metrics import TextMetric, TextMetricJob

Arrays = Mapping[str, NDArray[Any]]
Measure = Callable[[TextMetricJob, Corpus, TextRun, Arrays], pd.DataFrame]


def measure(job: TextMetricJob, runs: Iterable[Run], data: Sequence[Arrays]) -> pd.DataFrame:
    """Return the metric's rows of every run, with the columns that tell the runs apart.

    Runs of one seed each and corpora are in the job's order.
    """
    corpora = {
        name: Corpus.from_arrays(arrays)
        for name, arrays in zip(job.experiment.corpora, data, strict=True)
    }
    measures: dict[TextMetric, Measure] = {
        "fingerprint": _fingerprint,
        "maps": _maps,
        "validation": _validation,
        "dynamics": partial(_dynamics, kinds=_sort_words(job, corpora)),
    }
    tables = []
    for run, file in zip(job.experiment.runs, runs, strict=True):
        arrays = {name: values[0] for name, values in file.arrays.items()}
        table = measures[job.metric](job, corpora[run.corpus], run, arrays)
        if job.metric != "fingerprint":
            for place, (name, value) in enumerate(run._asdict().items()):
                table.insert(place, name, value)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def _fingerprint(job: TextMetricJob, corpus: Corpus, run: TextRun, arrays: Arrays) -> pd.DataFrame:
    """Return one row: a digest and a few numbers; `mixture` is corpus, model and rate."""
    return pd.DataFrame(
        {
            "seed": [run.seed],
            "mixture": [run.variant],
            "first_loss": [arrays["losses"][0]],
            "last_loss": [arrays["losses"][-1]],
            "entropy": [arrays["entropy"][-1].mean(dtype="float64")],
            "digest": [digest(arrays)],
        }
    )


def _maps(job: TextMetricJob, corpus: Corpus, run: TextRun, arrays: Arrays) -> pd.DataFrame:
    """Return one row per recorded update, query and key of the shown chunk."""
    training = job.experiment.training
    text = cut_columns(corpus.train, training.batch_size)
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


def _validation(job: TextMetricJob, corpus: Corpus, run: TextRun, arrays: Arrays) -> pd.DataFrame:
    """Return one row: the trained model on the whole validation text."""
    training = job.experiment.training
    text = cut_columns(corpus.train, training.batch_size)
    return pd.DataFrame(
        {
            "updates": [arrays["updates"][-1]],
            "epochs": [arrays["updates"][-1] / text.num_chunks(training.chunk_length)],
            "attention_entropy": [float(arrays["entropy"][-1].mean(dtype=np.float64))],
            "perplexity": [float(np.exp(arrays["validation_loss"][-1]))],
        }
    )


def _sort_words(job: TextMetricJob, corpora: dict[str, Corpus]) -> dict[str, Words]:
    """Sort the words of every corpus, which takes seconds; for `dynamics` only."""
    length, by = job.experiment.training.chunk_length, job.words
    return {
        name: sort_words(corpus.counts, distinctness(corpus.train, corpus.counts, length, by), by)
        for name, corpus in corpora.items()
        if by is not None
    }


def _dynamics(
    job: TextMetricJob, corpus: Corpus, run: TextRun, arrays: Arrays, kinds: dict[str, Words]
) -> pd.DataFrame:
    """Return one row per recorded update on attention in the sampled validation text."""
    assert job.words is not None
    length, evaluation = job.experiment.training.chunk_length, job.experiment.evaluation
    least_keys = job.words.least_keys
    valid, words = cut_columns(corpus.valid, evaluation.batch_size), kinds[run.corpus]
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
            "entropy_share": [entropy_over_uniform(row) for row in entropy],
            "diagonal": [*map(diagonal_over_uniform, sampled)],
            "first": [*map(first_over_uniform, sampled)],
            "function_words": [
                attention_over_uniform(each, words.function[keys][:, None]) for each in sampled
            ],
            "rare_words": [
                attention_over_uniform(each, words.rare[keys][:, None]) for each in sampled
            ],
            "distinctness": [rank_correlation(each, known, least_keys) for each in sampled],
            "change": change / np.diff(arrays["updates"], prepend=np.nan) * 100,
        }
    )
