"""Measure one metric on all runs of an experiment on text."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from replication.study import Run
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
        "dynamics": _Dynamics(job, corpora),
    }
    tables = []
    for run, file in zip(job.runs, runs, strict=True):
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


class _Dynamics:
    """One row per recorded update: what attention is spent on, in the sampled validation text."""

    def __init__(self, job: TextMeasureJob, corpora: dict[str, Corpus]) -> None:
        length = job.experiment.training.chunk_length
        self._kinds = {
            name: word_kinds(corpus.counts, distinctness(corpus.train, corpus.counts, length))
            for name, corpus in corpora.items()
            if job.metric == "dynamics"
        }

    def __call__(
        self, job: TextMeasureJob, corpus: Corpus, run: TextRun, arrays: Arrays
    ) -> pd.DataFrame:
        length = job.experiment.training.chunk_length
        valid = columns(corpus.valid, job.experiment.evaluation.batch_size)
        windows = [
            valid.chunk(index, length)[0]
            for index in range(job.experiment.evaluation.sampled_chunks)
        ]
        keys = np.concatenate(windows)
        sampled = arrays["sampled"].astype(np.float64).reshape(-1, len(keys), length, length)
        table = pd.DataFrame(_rows(sampled, keys, self._kinds[run.corpus]))
        entropy = arrays["entropy"].astype(np.float64)
        table.insert(0, "iteration", arrays["updates"])
        table.insert(1, "entropy", entropy.mean(axis=1))
        table.insert(2, "entropy_share", [share_of_uniform(row) for row in entropy])
        change = [np.nan, *map(total_variation, sampled, sampled[1:])]
        return table.assign(change=change / np.diff(arrays["updates"], prepend=np.nan) * 100)


def _rows(
    sampled: NDArray[np.float64], keys: NDArray[np.integer], words: Words
) -> Iterator[dict[str, float]]:
    for attention in sampled:
        yield {
            "diagonal": on_diagonal(attention),
            "first": on_first(attention),
            "function_words": spent_on(attention, words.function[keys][:, None]),
            "rare_words": spent_on(attention, words.rare[keys][:, None]),
            "distinctness": rank_correlation(attention, words.distinctness[keys]),
        }
