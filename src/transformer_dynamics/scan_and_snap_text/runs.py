"""Train one model on text with one seed, going on from where an interrupted run was."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import click
import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from transformer_dynamics.scan_and_snap_text import training
from transformer_dynamics.scan_and_snap_text.evaluation import Record
from transformer_dynamics.scan_and_snap_text.settings import TextTrainJob
from transformer_dynamics.scan_and_snap_text.tokens import Corpus, columns
from transformer_dynamics.scan_and_snap_text.training import Progress

LARGEST_EXPONENT = 700.0
"""A perplexity beyond e^700 is no number."""


class Checkpoint(Protocol):
    """Where the state of a run is kept."""

    def read(self) -> dict[str, NDArray[Any]] | None:
        """What an interrupted run kept."""

    def is_due(self) -> bool:
        """Whether the state should be kept now."""

    def write(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Keep a state."""


def train(
    job: TextTrainJob,
    seeds: list[int],
    data: Sequence[Mapping[str, NDArray[Any]]],
    checkpoint: Checkpoint,
) -> dict[str, NDArray[Any]]:
    """Train a model.

    Args:
        job: corpus, model, rate, training and device.
        seeds: the one seed of initialisation and dropout.
        data: the arrays of the corpus.
        checkpoint: where the state is kept on the way.

    Returns:
        [seed, recorded update, ...] the fields of `Record`; `updates` [seed, recorded update], the
        number of updates before each; `losses` [seed, update] of the batches, in nats.

    Raises:
        InputError: if the text is too short, the device is not there or training diverges.
    """
    (seed,), (arrays,) = seeds, data
    corpus = Corpus.of(arrays)
    last = training.num_updates(job, columns(corpus.train, job.training.batch_size))
    states = training.train(job, seed, corpus, _begun(job, corpus, checkpoint))
    state = next(states)
    with tqdm(
        total=last, initial=len(state.losses), unit="update", mininterval=10, smoothing=0.1
    ) as bar:
        for state in states:
            bar.update()
            bar.set_postfix(_shown(job, state, bar), refresh=False)
            if checkpoint.is_due():
                checkpoint.write(state.arrays())
    found = {
        **{
            field: np.stack([getattr(record, field) for record in state.records])
            for field in Record._fields
        },
        "updates": np.array(training.recorded_updates(job, last)),
        "losses": np.array(state.losses),
    }
    return {name: values[None] for name, values in found.items()}


def _begun(job: TextTrainJob, corpus: Corpus, checkpoint: Checkpoint) -> Progress | None:
    """Where to go on; None at the beginning."""
    kept = checkpoint.read()
    if kept is None:
        return None
    state = training.resumed(kept, job, len(corpus.words))
    click.echo(f"going on after update {len(state.losses)}", err=True)
    return state


def _shown(job: TextTrainJob, state: Progress, bar: "tqdm[Any]") -> dict[str, str]:
    """Mean of the latest losses, its perplexity, and the speed."""
    loss = float(np.mean(state.losses[-100:]))
    words = job.training.batch_size * job.training.chunk_length
    rate = bar.format_dict["rate"] or 0.0
    return {
        "loss": f"{loss:.3f}",
        "perplexity": f"{math.exp(min(loss, LARGEST_EXPONENT)):.1f}",
        "words/s": f"{rate * words:.0f}",
    }
