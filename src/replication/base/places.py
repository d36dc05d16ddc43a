"""Places: files of the engine, and the project whose studies it runs.

The engine may be installed without any study. In its own repository rules and profiles lie at the
top; links beside its modules take them along into a wheel, see `engine/pyproject.toml`.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

ENGINE = Path(__file__).resolve().parents[1]
"""Folder of the engine's modules."""


def find_source(places: Iterable[str]) -> Path | None:
    """Return the folder of the packages of studies: the first `src` with a Snakefile beside it.

    `pip install -e .` puts it on the import path, and so names one project for all programs, in
    whatever folder they run.
    """
    found = (Path(place).resolve() for place in places)
    own = (path for path in found if path.name == "src" and (path.parent / "Snakefile").is_file())
    return next(own, None)


SOURCE = find_source(sys.path) or Path.cwd() / "src"
"""Folder of the packages of studies: of the project that is installed, or else of the one here."""
PROJECT = SOURCE.parent
"""Folder of the project: its Snakefile, lock, reference and results of others."""
SNAKEFILE = str(ENGINE / "workflow/engine.smk")
"""File of all rules, which the Snakefile of a project includes."""
