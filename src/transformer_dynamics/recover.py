"""`make recover`: clear away what a run that was killed outright has left behind.

Snakemake's lock, and temporary files that nothing reads. Results stay; the command that was killed
then goes on where it was. It refuses while anything of this folder is still running here; jobs on
other machines it cannot see.
"""

import re
import subprocess
import sys
from pathlib import Path

import click
import psutil

from transformer_dynamics.errors import InputError

TEMPORARY = re.compile(r"\..+\.[a-z0-9_]{8}")
"""Names of the hidden files that `storage.write_atomically` renames when they are whole."""
PROGRAMS = ("snakemake", "transformer_dynamics.")


def running(folder: Path) -> list[int]:
    """Ids of the other processes of this machine that run the workflow in a folder."""
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
    """What killed programs have left half-written below results/ and figures/."""
    return [
        path
        for name in ("results", "figures")
        for path in sorted((folder / name).rglob(".*"))
        if TEMPORARY.fullmatch(path.name) and path.is_file()
    ]


@click.command(help=__doc__)
@click.argument("folder", default=".", type=click.Path(exists=True, file_okay=False))
def main(folder: str) -> None:
    """Unlock a working folder and remove temporary files.

    Raises:
        InputError: if the workflow still runs there, or Snakemake cannot unlock it.
    """
    place = Path(folder).resolve()
    if pids := running(place):
        raise InputError(
            f"{place}: still in use by process {', '.join(map(str, pids))};"
            " wait for it or stop it, then run this again"
        )
    command = [sys.executable, "-m", "snakemake", "--unlock", "--directory", str(place)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InputError(f"{place}: Snakemake cannot unlock it: {done.stderr.strip()}")
    leftovers = temporary_files(place)
    for path in leftovers:
        path.unlink()
    click.echo(f"Unlocked; {len(leftovers)} temporary files removed. Run the same command again.")


if __name__ == "__main__":
    main()
