"""List what Snakemake can make here: figures, verdicts and pages of every study, with minutes."""

import difflib
import os
from collections.abc import Callable, Iterable, Iterator
from typing import NoReturn

import click

from replication.base.errors import InputError
from replication.plan.configuration import configure
from replication.plan.costs import Costs
from replication.plan.jobs import Jobs
from replication.study.studies import find_studies

PICTURE_KINDS = ("pdf", "png", "svg")
"""Endings of a figure's pictures; its numbers are a CSV beside them."""


def unknown_targets(arguments: list[str], is_known: Callable[[str], bool]) -> list[str]:
    """Return the targets on Snakemake's command line that nothing makes.

    Rules are read before Snakemake tells them its targets, so its parser parses the command line
    again.
    """
    from snakemake.cli import get_argument_parser

    known, _ = get_argument_parser().parse_known_args(arguments)
    return [target for target in map(str, known.targets) if not is_known(target)]


def refuse_target(jobs: Jobs, target: str, rules: list[str]) -> NoReturn:
    """Refuse a target that nothing makes with an InputError, which has the nearest name there is.

    `rules` are the names of the rules that a user may name.
    """
    name = from_here(target)
    stem, ending = os.path.splitext(name)
    kind = ending.lower().removeprefix(".")
    files = {os.path.splitext(path)[0]: path for path in jobs.steps if not jobs.is_figure(path)}
    for study in jobs.studies.values():
        page = study.study.page
        files |= dict.fromkeys((page.removesuffix(".html"), f"report/{study.study.name}"), page)
    # A figure by the last part of its name, too; of two, that which has no other part.
    for figure in sorted(jobs.figures, key=lambda figure: "/" not in figure):
        path = f"figures/{figure}.{kind if kind in {*PICTURE_KINDS, 'csv'} else 'pdf'}"
        last = figure.rpartition("/")[2]
        files |= dict.fromkeys((last, figure, f"figures/{last}", f"figures/{figure}"), path)
    known = {word.casefold(): path for word, path in files.items()}
    known |= {rule: rule for rule in rules if "/" not in name}
    if close := difflib.get_close_matches(stem.casefold(), known, n=1, cutoff=0.7):
        meant = known[close[0]]
        kinds = f" (a figure can be {', '.join(PICTURE_KINDS)} or, its numbers, csv)"
        also = kinds if meant.startswith("figures/") else ""
        raise InputError(f"{target}: is no target; did you mean {meant}?{also}")
    raise InputError(
        f"{target or 'an empty word'}: is no target; targets are {', '.join(rules)}, and the files"
        " that `snakemake targets` lists"
    )


def from_here(target: str) -> str:
    """Return the path of a target from this folder, which may be behind a link."""
    path = os.path.relpath(target or os.curdir)
    return os.path.relpath(os.path.realpath(target)) if path.startswith(os.pardir) else path


def target_lines(costs: Costs) -> Iterator[str]:
    """Yield the targets of all studies: figures with their subjects and minutes, and the rest."""
    jobs = costs.jobs
    for name, study in jobs.studies.items():
        yield f"{name}: {study.registry.title}"
        for below in jobs.figure_paths(name):
            path, text = f"figures/{below}", study.text(below.rpartition("/")[2])
            subject = f"{text.label}. {text.title}" if text else ""
            yield f"  {path}.pdf  {_minutes(costs, [path])}  {subject}"
        verdicts = _minutes(costs, study.files.verdicts.values())
        yield f"  {study.study.scorecard}  {verdicts}  verdicts on all its claims"
        yield f"  {study.study.page}  its page"
        yield f"  {name}  all of these"
        yield ""
    yield "Minutes are those of one core, from nothing, as they were last recorded."


def _minutes(costs: Costs, paths: Iterable[str]) -> str:
    seconds = sum(job.seconds or 0.0 for job in costs.behind(paths))
    return f"{seconds / 60:.1f} min" if seconds else "time not recorded"


@click.command(help=__doc__)
def main() -> None:
    """Print the list."""
    studies = find_studies()
    costs = Costs(Jobs.of(configure({}, studies), studies))
    click.echo("\n".join(target_lines(costs)))
