"""Bring a project's virtual environment to what a lock says; `make` runs it before all else.

It needs nothing besides the standard library, of any Python that suits. An environment that is as
the lock says costs a tenth of a second. After a change of the lock or of `pyproject.toml`, and in a
folder that was moved, the environment is built anew. Packages of other versions, as another tool
leaves them, are installed again.
"""

import argparse
import ast
import hashlib
import json
import os
import re
import subprocess
import sys
from importlib.metadata import PathDistribution
from pathlib import Path
from urllib.parse import unquote

FILES = ("requirements.lock", "pyproject.toml")
"""Files after whose change the environment is built anew."""
MARK = ".ready"
"""File of a whole environment, which says for which folder and files it was built."""
SECTIONS = ("global", "install", ":env:")
"""Sections of pip's configuration, each stronger than the one before."""
SETTINGS = frozenset({
    "build-constraint", "cache-dir", "cert", "client-cert", "constraint", "default-timeout",
    "extra-index-url", "find-links", "index-url", "keyring-provider", "no-binary", "no-cache-dir",
    "no-index", "only-binary", "prefer-binary", "proxy", "resume-retries", "retries", "timeout",
    "trusted-host", "use-deprecated", "use-feature",
})  # fmt: skip
"""Settings of a user's pip that count: where packages come from, and how to reach them. Others,
such as `user` or `target`, would install elsewhere."""


class Failed(Exception):
    """A program that failed, with all that it printed."""


def main() -> None:
    """Build or repair the environment, if it is not as the lock says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lock", type=Path, help="Versions of all packages.")
    parser.add_argument("--venv", type=Path, default=".venv", help="Folder of the environment.")
    parser.add_argument("--hashes", default="", help="File of the hashes of packages, if any.")
    parser.add_argument("--imports", nargs="*", default=[], help="Modules that must be importable.")
    given = parser.parse_args()
    try:
        update(given.venv, given.lock, given.hashes, given.imports)
    except Failed as failure:
        left = "is as it was" if (given.venv / MARK).is_file() else "is no environment yet"
        raise SystemExit(f"{failure}\n{given.venv}: {left}; see the error above") from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None


def update(venv: Path, lock: Path, hashes: str, imports: list[str]) -> None:
    """Build or repair an environment, if it is not as a lock says.

    Its mark goes first: after an interruption no environment looks whole.
    """
    python, mark, wanted = venv / "bin/python", venv / MARK, mark_of(venv)
    before = installed(venv)
    is_whole = (
        mark.is_file() and mark.read_text() == wanted
        and os.access(python, os.X_OK) and "pip" in before
    )  # fmt: skip
    lines = differing(lock, before) if is_whole else pins(lock)
    with_project = not (is_whole and has_project(venv))
    if not (lines or with_project):
        return
    print(_told(venv, lock, lines, is_whole), flush=True)
    mark.unlink(missing_ok=True)
    try:
        if not is_whole:
            # A Python that runs from this very environment would be deleted with it.
            base = getattr(sys, "_base_executable", sys.executable)
            run([base, "-I", "-m", "venv", "--clear", f"{venv}"], variables())
        again = ["--force-reinstall"] if is_whole else []
        install(python, lock, lines, hashes, again, with_project)
        run([f"{python}", "-I", "-c", f"import {', '.join(['pip', *imports])}"], variables())
        if left := differing(lock, installed(venv)):
            raise Failed(f"{lock}: pip has not installed {', '.join(left)}")
    except Failed:
        # pip asks for all packages before it changes one: without a network it has changed none.
        if is_whole and installed(venv) == before:
            mark.write_text(wanted)
        raise
    mark.write_text(wanted)


def mark_of(venv: Path) -> str:
    """Return the text by which an environment is known as one of this folder and these files."""
    digests = (f"{hashlib.sha256(Path(file).read_bytes()).hexdigest()}  {file}" for file in FILES)
    return "\n".join([os.path.abspath(venv), *digests, ""])


def has_project(venv: Path) -> bool:
    """Say whether an environment has the project of this folder, and of no other one."""
    if not (name := re.search(r'^name = "(.+)"', Path("pyproject.toml").read_text("utf-8"), re.M)):
        return True
    for folder in venv.glob("lib/python*/site-packages/*.dist-info"):
        if _plain(folder.stem.rpartition("-")[0]) == _plain(name[1]):
            origin = folder / "direct_url.json"
            url = json.loads(origin.read_text("utf-8"))["url"] if origin.is_file() else ""
            return unquote(url).removeprefix("file://") == os.getcwd()
    return False


def _told(venv: Path, lock: Path, lines: list[str], is_whole: bool) -> str:
    if not is_whole:
        return f"Installing the environment into {venv}, which takes minutes"
    if not lines:
        return f"Installing the project of this folder into {venv}, which lacks it"
    shown = ", ".join(lines[:3]) + (", ..." if len(lines) > 3 else "")
    return f"Installing {len(lines)} packages of {lock} that {venv} lacks or has otherwise: {shown}"


def pins(lock: Path) -> list[str]:
    """Return the lines of a lock, one of each package."""
    lines = (line.strip() for line in lock.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def installed(venv: Path) -> dict[str, set[str]]:
    """Return the versions of every package that an environment has: one, unless it is damaged.

    A package without one of its programs is damaged, too, and left out.
    """
    found: dict[str, set[str]] = {}
    for folder in venv.glob("lib/python*/site-packages/*.dist-info"):
        name, _, version = folder.stem.rpartition("-")
        if name != "pip" and not _has_programs(folder, venv):
            continue
        found.setdefault(_plain(name), set()).add(_plain_version(version))
    return found


def _has_programs(package: Path, venv: Path) -> bool:
    programs = PathDistribution(package).entry_points.select(group="console_scripts")
    return all((venv / "bin" / each.name).exists() for each in programs)


def differing(lock: Path, found: dict[str, set[str]]) -> list[str]:
    """Return the lines of a lock whose packages are not installed, or in another version."""
    return [line for line in pins(lock) if not _is_installed(line, found)]


def _is_installed(line: str, found: dict[str, set[str]]) -> bool:
    """Say so of a line: `name==version`, `name @ address`, or the path of a wheel."""
    if line.endswith(".whl") and "@" not in line:
        name, version = Path(line).name.split("-")[:2]
    else:
        name, _, version = line.partition("==")
    versions = found.get(_plain(re.split(r"[\s\[@;]", name)[0]))
    return bool(versions) and (not version or versions == {_plain_version(version)})


def _plain(name: str) -> str:
    """Return the name of a package in the one spelling that pip takes for equal to all others."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _plain_version(version: str) -> str:
    """Return a version without a suffix of one build, such as `+cpu`, and without leading zeros."""
    return re.sub(r"(?<![0-9a-z])0+(?=\d)", "", version.partition("+")[0].lower())


