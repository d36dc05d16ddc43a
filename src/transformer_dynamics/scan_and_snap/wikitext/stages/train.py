"""Train one model on text with one seed, going on from where an interrupted run was."""

import math
import time
from pathlib import Path
from typing import Any

import click
import numpy as np
from tqdm import tqdm

from transformer_dynamics.errors import InputError
from transformer_dynamics.scan_and_snap.wikitext.corpus_file import read_corpus
from transformer_dynamics.scan_and_snap.wikitext.evaluation import Record
from transformer_dynamics.scan_and_snap.wikitext.settings import TextTrainJob
from transformer_dynamics.scan_and_snap.wikitext.tokens import columns
from transformer_dynamics.scan_and_snap.wikitext.training import (
    Progress,
    num_updates,
    recorded_updates,
    resumed,
    train,
)
from transformer_dynamics.storage import read_arrays, write_arrays

CHECKPOINT_SECONDS = 120.0
"""Time between two checkpoints; the results do not depend on it."""
LARGEST_EXPONENT = 700.0
"""A perplexity beyond e^700 is no number."""


@click.command(help=__doc__)
@click.option("--settings", required=True, help="TextTrainJob as JSON.")
@click.option("--seed", required=True, type=int)
@click.option("--tokens", required=True, type=click.Path(path_type=Path))
@click.option("--checkpoint", required=True, type=click.Path(path_type=Path))
@click.option("--output", required=True, type=click.Path(path_type=Path))
def main(settings: str, seed: int, tokens: Path, checkpoint: Path, output: Path) -> None:
    """Write the losses and what was recorded; see `Record`."""
    job = TextTrainJob.parse_json(settings, "--settings")
    provenance, corpus = job.provenance(seed), read_corpus(tokens, job.tokens)
    last = num_updates(job, columns(corpus.train, job.training.batch_size))
    begun = _read_checkpoint(checkpoint, job, seed, len(corpus.words))
    states = train(job, seed, corpus, begun)
    state, saved = next(states), time.monotonic()
    done = len(state.losses)
    with tqdm(total=last, initial=done, unit="update", mininterval=10, smoothing=0.1) as bar:
        for state in states:
            bar.update()
            bar.set_postfix(_shown(job, state, bar), refresh=False)
            if time.monotonic() - saved > CHECKPOINT_SECONDS:
                write_arrays(checkpoint, state.arrays(), provenance)
                saved = time.monotonic()
    arrays = {
        field: np.stack([getattr(record, field) for record in state.records])
        for field in Record._fields
    }
    updates = np.array(recorded_updates(job, last))
    losses = np.array(state.losses)
    write_arrays(output, {**arrays, "updates": updates, "losses": losses}, provenance)
    checkpoint.unlink(missing_ok=True)


def _read_checkpoint(
    path: Path, job: TextTrainJob, seed: int, vocabulary_size: int
) -> Progress | None:
    """Where to go on; None where nothing usable was left, which costs time but no result."""
    if not path.is_file():
        return None
    try:
        state = resumed(read_arrays(path, job.provenance(seed)), job, vocabulary_size)
    except InputError as error:
        click.echo(f"starting anew: {error.message}", err=True)
        return None
    click.echo(f"going on after update {len(state.losses)}, found in {path}", err=True)
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


if __name__ == "__main__":
    main()
