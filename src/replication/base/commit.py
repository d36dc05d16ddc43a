"""Which state of the code a page was made by."""

import os
import subprocess
from pathlib import Path

UNKNOWN = "unknown"
"""What stands for a state that git does not know."""


def commit(project: Path, *options: str) -> str:
    """What git calls the state of a project; `unknown` if it is no repository, or without git.

    Args:
        project: its folder.
        options: more of them for `git describe`.
    """
    return git(project, "describe", "--always", "--dirty", "--abbrev=7", *options) or UNKNOWN


def git(project: Path, *words: str) -> str | None:
    """Return what git prints of a project, none if it fails or is not there.

    A repository that the project merely lies in does not count.

    Args:
        project: its folder.
        words: of the command.
    """
    folder = project.resolve()
    # Git runs its hooks with variables that name the repository at hand, which may be another one.
    others = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", *words],
            cwd=folder,
            env=others | {"GIT_CEILING_DIRECTORIES": str(folder.parent)},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None
