"""Compute studies at their smallest scale, in the folder `quick`: do all stages fit together?

One process makes all files, as Python and its packages take longer to start than such jobs.
Nothing outside of this folder changes, and its results say nothing about the paper.
"""

from pathlib import Path

import click

from replication.base.errors import InputError
from replication.plan.configuration import configure
from replication.plan.jobs import Jobs
from replication.study.studies import find_studies
from replication.testing.small import Small

FOLDER = "quick"
"""Working folder of what is computed, below the current one."""


@click.command(help=__doc__)
@click.argument("studies", nargs=-1)
def main(studies: tuple[str, ...]) -> None:
    """Make figures and verdicts of some studies, or else of those of a plain run."""
    known = find_studies()
    plain = [name for name, study in known.items() if study.is_default]
    folder = Path(FOLDER).resolve()
    for name in Jobs.of(configure({}, known), known).selected_studies([*(studies or plain)]):
        try:
            small = Small.compute(known[name], folder)
        except OSError as error:
            raise InputError(f"{folder}: {error.strerror}; make room for this folder") from error
        click.echo(f"{name}: {FOLDER}/{small.study.figures}, {FOLDER}/{small.study.scorecard}")
