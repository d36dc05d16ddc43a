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
    try:
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty", *options],
            cwd=folder,
            env=os.environ | {"GIT_CEILING_DIRECTORIES": str(folder.parent)},
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return UNKNOWN
    return described.stdout.strip() or UNKNOWN
