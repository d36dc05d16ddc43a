"""List what Snakemake can make here: figures, verdicts and pages of every study, with minutes."""

import click

from replication.plan.configuration import configure
from replication.plan.jobs import Jobs
from replication.plan.recorded_times import Records
from replication.plan.targets import target_lines
from replication.study.studies import find_studies


@click.command(help=__doc__)
def main() -> None:
    """Print the list."""
    studies = find_studies()
    jobs = Jobs.of(configure({}, studies), studies)
    click.echo("\n".join(target_lines(jobs, Records.of(studies.values()))))
