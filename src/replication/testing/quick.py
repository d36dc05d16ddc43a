"""Compute studies at their smallest scale, in the folder `quick`: do all stages fit together?

Nothing outside of this folder changes, and its results say nothing about the paper.
"""

from pathlib import Path

import click

from replication.base.errors import InputError
from replication.base.places import PROJECT
from replication.plan.configuration import configure
from replication.plan.jobs import Jobs
from replication.study.studies import find_studies
from replication.verify.project import Project

FOLDER = "quick"
"""Working folder of what is computed, below the current one."""


@click.command(help=__doc__)
@click.argument("studies", nargs=-1)
def main(studies: tuple[str, ...]) -> None:
    """Make figures, verdicts and page of some studies, or else of those of a plain run.

    Raises:
        InputError: if there is no such study, a file is in the way, or Snakemake fails.
    """
    known = find_studies()
    default = configure({}, known)
    plain = [name for name, study in known.items() if study.is_default]
    names = Jobs.of(default, known).selected_studies([*(studies or plain)])
    folder = Path(FOLDER).resolve()
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{folder}: no folder can be made here ({error.strerror}); move away what is in its"
            " place, or start in a folder that you can write"
        ) from error
    smallest = {name: known[name].smallest(default.section(name), folder) for name in names}
    configuration = configure(smallest, known)
    Project(PROJECT, known, configuration).run_snakemake(
        configuration, names, "--directory", FOLDER
    )
    for name in names:
        study = known[name]
        click.echo(f"{name}: {FOLDER}/{study.figures}, {FOLDER}/{study.scorecard}")
