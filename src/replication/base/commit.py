"""The state of the code in git."""

import os
import subprocess
from functools import cache, partial
from pathlib import Path

import click

UNKNOWN = "unknown"
"""Name of a state that git does not know."""


def commit_name(project: Path, *options: str) -> str:
    """Return the name that git gives the state of a project, or `unknown`, and say why."""
    name = run_git(project, "describe", "--always", "--dirty", "--abbrev=7", *options)
    if not name:
        _say_once(f"The state of the code is {UNKNOWN}: {why_unknown(project)}")
    return name or UNKNOWN


_say_once = cache(partial(click.echo, err=True))


def why_unknown(project: Path) -> str:
    """Return git's reason not to name the state of a project, with the remedy that git knows."""
    return " ".join(_ask_git(project, "describe", "--always")[1].split())


def run_git(project: Path, *words: str) -> str | None:
    """Return the output of a git command in a project; None if git fails or is not installed.

    A repository that starts above the project's folder does not count.
    """
    return _ask_git(project, *words)[0]


def _ask_git(project: Path, *words: str) -> tuple[str | None, str]:
    """Return the output of git, or None with the reason."""
    folder = project.resolve()
    # In a hook, git sets variables that name its repository, which may be another one.
    others = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", *words],
            cwd=folder,
            env=others | {"GIT_CEILING_DIRECTORIES": str(folder.parent), "LC_ALL": "C"},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
    except OSError as error:
        return None, f"git cannot be started ({error.strerror}); install it"
    return (None, done.stderr) if done.returncode else (done.stdout.strip(), "")
