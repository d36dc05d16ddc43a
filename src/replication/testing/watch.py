"""Make targets, such as `figures/fig1.pdf`, again whenever a file of a study changes."""

import subprocess
import sys
import time
from pathlib import Path

import click

from replication.base.places import PROJECT, SOURCE

PAUSE = 0.5
"""Seconds between two looks at the files."""
SUFFIXES = (".csv", ".py", ".yaml")
"""Endings of the files of studies that results depend on."""


@click.command(help=__doc__)
@click.argument("targets", nargs=-1, required=True)
@click.option("--configfile", multiple=True, type=click.Path(exists=True, path_type=Path))
def main(targets: tuple[str, ...], configfile: tuple[Path, ...]) -> None:
    """Make the targets, then again after every change until Ctrl-C.

    Errors do not end it, except one of the first run.
    """
    options = ["--configfile", *map(str, configfile)] if configfile else []
    command = [sys.executable, "-m", "snakemake", *targets, *options]
    # Errors are shown.
    command += ["--quiet", "host", "progress", "reason"]
    command += ["--snakefile", str(PROJECT / "Snakefile")]
    try:
        seen = _times(configfile)
        if subprocess.call(command):
            sys.exit(1)
        click.echo(f"{' '.join(targets)}: made; again after every change, until Ctrl-C")
        while True:
            time.sleep(PAUSE)
            if (now := _times(configfile)) != seen:
                seen, begun = now, time.monotonic()
                failed = subprocess.call(command)
                took = f"{time.monotonic() - begun:.0f} s"
                said = (
                    f"Failed after {took}; waiting for a change"
                    if failed
                    else f"Made again in {took}"
                )
                click.echo(said)
    except KeyboardInterrupt:
        click.echo()


def _times(others: tuple[Path, ...]) -> dict[Path, int]:
    """Return the time of change of every file of studies, and of some others."""
    found = (path for path in SOURCE.rglob("*") if path.suffix in SUFFIXES)
    times = {}
    for path in (*found, *others):
        # An editor may replace a file while it is looked at.
        try:
            times[path] = path.stat().st_mtime_ns
        except FileNotFoundError:
            continue
    return times
