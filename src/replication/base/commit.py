"""The state of the code in git."""

import os
import subprocess
from pathlib import Path

UNKNOWN = "unknown"
"""Name of a state that git does not know."""


def commit_name(project: Path, *options: str) -> str:
    """Return the name that git gives the state of a project; `unknown` without a repository or git.

    Args:
        project: folder of the project.
        options: further options of `git describe`.
    """
    return run_git(project, "describe", "--always", "--dirty", "--abbrev=7", *options) or UNKNOWN


def run_git(project: Path, *words: str) -> str | None:
    """Return the output of a git command in a project; None if git fails or is not installed.

    A repository that starts above the project's folder does not count.

    Args:
        project: folder of the project.
        words: arguments of the command.
    """
    folder = project.resolve()
    # In a hook, git sets variables that name its repository, which may be another one.
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
