"""Draw the training sequences of some seeds of an experiment."""

from pathlib import Path

import click
import numpy as np

from transformer_dynamics.scan_and_snap.experiments import SampleJob
from transformer_dynamics.scan_and_snap.streams import Sequences, sample
from transformer_dynamics.seeds import parse_seeds
from transformer_dynamics.storage import write_arrays


@click.command(help=__doc__)
@click.option("--settings", required=True, help="SampleJob as JSON.")
@click.option("--seeds", "seeds_text", required=True, help="Such as 1-10,12.")
@click.option("--output", required=True, type=click.Path(path_type=Path))
def main(settings: str, seeds_text: str, output: Path) -> None:
    """Write [seed, steps, batch, ...] arrays for every mixture."""
    job, seeds = SampleJob.parse_json(settings, "--settings"), parse_seeds(seeds_text)
    arrays = {}
    for name, mixture in job.mixtures.items():
        drawn = [sample(mixture, job.sampling, seed) for seed in seeds]
        for field in Sequences._fields:
            arrays[f"{name}/{field}"] = np.stack([getattr(sequences, field) for sequences in drawn])
    write_arrays(output, arrays, job.provenance(seeds))


if __name__ == "__main__":
    main()
