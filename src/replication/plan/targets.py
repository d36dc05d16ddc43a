"""Targets that a user may name, and suggestions for a name that nothing makes."""

import difflib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NoReturn

from replication.base.errors import InputError
from replication.plan.jobs import Jobs
from replication.plan.recorded_times import Records

PICTURE_KINDS = ("pdf", "png", "svg")
"""Endings of a figure's pictures; its numbers are a CSV beside them."""
LISTS = frozenset({"-l", "--list", "--lt", "--list-target-rules", "--lint"})
"""Options by which Snakemake lists or checks rules and writes nothing."""


def refuse_unwritable(folder: Path, words: Iterable[str]) -> None:
    """Refuse a working folder into which Snakemake cannot write its records.

    Args:
        folder: the working folder.
        words: words of Snakemake's command; lists of rules need no such folder.

    Raises:
        InputError: names the option for another folder.
    """
    if not os.access(folder, os.W_OK) and LISTS.isdisjoint(words):
        raise InputError(
            f"{folder}: cannot be written, and results, figures, logs and Snakemake's records go"
            " there; name a folder that can with --directory"
        )


def unknown_targets(
    jobs: Jobs,
    arguments: list[str],
    is_rule: Callable[[str], bool],
    is_known: Callable[[str], bool],
) -> list[str]:
    """Return the targets on Snakemake's command line that nothing makes.

    Rules are read before Snakemake tells them its targets, so its parser parses the command line
    again. That takes a moment, as asking all rules does. So files in the table of jobs are accepted
    before it.

    Args:
        jobs: the table of jobs.
        arguments: arguments of the command line.
        is_rule: says whether a rule has this name.
        is_known: says whether a rule makes a target.
    """

    def is_plain(word: str) -> bool:
        stem, _, kind = word.rpartition(".")
        is_picture = kind in PICTURE_KINDS and jobs.is_figure(stem)
        is_file = word in jobs.tasks and not jobs.is_figure(word)
        return is_picture or is_file or word.startswith("-") or is_rule(word)

    if all(map(is_plain, arguments)):
        return []
    from snakemake.cli import get_argument_parser

    known, _ = get_argument_parser().parse_known_args(arguments)
    targets = map(str, known.targets)
    return [target for target in targets if not (is_plain(target) or is_known(target))]


def refuse_target(jobs: Jobs, target: str, rules: list[str]) -> NoReturn:
    """Refuse a target that nothing makes, with the name that was probably meant.

    Args:
        jobs: the table of jobs.
        target: the file or the rule that a user named.
        rules: names of the rules that a user may name.

    Raises:
        InputError: names the closest target, or targets that there are.
    """
    name = from_here(target)
    suffix = Path(name).suffix
    kind = suffix.lower().removeprefix(".")
    word = name.removesuffix(suffix).casefold()
    paths = {
        name: f"figures/{name}.{kind if kind in {*PICTURE_KINDS, 'csv'} else 'pdf'}"
        for name in jobs.figures
    }
    # By the last part of their names, too; of two, that which has no other part.
    figures = {name.rpartition("/")[2].casefold(): path for name, path in paths.items()}
    figures |= {name.casefold(): path for name, path in paths.items()}
    is_figure = name.startswith("figures/")
    files = [*paths.values(), *jobs.tasks, *_files_of_studies(jobs)]
    if inside := [path for path in files if path.startswith(f"{name}/")]:
        same = "".join(f"{rule}, or " for rule in rules if rule == Path(name).name)
        raise InputError(
            f"{target}: is a folder and no target; did you mean {same}a file in it such as"
            f" {inside[0]}?"
        )
    if is_figure:
        known, word = figures, word.removeprefix("figures/")
    elif name.startswith("results/"):
        known, word = {path: path for path in files}, name
    else:
        pages = {f"report/{name}": study.study.page for name, study in jobs.studies.items()}
        below = {f"figures/{name}": path for name, path in figures.items()}
        known = {rule: rule for rule in rules} | figures | below | pages
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.65)
    if close:
        meant = known[close[0]]
        kinds = f" (a figure can be {', '.join(PICTURE_KINDS)} or, its numbers, csv)"
        also = kinds if meant.startswith("figures/") else ""
        raise InputError(f"{target}: is no target; did you mean {meant}?{also}")
    if is_figure:
        raise InputError(f"{target}: there is no such figure; known: {', '.join(jobs.figures)}")
    examples = [*list(paths.values())[:1], *_files_of_studies(jobs)[:2]]
    raise InputError(
        f"{target or 'an empty word'}: is no target; targets are {', '.join(rules)}, and files such"
        f" as {', '.join(examples)}"
    )


def from_here(target: str) -> str:
    """Return the path of a target from this folder, which may be behind a link."""
    path = os.path.relpath(target or os.curdir)
    return os.path.relpath(os.path.realpath(target)) if path.startswith(os.pardir) else path


def target_lines(jobs: Jobs, records: Records) -> Iterator[str]:
    """Yield the targets of all studies: figures with their subjects and minutes, and the rest.

    Args:
        jobs: the table of jobs.
        records: times of jobs.
    """
    for name, study in jobs.studies.items():
        yield f"{name}: {study.registry.title}"
        for below in jobs.figure_paths(name):
            path, text = f"figures/{below}", study.text(below.rpartition("/")[2])
            subject = f"{text.label}. {text.title}" if text else ""
            yield f"  {path}.pdf  {_minutes(jobs, [path], records)}  {subject}"
        verdicts = _minutes(jobs, study.files.verdicts.values(), records)
        yield f"  {study.study.scorecard}  {verdicts}  verdicts on all its claims"
        yield f"  {study.study.page}  its page"
        yield f"  {name}  all of these"
        yield ""
    yield "Minutes are those of one core, from nothing, as they were last recorded."


def _minutes(jobs: Jobs, paths: Iterable[str], records: Records) -> str:
    seconds = sum(jobs.seconds_of(paths, records))
    return f"{seconds / 60:.1f} min" if seconds else "time not recorded"


def _files_of_studies(jobs: Jobs) -> list[str]:
    """Return the scorecards and pages of the studies."""
    studies = (study.study for study in jobs.studies.values())
    return [path for each in studies for path in (each.scorecard, each.page)]
