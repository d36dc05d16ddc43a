"""Options that the programs of figures with training runs share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from transformer_dynamics.frames import read_table
from transformer_dynamics.scan_and_snap.experiments import MeasureJob
from transformer_dynamics.seeds import parse_seeds

Command = Callable[..., Any]


def figure_of_runs(program: Command) -> Command:
    """Add the options `--figure`, `--settings`, `--seeds`, `--metrics` and `--output`."""
    path = click.Path(path_type=Path)
    for option in (
        click.option("--output", required=True, type=path),
        click.option("--metrics", required=True, type=path),
        click.option("--seeds", required=True, help="Such as 1-10,12."),
        click.option("--settings", required=True, help="MeasureJob of the metrics as JSON."),
        click.option("--figure", required=True, help="Settings of the figure as JSON."),
    ):
        program = option(program)
    return program


def read_metrics(settings: str, seeds: str, metrics: Path) -> tuple[MeasureJob, Any]:
    """The job and its table, refused if the table was made by another one."""
    job = MeasureJob.parse_json(settings, "--settings")
    return job, read_table(metrics, job.provenance(parse_seeds(seeds)))
