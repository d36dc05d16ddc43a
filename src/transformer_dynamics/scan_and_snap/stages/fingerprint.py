"""Describe every training run of an experiment in one line, so that it can be recognised."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
import pandas as pd

from transformer_dynamics.frames import write_csv
from transformer_dynamics.scan_and_snap.experiments import TrainJob
from transformer_dynamics.seeds import parse_seeds
from transformer_dynamics.storage import read_arrays


@click.command(help=__doc__)
@click.option("--settings", required=True, help="TrainJob as JSON.")
@click.option("--output", required=True, type=click.Path(path_type=Path))
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
def main(settings: str, output: Path, runs: tuple[Path, ...]) -> None:
    """Read files of runs, each named by its seeds, and write one row per seed and mixture."""
    job = TrainJob.parse_json(settings, "--settings")
    table = pd.DataFrame([row for path in runs for row in _rows(job, path)])
    write_csv(output, table.sort_values(["seed", "mixture"]))


def _rows(job: TrainJob, path: Path) -> Iterator[dict[str, object]]:
    """`digest` is that of all bits of Z and of the losses; the two numbers change little with them.

    `loss` is the mean loss of the last batch, `attention` the root mean square of the final Z.
    """
    seeds = parse_seeds(path.stem)
    arrays = read_arrays(path, job.provenance(seeds))
    for index, seed in enumerate(seeds):
        for name in job.mixtures:
            z, loss = (arrays[f"{name}/{field}"][index] for field in ("attention_logits", "loss"))
            yield {
                "seed": seed,
                "mixture": name,
                "digest": hashlib.sha256(z.tobytes() + loss.tobytes()).hexdigest()[:16],
                "loss": float(loss[-1].mean(dtype=np.float64)),
                "attention": float(np.sqrt((z[-1].astype(np.float64) ** 2).mean())),
            }


if __name__ == "__main__":
    main()
