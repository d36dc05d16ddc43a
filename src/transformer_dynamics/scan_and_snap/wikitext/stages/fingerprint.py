"""Describe every run of an experiment on text by a few numbers and a digest."""

import hashlib
from pathlib import Path

import click
import pandas as pd

from transformer_dynamics.frames import write_csv
from transformer_dynamics.scan_and_snap.wikitext.experiments import TextRuns
from transformer_dynamics.storage import read_arrays


@click.command(help=__doc__)
@click.option("--settings", required=True, help="TextRuns as JSON.")
@click.option("--output", required=True, type=click.Path(path_type=Path))
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
def main(settings: str, output: Path, runs: tuple[Path, ...]) -> None:
    """Write one row per run; `mixture` is its corpus, model and rate."""
    job = TextRuns.parse_json(settings, "--settings")
    rows = []
    for run, path in zip(job.runs, runs, strict=True):
        arrays = read_arrays(path, job.train_job(run).provenance(run.seed))
        digest = hashlib.sha256(b"".join(arrays[name].tobytes() for name in sorted(arrays)))
        rows.append(
            {
                "seed": run.seed,
                "mixture": run.variant,
                "first_loss": arrays["losses"][0],
                "last_loss": arrays["losses"][-1],
                "entropy": arrays["entropy"][-1].mean(dtype="float64"),
                "digest": digest.hexdigest()[:16],
            }
        )
    write_csv(output, pd.DataFrame(rows))


if __name__ == "__main__":
    main()
