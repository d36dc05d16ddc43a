"""Compute studies at their smallest scale, in the folder `quick`: do all stages fit together?

One process makes all files, as Python and its packages take longer to start than such jobs.
Nothing outside of this folder changes, and its results say nothing about the paper.
"""

from contextlib import chdir
from pathlib import Path

import click

from replication.base.errors import InputError
from replication.base.storage import write_text
from replication.judge.scorecard import read_verdict, refuse_wrong_tables, to_markdown
from replication.plan.configuration import configure
from replication.plan.jobs import Jobs
from replication.study.studies import find_studies
from replication.testing.small import Small

FOLDER = "quick"
"""Working folder of what is computed, below the current one."""


@click.command(help=__doc__)
@click.argument("studies", nargs=-1)
def main(studies: tuple[str, ...]) -> None:
    """Make figures and verdicts of some studies, or else of those of a plain run.

    Raises:
        InputError: if there is no such study, a file is in the way, or a job fails.
    """
    known = find_studies()
    plain = [name for name, study in known.items() if study.is_default]
    names = Jobs.of(configure({}, known), known).selected_studies([*(studies or plain)])
    folder = Path(FOLDER).resolve()
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{folder}: no folder can be made here ({error.strerror}); move away what is in its"
            " place, or start in a folder that you can write"
        ) from error
    for name in names:
        small = Small.compute(known[name], folder)
        _write_scorecard(small)
        click.echo(f"{name}: {FOLDER}/{known[name].figures}, {FOLDER}/{known[name].scorecard}")


def _write_scorecard(small: Small) -> None:
    registry, files = small.parts.registry, small.parts.files
    with chdir(small.folder):
        verdicts = [read_verdict(Path(path)) for path in files.verdicts.values()]
        refuse_wrong_tables(registry, verdicts)
        write_text(Path(small.study.scorecard), to_markdown(registry, verdicts))
