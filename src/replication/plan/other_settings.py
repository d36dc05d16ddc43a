"""Results of other settings: which ones, as their files say, and how to keep both."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from replication.base.errors import InputError
from replication.base.strict import shorten
from replication.plan.jobs import COLLECTING, Jobs
from replication.plan.keys_in_files import read_record
from replication.study.seeds import format_seeds

MOST_SETTINGS = 5
"""Largest number of settings that are told; of the rest only their number is."""
UNTOLD = COLLECTING | {"verdict", "figure"}
"""Stages whose files do not say their settings."""
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


def differing_settings(jobs: Jobs, paths: Iterable[str]) -> str:
    """Return the settings by which files of the table were made, where others are planned now.

    Verdicts, pictures and damaged files do not say their settings.
    """
    # Whatever differs from the paper's settings, in words, is told as itself.
    alike = {"unlike_published": None}
    told: dict[str, None] = {}
    for path in paths:
        step = jobs.steps[path]
        if (
            step.stage in {"verdict", "figure", "scorecard", "page", "index"}
            or not Path(path).is_file()
        ):
            continue
        try:
            found = read_record(Path(path))
            made = found["settings"] | {"seeds": format_seeds(found["seeds"])}
        except Exception:
            continue
        now = step.settings | {"seeds": format_seeds(step.seeds)}
        for key, *values in differing_keys(made | alike, now | alike, ""):
            there, here = (shorten(str(each), LONGEST_VALUE) for each in values)
            told[f"{key} {there} in place of {here}"] = None
    more = len(told) - MOST_SETTINGS
    return ", ".join([*told][:MOST_SETTINGS]) + (f" and {more} more" if more > 0 else "")


def settings_here(jobs: Jobs, study: str) -> str:
    """Return the settings of a study's results in this folder, where others are planned now."""
    behind = jobs.closure(jobs.studies[study].files.all)
    return differing_settings(jobs, sorted(path for path, _ in behind))


def note_on_replaced(jobs: Jobs, looked: Iterable[str], outputs: Iterable[str]) -> str:
    """Return the sentence on files of other settings that a run replaces, if there are some.

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
        f" {settings}; to keep both, add `--directory FOLDER` to this command, which then computes"
        " there"
    )


def refuse_other_settings(jobs: Jobs, studies: Iterable[str]) -> None:
    """Refuse to compare results of other settings.

    Raises:
        InputError: names the settings, and the commands that help.
    """
    for name in studies:
        if settings := settings_here(jobs, name):
            raise InputError(
                f"the results of {name} here are of other settings: {settings}; give this command"
                " the settings that they were made with, replace them by"
                f" `snakemake {name}` with the present settings, or add `--directory FOLDER`, which"
                " keeps them and computes in another folder"
            )
