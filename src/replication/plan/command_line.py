"""Snakemake's command line: overlays behind `--configfile`, settings behind `--config`.

Snakemake ends with a trace where it cannot read these, takes a nested number for text, and of two
values of one key the last. Profiles call `check` before Snakemake reads them.
"""

import re
import sys
from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from replication.base.errors import InputError
from replication.base.strict import parse_yaml, shorten

OPTIONS = {"--config": re.compile(r"-C|--config(=|$)"), "--configfile": re.compile("--configf")}
"""Options of Snakemake about settings, and what they can begin with."""
SETTING = re.compile(r"[A-Za-z_][\w-]*\w=")
"""Beginning of a setting that Snakemake takes."""
KINDS_OF_OVERLAYS = (".yaml", ".yml", ".json")
"""Usual endings of overlays; a word with another one was probably meant as a target."""
TARGETS_FIRST = (
    "Snakemake takes every word behind {0} for one of its values, so name targets before it: "
    "`snakemake TARGET {0} ...`"
)


def check() -> None:
    """Refuse, and end this process, if Snakemake could not read its command line."""
    try:
        refuse_unreadable(sys.argv[1:])
    except InputError as error:
        sys.exit(f"Error: {error.message}")


def refuse_unreadable(arguments: Sequence[str]) -> None:
    """Refuse overlays and settings that Snakemake cannot read, or would read in part.

    An `InputError` names the word among the arguments, and the remedy.
    """
    if not refuse_repeated(arguments):
        return
    from snakemake.cli import get_argument_parser

    known, _ = get_argument_parser().parse_known_args([*arguments])
    for overlay in known.configfile:
        _refuse_overlay(overlay)
    read_settings(known.config or ())


def refuse_repeated(arguments: Iterable[str]) -> bool:
    """Say whether there is an option about settings.

    An `InputError` if one stands twice, as Snakemake would forget the values of the first.
    """
    words = [*takewhile("--".__ne__, arguments)]
    times = {name: sum(map(bool, map(each.match, words))) for name, each in OPTIONS.items()}
    for name in OPTIONS:
        if times[name] > 1:
            raise InputError(
                f"{name}: stands twice, and Snakemake would take the last alone; write all values"
                f" behind one {name}"
            )
    return any(times.values())


def read_settings(words: Iterable[str]) -> dict[str, Any]:
    """Return the settings behind `--config`, each value as it would be read in an overlay.

    An `InputError` if a word is no setting, its value is no YAML, or a key stands twice.
    """
    read: dict[str, Any] = {}
    for word in words:
        if not SETTING.match(word):
            raise InputError(
                f"--config: {shorten(word)} is not of the form KEY=VALUE, with a key of two letters"
                f" or more; {TARGETS_FIRST.format('--config')}"
            )
        key, _, value = word.partition("=")
        if key in read:
            raise InputError(
                f"--config: the key {key} stands twice; write it once, as {key}="
                + ("NAME,NAME" if key == "study" else "'{KEY: VALUE, KEY: VALUE}'")
            )
        read[key] = parse_yaml(value, f"--config {key}")
    return read


def _refuse_overlay(path: Path) -> None:
    from replication.plan.configuration import read_overlay

    if path.exists() and not (path.is_file() or path.is_dir()):
        raise InputError(
            f"{path}: is no file that can be read twice, as `<(...)` is none; write the overlay"
            " into a file"
        )
    try:
        read_overlay(path)
    except InputError as error:
        if path.suffix in KINDS_OF_OVERLAYS:
            raise
        raise InputError(f"{error.message}; {TARGETS_FIRST.format('--configfile')}") from None
