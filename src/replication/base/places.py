"""Places: the engine, and the project whose studies it runs, as the Python here finds them.

The engine may be installed without any study. In its own repository rules and profiles lie at the
top; links beside its modules take them along into a wheel, see `engine/pyproject.toml`.

Import this module before all others. Python takes compiled code for that of a source file of the
same time and size, and an editor, an archive or `rsync --times` can keep both. From here on the
content decides, and a process reads a source file once: the code that runs is the code of which a
result names the digest, whatever happens to the files meanwhile.
"""

import getpass
import os
import sys
import sysconfig
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader
from pathlib import Path
from typing import Any

from replication.base.errors import InputError

ENGINE = Path(__file__).resolve().parents[1]
"""Folder of the engine's modules."""
ENGINE_IS_INCLUDED = "replication.base.places"
"""Text in the Snakefile of every project, and in no Snakefile that only uses one as a module."""


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


@cache
def read_source(path: str) -> bytes:
    """Return the content that a source file had when this process first read it."""
    return Path(path).read_bytes()


class ContentLoader(SourceFileLoader):
    """Loader that takes compiled code only if it was made from the content of the source file."""

    def path_stats(self, path: str) -> dict[str, Any]:
        """Return the size, and a digest for the time by which Python knows compiled code."""
        content = read_source(os.path.realpath(path))
        return {"mtime": int.from_bytes(sha256(content).digest()[:4]), "size": len(content)}

    def get_data(self, path: str) -> bytes:
        """Return the content of a source file, or of a file of compiled code."""
        return read_source(os.path.realpath(path)) if path == self.path else super().get_data(path)


def _find_by_content(path: str) -> FileFinder:
    """Return the finder of a folder of the engine or of studies; refuse any other folder."""
    if not any(map(Path(path).resolve().is_relative_to, (ENGINE, SOURCE))):
        raise ImportError(path)
    return FileFinder(path, (ContentLoader, SOURCE_SUFFIXES))


sys.path_hooks.insert(0, _find_by_content)
sys.path_importer_cache.clear()


def project_around(folder: Path) -> Path | None:
    """Return the project in which a folder lies, if it lies in one."""
    for place in (folder, *folder.parents):
        snakefile = place / "Snakefile"
        if snakefile.is_file() and ENGINE_IS_INCLUDED in snakefile.read_text("utf-8", "replace"):
            return place
    return None


def refuse_other_installation(project: Path) -> None:
    """Refuse a Python for which another project is installed, or none, with an `InputError`."""
    if find_source(sys.path) != (project / "src").resolve():
        raise InputError(
            f"{project / 'src'}: is not installed for {sys.executable}: run `make environment`"
            " beside it, then the programs in the `.venv/bin` that this makes; a wheel, or `pip"
            " install` without `-e`, is a copy that the workflow does not run"
        )


def refuse_foreign_packages() -> None:
    """Refuse folders of `PYTHONPATH` that have packages in the place of the environment's own.

    An `InputError` names one folder, and some of its packages.
    """
    folders = [Path(sysconfig.get_path("purelib")), SOURCE, ENGINE.parent]
    own = {folder for folder in folders if folder.is_dir()}
    # Tests are in nobody's way, and some packages install theirs by mistake.
    names_here = {name for folder in own for name in os.listdir(folder)} - {"test", "tests"}
    places = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    for place in map(Path, filter(os.path.isdir, places)):
        if any(map(place.samefile, own)):
            continue
        both = (path for path in sorted(place.iterdir()) if path.name in names_here)
        modules = [
            each for each in both if each.suffix == ".py" or (each / "__init__.py").is_file()
        ]
        if modules:
            names = ", ".join(each.name for each in modules[:3])
            raise InputError(
                f"PYTHONPATH: {place} has {names} in the place of what is installed"
                f" for {sys.executable}; type `unset PYTHONPATH`, then the same command"
            )


def name_user() -> None:
    """Give a user without a name, as a container may have, the number for a name.

    Snakemake and plugins for clusters ask for a name, and fail without one.
    """
    try:
        getpass.getuser()
    except (KeyError, OSError):
        os.environ["LOGNAME"] = str(os.getuid())
