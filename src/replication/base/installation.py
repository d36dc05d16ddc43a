"""The project here and the Python that runs it belong together, whatever a user's shell says."""

import getpass
import os
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from replication.base.errors import InputError
from replication.base.places import ENGINE, SOURCE, find_source

ENGINE_IS_INCLUDED = "replication.base.places"
"""Text in the Snakefile of every project, and in no Snakefile that only uses one as a module."""


def refuse_other_installation(project: Path) -> None:
    """Refuse a Python for which another project is installed, or none, with an `InputError`."""
    if find_source(sys.path) != (project / "src").resolve():
        raise InputError(
            f"{project / 'src'}: is not installed for {sys.executable}: run `make environment`"
            " beside it, then the programs in the `.venv/bin` that this makes; a wheel, or `pip"
            " install` without `-e`, is a copy that the workflow does not run"
        )


def project_around(folder: Path) -> Path | None:
    """Return the project in which a folder lies, if it lies in one."""
    for place in (folder, *folder.parents):
        snakefile = place / "Snakefile"
        if snakefile.is_file() and ENGINE_IS_INCLUDED in snakefile.read_text("utf-8", "replace"):
            return place
    return None


def refuse_foreign_packages(places: Iterable[str]) -> None:
    """Refuse folders of `PYTHONPATH` that have packages in the place of the environment's own.

    An `InputError` names one folder, and some of its packages.
    """
    folders = [Path(sysconfig.get_path("purelib")), SOURCE, ENGINE.parent]
    own = {folder for folder in folders if folder.is_dir()}
    # Tests are in nobody's way, and some packages install theirs by mistake.
    names_here = {name for folder in own for name in os.listdir(folder)} - {"test", "tests"}
    for place in map(Path, filter(None, places)):
        if not place.is_dir() or any(map(place.samefile, own)):
            continue
        both = {*os.listdir(place)} & names_here
        if names := sorted(name for name in both if _is_module(place / name)):
            raise InputError(
                f"PYTHONPATH: {place} has {', '.join(names[:3])} in the place of what is installed"
                f" for {sys.executable}; type `unset PYTHONPATH`, then the same command"
            )


def _is_module(path: Path) -> bool:
    return path.suffix == ".py" or (path / "__init__.py").is_file()


def name_user() -> None:
    """Give a user without a name, as a container may have, the number for a name.

    Snakemake and plugins for clusters ask for a name, and fail without one.
    """
    try:
        getpass.getuser()
    except (KeyError, OSError):
        os.environ["LOGNAME"] = str(os.getuid())
