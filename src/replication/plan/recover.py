"""Clear away whatever keeps the workflow from going on after a crash; `make recover` runs it.

It removes Snakemake's lock, and temporary files of killed runs, which nothing reads. It resets
times in the future, as after a clock was set back, because Snakemake refuses a result that is older
than its inputs. Contents stay as they are, and the same command goes on where it was. It refuses
while a process of this machine or a job in Slurm's queue still works in this folder; it cannot see
other machines.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import click
import psutil

from replication.base.errors import InputError
from replication.base.places import ENGINE, PROJECT, SOURCE
from replication.plan.slurm import SlurmSilentError, refuse_jobs_left

TEMPORARY_NAME = re.compile(r"\..+\.[0-9a-f]{8}")
"""Names of the hidden files that `storage.write_atomically` renames once they are complete."""
PROGRAMS = (
    "snakemake",
    f"{ENGINE.name}.",
    *(f"{path.parent.name}." for path in SOURCE.glob("*/__init__.py")),
)
"""Snakemake, and the beginnings of the names of all modules of the engine and the project."""


def running_processes(folder: Path) -> list[int]:
    """Return the ids of this machine's other processes that run the workflow in a folder."""
    own = {process.pid for process in psutil.Process().parents()} | {psutil.Process().pid}
    found = psutil.process_iter(["cwd", "cmdline"])
    return [
        process.pid
        for process in found
        if process.info["cwd"] == str(folder)
        and process.pid not in own
        and any(program in word for word in process.info["cmdline"] or () for program in PROGRAMS)
    ]


def temporary_files(folder: Path) -> list[Path]:
    """Return the half-written files that killed programs have left below results/ and figures/."""
    return [
        path
        for name in ("results", "figures")
        for path in sorted((folder / name).rglob(".*"))
        if TEMPORARY_NAME.fullmatch(path.name) and path.is_file()
    ]


def visible_files(folder: Path) -> Iterator[Path]:
    """Yield all files below a folder, except links and those in hidden folders."""
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (path for path in map(Path(place).joinpath, files) if not path.is_symlink())


def shift_into_past(files: set[Path], now: float) -> int:
    """Shift the times of files from the future into the past, in their order.

    Returns:
        The number of such files.
    """
    times = {path: path.stat().st_mtime for path in files}
    future = {path: seconds for path, seconds in times.items() if seconds > now}
    for path, seconds in future.items():
        back = seconds - (max(future.values()) - now)
        os.utime(path, (back, back))
    return len(future)


def _refuse_foreign(place: Path) -> None:
    """Refuse a folder in which another workflow runs, or none: its files are none of ours."""
    own = (name for name in ("Snakefile", "workflow/Snakefile") if (place / name).is_file())
    if place == PROJECT or ((place / ".snakemake").is_dir() and not any(own)):
        return
    raise InputError(
        f"{place}: this workflow has not run there; name the folder in which you gave the command,"
        " and recover another clone by its own `make recover`"
    )


@click.command(help=__doc__)
@click.argument("folder", default=".", type=click.Path(exists=True, file_okay=False))
def main(folder: str) -> None:
    """Unlock a working folder, remove temporary files and bring times back from the future.

    Raises:
        InputError: if the workflow never ran there, or still runs there, here or on Slurm,
            Snakemake cannot unlock it, or a file belongs to someone else.
    """
    place = Path(folder).resolve()
    if pids := running_processes(place):
        raise InputError(
            f"{place}: still in use by process {', '.join(map(str, pids))};"
            " wait for it or stop it, then run this again"
        )
    _refuse_foreign(place)
    # Slurm's commands may be installed where no Slurm runs: no answer counts as no jobs here. A run
    # on the cluster asks again and insists on an answer.
    with suppress(SlurmSilentError):
        refuse_jobs_left(place)
    workflow = ["--snakefile", str(PROJECT / "Snakefile"), "--directory", str(place)]
    command = [sys.executable, "-m", "snakemake", "--unlock", *workflow]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        raise InputError(f"{place}: Snakemake cannot unlock it: {done.stderr.strip()}")
    leftovers = temporary_files(place)
    try:
        for path in leftovers:
            path.unlink()
        moved = shift_into_past({*visible_files(place), *visible_files(PROJECT)}, time.time())
    except OSError as error:
        raise InputError(
            f"{error.filename}: cannot be changed ({error.strerror}); let its owner run this"
        ) from error
    click.echo(
        f"Unlocked; {len(leftovers)} temporary files removed, {moved} times in the future brought"
        " back. Run the same command again."
    )


if __name__ == "__main__":
    main()
