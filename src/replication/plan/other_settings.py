"""Results of other settings: which ones, as their files say, and how to keep both."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from replication.base.errors import InputError
from replication.base.strict import shorten
from replication.plan.jobs import Jobs
from replication.plan.stale_files import read_record
from replication.study.seeds import format_seeds

MOST_SETTINGS = 5
"""Largest number of settings that are told."""
UNLIKE = "unlike_published"
"""Key of the settings that differ from the paper's, in words."""
LONGEST_VALUE = 40
"""Largest number of letters of a value that is told."""


def differing_keys(data: Any, other: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield each key below a path whose values differ, and both values."""
    if isinstance(data, dict) and isinstance(other, dict):
        for key in other | data:
            place = f"{path} > {key}" if path else f"{key}"
            yield from differing_keys(data.get(key), other.get(key), place)
    elif data != other:
        yield path, data, other


def differing_settings(jobs: Jobs, paths: Iterable[str]) -> list[str]:
    """Return the settings by which files were made, where they are not the planned ones, in words.

    Verdicts, pictures and damaged files do not say their settings.

    Args:
        jobs: the table of jobs.
        paths: files of the table, of which some are there.
    """
    told: dict[str, None] = {}
    for path in paths:
        task = jobs.tasks[path]
        if task.stage in {"verdict", "figure"} or not Path(path).is_file():
            continue
        try:
            found = read_record(Path(path))
            made, seeds = found["settings"], format_seeds(found["seeds"])
        except Exception:
            continue
        told |= dict.fromkeys(_in_words(made | {"seeds": seeds}, task.settings, task.seeds))
    return [*told]


def note_on_replaced(jobs: Jobs, looked: Iterable[str], outputs: Iterable[str]) -> str:
    """Return the sentence on files of other settings that a run replaces; empty if there are none.

    Args:
        jobs: the table of jobs.
        looked: paths in the table of the files that are not what the table says.
        outputs: all outputs of the planned jobs.
    """
    settings = differing_settings(jobs, looked)
    if not settings:
        return ""
    number = sum(Path(path).exists() for path in outputs)
    return (
        f"{number} file{'s' * (number > 1)} here will be replaced, as they are of other settings:"
        f" {told_in_short(settings)}; to keep both, add `--directory FOLDER` to this command, which"
        " then computes there"
    )


def refuse_other_settings(jobs: Jobs, studies: Iterable[str]) -> None:
    """Refuse to compare results that are of other settings.

    Raises:
        InputError: names the settings, and the commands that help.
    """
    for name in studies:
        if settings := settings_here(jobs, name):
            raise InputError(
                f"the results of {name} here are of other settings: {told_in_short(settings)};"
                " give this command the settings that they were made with, replace them by"
                f" `snakemake {name}` with the present settings, or add `--directory FOLDER`, which"
                " keeps them and computes in another folder"
            )


def settings_here(jobs: Jobs, study: str) -> list[str]:
    """Return the settings of a study's results that are here and not the planned ones, in words."""
    behind = jobs.closure(jobs.studies[study].files.all)
    return differing_settings(jobs, sorted(path for path, _ in behind))


def told_in_short(settings: list[str]) -> str:
    """Return some settings in words, and how many more there are."""
    more = len(settings) - MOST_SETTINGS
    return ", ".join(settings[:MOST_SETTINGS]) + (f" and {more} more" if more > 0 else "")


def _in_words(made: dict[str, Any], planned: dict[str, Any], seeds: Iterable[int]) -> Iterator[str]:
    now = planned | {"seeds": format_seeds([*seeds])}
    # Whatever differs from the paper's settings is told as itself.
    alike = {UNLIKE: None}
    for key, there, here in differing_keys(made | alike, now | alike, ""):
        values = (shorten(str(each), LONGEST_VALUE) for each in (there, here))
        yield "{} {} in place of {}".format(key, *values)
