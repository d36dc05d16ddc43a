"""Say whether overlays of the configuration can be used."""

from pathlib import Path

import click

from replication.plan.configuration import configure, read_overlays
from replication.plan.jobs import Jobs
from replication.study.studies import find_studies


@click.command(help=__doc__)
@click.argument("overlays", nargs=-1, type=click.Path(path_type=Path))
def main(overlays: tuple[Path, ...]) -> None:
    """Merge and check overlays, as Snakemake would."""
    studies = find_studies()
    Jobs.of(configure(read_overlays(overlays), studies), studies)
    click.echo("Nothing is wrong with this configuration.")
