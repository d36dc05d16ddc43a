"""A project as others name it: the state of its code in git, and `CITATION.cff`."""

import os
import subprocess
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import click

from replication.base.strict import read_yaml

UNKNOWN = "unknown"
"""Name of a state that git does not know."""
CITATION = "CITATION.cff"
"""File that says how to cite the project; `url` in it is the address of the published pages."""
LICENCE = "MIT"
"""Licence of a project whose file names none."""

_say_once = cache(partial(click.echo, err=True))


def commit_name(project: Path, *options: str) -> str:
    """Return the name that git gives the state of a project, or `unknown`, and say why."""
    name, why = _ask_git(project, "--dirty", "--abbrev=7", *options)
    if not name:
        _say_once(f"The state of the code is {UNKNOWN}: {why}")
    return name or UNKNOWN


def why_unknown(project: Path) -> str:
    """Return git's reason not to name the state of a project, with the remedy that git knows."""
    return _ask_git(project)[1]


def _ask_git(project: Path, *options: str) -> tuple[str, str]:
    """Return the name of the state of a project, or an empty one with git's reason.

    A repository that starts above the project's folder does not count.
    """
    folder = project.resolve()
    # In a hook, git sets variables that name its repository, which may be another one.
    others = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "describe", "--always", *options],
            cwd=folder,
            env=others | {"GIT_CEILING_DIRECTORIES": str(folder.parent), "LC_ALL": "C"},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
    except OSError as error:
        return "", f"git cannot be started ({error.strerror}); install it"
    return done.stdout.strip(), " ".join(done.stderr.split())


def read_citation_file(root: Path) -> dict[str, Any]:
    """Return the content of a project's `CITATION.cff`; nothing if there is none."""
    path = root / CITATION
    return read_yaml(path) if path.is_file() else {}


def name_author(author: Mapping[str, Any]) -> str:
    """Return an author's name as lists of names sort it: family name first."""
    names = ("name",) if "name" in author else ("family-names", "given-names")
    return ", ".join(str(author[name]) for name in names if author.get(name))


def licence_url(citation: Mapping[str, Any]) -> str:
    """Return the address of the text of a project's licence."""
    return f"https://spdx.org/licenses/{citation.get('license', LICENCE)}"
