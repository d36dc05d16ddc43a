"""Bring a project's virtual environment to what a lock says; `make` runs it before all else.

It needs nothing besides the standard library, of any Python that suits. An environment that is as
it was left costs a tenth of a second. After a change of `requirements.lock` or `pyproject.toml`,
and in a folder that was moved, it is built anew. Where another tool changed packages, pip mends
them.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any

MARK = ".ready"
"""File of a whole environment: where and of which files it was built, and what it was left with."""
FILES = ("requirements.lock", "pyproject.toml")
"""Files after whose change the environment is built anew."""


def main() -> None:
    """Build or mend the environment, if it is not as the lock says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lock", type=Path, help="Versions of all packages.")
    parser.add_argument("--venv", type=Path, default=".venv", help="Folder of the environment.")
    parser.add_argument("--hashes", default="", help="File of the hashes of packages, if any.")
    parser.add_argument("--imports", nargs="*", default=[], help="Modules that must be importable.")
    given = parser.parse_args()
    try:
        update(given.venv, given.lock, given.hashes, given.imports)
    except CalledProcessError:
        left = "is as it was" if (given.venv / MARK).is_file() else "is no environment yet"
        raise SystemExit(f"{given.venv}: {left}; see the error above") from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None


def update(venv: Path, lock: Path, hashes: str, imports: list[str]) -> None:
    """Build or mend an environment, unless it is as it was left with this lock.

    Its mark goes first, so that no environment looks whole after an interruption.
    """
    python, mark, before = venv / "bin/python", venv / MARK, read_mark(venv)
    origin = [os.path.abspath(venv), *map(digest, FILES)]
    is_whole = before.get("origin") == origin and os.access(python, os.X_OK)
    locks = before["locks"] if is_whole else {}
    if locks.get(f"{lock}") == digest(lock) and before["packages"] == packages(venv):
        return
    print(f"Installing what {lock} has into {venv}; a new one takes minutes", flush=True)
    mark.unlink(missing_ok=True)
    try:
        if not is_whole:
            # A Python that runs from this very environment would be deleted with it.
            base = getattr(sys, "_base_executable", sys.executable)
            run(base, "-m", "venv", "--clear", f"{venv}")
        install(f"{python}", lock, hashes, venv / ".hashed")
        run(f"{python}", "-c", f"import {', '.join(['pip', *imports])}")
    except CalledProcessError:
        # pip asks for all packages before it changes one: without a network it has changed none.
        if is_whole and packages(venv) == before["packages"]:
            mark.write_text(json.dumps(before))
        raise
    locks[f"{lock}"] = digest(lock)
    mark.write_text(json.dumps({"origin": origin, "locks": locks, "packages": packages(venv)}))


def read_mark(venv: Path) -> dict[str, Any]:
    """Return what the mark of an environment says; nothing without one."""
    try:
        return dict(json.loads((venv / MARK).read_text()))
    except (OSError, ValueError):
        return {}


def digest(file: str | Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


def packages(venv: Path) -> dict[str, int]:
    """Return when each package, by name and version, was installed into an environment."""
    found = venv.glob("lib/python*/site-packages/*.dist-info")
    return {folder.name: folder.stat().st_mtime_ns for folder in found}


def install(python: str, lock: Path, hashes: str, hashed: Path) -> None:
    """Run pip: for the packages of a lock, those with hashes if there are some, then all the rest.

    The rest is the project, torch without hashes, and what stands in no lock, since only this
    system, Python or build of a package needs it.
    """
    pip = [python, "-m", "pip", "install", "--quiet", "--no-input", "--no-compile"]
    pins, first = lock.read_text("utf-8"), ["-r", f"{lock}"]
    if hashes:
        hashed.write_text(entries(Path(hashes).read_text("utf-8"), pins), "utf-8")
        first = ["--require-hashes", "-r", f"{hashed}"]
    run(*pip, "--no-deps", *first)
    # What builds the project is there already, if the lock has it.
    alone = ["--no-build-isolation"] * ("setuptools==" in pins)
    run(*pip, *alone, "-r", f"{lock}", "-e", ".")


def entries(hashes: str, pins: str) -> str:
    """Return the entries of a file of hashes for the lines of a lock that have some."""
    found = re.findall(r"^\S+==\S+.*\n(?: .*\n)*", hashes, re.MULTILINE)
    return "".join(entry for entry in found if entry.split()[0] in pins.splitlines())


def run(*words: str) -> None:
    """Run a program of Python without the user's own packages; it prints why it fails."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
    alone = {"PIP_USER": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    subprocess.run([words[0], "-I", *words[1:]], env=kept | alone, check=True)


if __name__ == "__main__":
    main()