def install(
    python: Path, lock: Path, lines: list[str], hashes: str, again: list[str], with_project: bool
) -> None:
    """Run pip on lines of a lock: first those with hashes, then others and the project.

    Options `again` are for packages that may be there already.
    """
    settings = pip_variables(python)
    pip = [f"{python}", "-I", "-m", "pip", "install", "--quiet", "--no-input", "--no-compile"]
    alone = [*pip, *again, "--no-deps"]
    entries = hashed(hashes, lines)
    if entries:
        file = python.parents[1] / ".hashed"
        file.write_text("".join(entries.values()), encoding="utf-8")
        run([*alone, "--require-hashes", "-r", f"{file}"], settings)
    others = [line for line in lines if line not in entries]
    own = ["-e", "."] if with_project else []
    # What builds the project is there already, if the lock has it.
    is_there = any(line.startswith("setuptools==") for line in pins(lock) if line not in others)
    isolation = ["--no-build-isolation"] if is_there else []
    if others or own:
        run([*alone, *isolation, *others, *own], settings)
    try:
        run([f"{python}", "-I", "-m", "pip", "check"], settings)
    except Failed:
        # What only this system, Python or build of a package needs stands in no lock.
        run([*pip, "-r", f"{lock}"], settings)


def hashed(hashes: str, lines: list[str]) -> dict[str, str]:
    """Return the entries of a file of hashes for the lines of a lock that have some."""
    if not hashes:
        return {}
    entries = re.findall(r"^(\S+==\S+)(.*\n(?: .*\n)*)", Path(hashes).read_text("utf-8"), re.M)
    wanted = {*lines}
    return {pin: f"{pin}{rest}" for pin, rest in entries if pin in wanted}


def variables() -> dict[str, str]:
    """Return the user's variables except Python's, which can add packages or take some away."""
    return {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}


def pip_variables(python: Path) -> dict[str, str]:
    """Return variables with which pip installs into the environment, from the user's places."""
    listed = run([f"{python}", "-I", "-m", "pip", "config", "list"], variables())
    found = re.findall(r"^([^.\s]+)\.([\w-]+)=(.*)$", listed, re.M)
    found = [item for item in found if item[0] in SECTIONS and item[1] in SETTINGS]
    found.sort(key=lambda item: SECTIONS.index(item[0]))
    others = {name: text for name, text in variables().items() if not name.startswith("PIP_")}
    kept = {
        f"PIP_{name.upper().replace('-', '_')}": ast.literal_eval(text) for _, name, text in found
    }
    alone = {"PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    return {**others, **kept, **alone}


def run(words: list[str], environment: dict[str, str]) -> str:
    """Return the output of a program; `Failed` has all of it."""
    done = subprocess.run(
        words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        encoding="utf-8", errors="replace", check=False,
    )  # fmt: skip
    if done.returncode:
        raise Failed(done.stdout + f"{' '.join(words[:5])} ...: exit status {done.returncode}")
    return done.stdout


if __name__ == "__main__":
    main()
