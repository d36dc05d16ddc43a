"""The training loop on text: updates, records on the way, and checkpoints to go on from."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from replication.base.errors import InputError
from transformer_dynamics.scan_and_snap_text.data.corpus import Columns, Corpus, cut_columns
from transformer_dynamics.scan_and_snap_text.settings.training import TextTrainJob
from transformer_dynamics.scan_and_snap_text.training.progress import (
    Progress,
    initial_progress,
    restore_progress,
)
from transformer_dynamics.scan_and_snap_text.training.recorder import Record, Recorder
from transformer_dynamics.scan_and_snap_text.training.updates import (
    update_dropout,
    update_parameters,
)

if TYPE_CHECKING:
    from replication.run.checkpoint import Checkpoint

LARGEST_EXPONENT = 700.0
"""Largest loss, in nats, whose perplexity is a number."""


def train(
    job: TextTrainJob,
    seeds: list[int],
    data: Sequence[Mapping[str, NDArray[Any]]],
    checkpoint: "Checkpoint",
) -> dict[str, NDArray[Any]]:
    """Train a model with its one seed of initialisation and dropout.

    Return [seed, recorded update, ...] the fields of `Record`; `updates` [seed, recorded update],
    the number of updates before each; `losses` [seed, update] of the batches, in nats. Raise
    InputError if the text is too short, the device is not there or training diverges.
    """
    (seed,), (arrays,) = seeds, data
    corpus = Corpus.from_arrays(arrays)
    last = count_updates(job, cut_columns(corpus.train, job.training.batch_size))
    progress, kept = None, checkpoint.read()
    if kept is not None:
        progress = restore_progress(kept, job, len(corpus.words))
        click.echo(f"going on after update {len(progress.losses)}", err=True)
    states = training_states(job, seed, corpus, progress)
    state = next(states)
    with tqdm(
        total=last, initial=len(state.losses), unit="update", mininterval=10, smoothing=0.1
    ) as bar:
        for state in states:
            bar.update()
            bar.set_postfix(_progress_line(job, state, bar), refresh=False)
            if checkpoint.is_due():
                checkpoint.write(state.arrays())
    found = {
        **{
            field: np.stack([getattr(record, field) for record in state.records])
            for field in Record._fields
        },
        "updates": np.array(recorded_updates(job, last)),
        "losses": np.array(state.losses),
    }
    return {name: values[None] for name, values in found.items()}


def training_states(
    job: TextTrainJob, seed: int, corpus: Corpus, progress: Progress | None = None
) -> Iterator[Progress]:
    """Yield the state of training after every update, and once before the first.

    The state is changed in place between two of them. Dropout is drawn anew from the seed and the
    number of the update, so that a run that goes on from a kept state, `progress`, gives the same
    bits. Raise InputError if the text is too short, the device is not there or training diverges.
    """
    text, length = cut_columns(corpus.train, job.training.batch_size), job.training.chunk_length
    recorder = Recorder(job, corpus, text)
    last = count_updates(job, text)
    recorded = recorded_updates(job, last)
    state = progress or initial_progress(job, seed, len(corpus.words))
    if not state.losses and 0 in recorded and not state.records:
        state.records.append(recorder.record(state.parameters, is_last=False))
    yield state
    while (done := len(state.losses)) < last:
        words, targets = text.chunk(done % text.num_chunks(length), length)
        dropout = update_dropout(job, seed, done)
        loss = float(update_parameters(job, state.parameters, words, targets, dropout))
        _check_finite(loss, job, seed, done + 1)
        state.losses.append(loss)
        if done + 1 in recorded:
            state.records.append(recorder.record(state.parameters, is_last=done + 1 == last))
            _check_finite(float(state.records[-1].entropy.sum()), job, seed, done + 1)
        yield state


def count_updates(job: TextTrainJob, text: Columns) -> int:
    """Return the number of updates of a run on a text."""
    training = job.training
    return training.updates or (training.epochs or 0) * text.num_chunks(training.chunk_length)


def recorded_updates(job: TextTrainJob, last: int) -> list[int]:
    """Return the updates after which attention is recorded, ascending, the last one included.

    Raise InputError if one lies beyond the last update.
    """
    late = [update for update in job.training.recorded if update > last]
    if late:
        raise InputError(
            f"training.recorded asks for update {late[0]}, but this text gives {last} updates;"
            " remove it or train longer"
        )
    return sorted({*job.training.recorded, last})


def _check_finite(value: float, job: TextTrainJob, seed: int, update: int) -> None:
    if not np.isfinite(value):
        raise InputError(
            f"training diverged: learning rate {job.learning_rate:g}, seed {seed}, update"
            f" {update}; lower the rate"
        )


def _progress_line(job: TextTrainJob, state: Progress, bar: "tqdm[Any]") -> dict[str, str]:
    """Return the mean of the latest losses, its perplexity, and the speed."""
    loss = float(np.mean(state.losses[-100:]))
    words = job.training.batch_size * job.training.chunk_length
    rate = bar.format_dict["rate"] or 0.0
    return {
        "loss": f"{loss:.3f}",
        "perplexity": f"{math.exp(min(loss, LARGEST_EXPONENT)):.1f}",
        "words/s": f"{rate * words:.0f}",
    }
