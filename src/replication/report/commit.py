"""Which state of the code a page was made by."""

import os
import subprocess
from pathlib import Path

UNKNOWN = "unknown"
"""What stands for a state that git does not know."""


def commit(project: Path, *options: str) -> str:
    """What git calls the state of a project; `unknown` if it is no repository, or without git.

    A repository that the project merely lies in does not count.

    Args:
        project: its folder.
        options: more of them for `git describe`.
    """
    folder = project.resolve()
    # Git runs its hooks with variables that name the repository at hand, which may be another one.
    others = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    try:
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=7", *options],
            cwd=folder,
            env=others | {"GIT_CEILING_DIRECTORIES": str(folder.parent)},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
    except OSError:
        return UNKNOWN
    return described.stdout.strip() or UNKNOWN
