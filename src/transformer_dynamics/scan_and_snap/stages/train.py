"""Train all mixtures and all cells of an experiment for some seeds."""

import sys
from pathlib import Path

import click
import numpy as np
from tqdm import tqdm

from transformer_dynamics.errors import InputError
from transformer_dynamics.scan_and_snap.experiments import TrainJob
from transformer_dynamics.scan_and_snap.streams import Sequences
from transformer_dynamics.scan_and_snap.training import Run, train
from transformer_dynamics.seeds import parse_seeds
from transformer_dynamics.storage import read_arrays, write_arrays


@click.command(help=__doc__)
@click.option("--settings", required=True, help="TrainJob as JSON.")
@click.option("--seeds", "seeds_text", required=True, help="Such as 1-10,12.")
@click.option("--sequences", required=True, type=click.Path(path_type=Path))
@click.option("--output", required=True, type=click.Path(path_type=Path))
def main(settings: str, seeds_text: str, sequences: Path, output: Path) -> None:
    """Write [seed, ...] arrays of recorded Z and losses for every mixture."""
    job, seeds = TrainJob.parse_json(settings, "--settings"), parse_seeds(seeds_text)
    drawn = read_arrays(sequences, job.sample_job.provenance(seeds))
    arrays = {}
    with tqdm(total=len(job.mixtures) * len(seeds), unit="sweep", file=sys.stderr) as progress:
        for name, mixture in job.mixtures.items():
            runs = []
            for index, seed in enumerate(seeds):
                batches = Sequences(
                    *(drawn[f"{name}/{field}"][index] for field in Sequences._fields)
                )
                runs.append(train(mixture, job, seed, batches))
                _check_finite(runs[-1], job, name, seed)
                progress.update()
            for field in Run._fields:
                arrays[f"{name}/{field}"] = np.stack([getattr(run, field) for run in runs])
    write_arrays(output, arrays, job.provenance(seeds))


def _check_finite(run: Run, job: TrainJob, mixture: str, seed: int) -> None:
    finite = np.isfinite(run.loss).all(axis=0) & np.isfinite(run.attention_logits[-1]).all((-2, -1))
    if not finite.all():
        eta_z, ratio = job.training.cells[int(np.argmin(finite))]
        raise InputError(
            f"training diverged: mixture '{mixture}', seed {seed}, eta_z {eta_z:g},"
            f" ratio {ratio:g}; lower the rates or set dtype: float64"
        )


if __name__ == "__main__":
    main()
