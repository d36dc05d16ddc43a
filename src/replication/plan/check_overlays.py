"""Say whether overlays of the configuration can be used."""

from functools import reduce
from pathlib import Path
from typing import Any

import click

from replication.plan.configuration import configure, merge, read_overlay
from replication.plan.jobs import Jobs
from replication.study.studies import find_studies


@click.command(help=__doc__)
@click.argument("overlays", nargs=-1, type=click.Path(path_type=Path))
def main(overlays: tuple[Path, ...]) -> None:
    """Merge and check overlays, as Snakemake would."""
    studies = find_studies()
    changes: dict[str, Any] = reduce(merge, map(read_overlay, overlays), {})
    changes.pop("study", None)
    Jobs.of(configure(changes, studies), studies)
    click.echo("Nothing is wrong with this configuration.")
