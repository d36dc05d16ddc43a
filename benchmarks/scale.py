"""Measure the workflow with many seeds and print a Markdown table: `python -m benchmarks.scale`.

One experiment of ten mixtures. The dry run is measured at full size. Whole runs are measured with
fewer seeds and tiny jobs, which show what Snakemake and a process cost, and with two seeds at the
paper's settings, which show what a seed leaves on disk.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import yaml

from benchmarks.speed import Row, copy_project, print_tables

FIGURE = "figures/scale.csv"
LONGEST = 131_072
"""Largest argument of a program on Linux, bytes; a job's command is one argument of `bash -c`."""
TINY = {
    "sampling": {"stream": "independent", "steps": 1, "batch_size": 2, "sequence_length": 4},
    "training": {"optimizer": "sgd", "eta_z": [1], "ratio": [1], "initialization": "uniform"},
}
PAPER = {
    "sampling": {"stream": "independent", "steps": 100, "batch_size": 128, "sequence_length": 128},
    "training": {
        "optimizer": "sgd",
        "eta_z": [0.5, 1, 2, 3],
        "ratio": [1, 2, 5, 10],
        "initialization": "uniform",
    },
}


class Measured(NamedTuple):
    """Time, memory and output of one Snakemake."""

    seconds: float
    peak: float
    """Largest memory of Snakemake or of one of its jobs, MiB."""
    output: str


def scale_overlay(seeds: int, seeds_per_job: int | None, settings: dict[str, Any]) -> str:
    """Return a configuration with an experiment of ten mixtures, as YAML."""
    mixtures = {
        f"scale_{num_last}": {
            "num_last": num_last,
            "next_tokens_per_query": 2,
            "common_weights": [1] * 10,
            "distinct_weights": [weight / 10 for weight in range(1, 11)],
        }
        for num_last in range(1, 11)
    }
    experiment = {
        "mixtures": list(mixtures),
        "seeds": {"first": 1, "count": seeds},
        "recall_thresholds": {},
        **settings,
    }
    paper = {
        "mixtures": mixtures,
        "experiments": {"scale": experiment},
        "figures": {"scale": {"kind": "fig6", "experiment": "scale"}},
    }
    return yaml.safe_dump({"computation": {"seeds_per_job": seeds_per_job}, "scan_and_snap": paper})


def run_snakemake(folder: Path, configuration: str, *arguments: str) -> Measured:
    """Run Snakemake in a copy of the project with an overlay."""
    environment = copy_project(folder)
    (folder / "scale.yaml").write_text(configuration, encoding="utf-8")
    command = [sys.executable, "-m", "snakemake", FIGURE, "--configfile", "scale.yaml", *arguments]
    with (folder / "output.txt").open("w+", encoding="utf-8") as stream:
        start = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=stream, stderr=stream
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        stream.seek(0)
        output = stream.read()
    if process.returncode:
        raise click.ClickException(f"{' '.join(command)} failed:\n{output[-2000:]}")
    return Measured(seconds, usage.ru_maxrss / 1024, output)


def count_jobs(output: str) -> int:
    """Return the number of jobs that Snakemake plans."""
    return next(int(line.split()[1]) for line in output.splitlines() if line.startswith("total "))


def planning_rows(seeds: int, seeds_per_job: int | None) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        configuration = scale_overlay(seeds, seeds_per_job, PAPER)
        done = run_snakemake(Path(folder), configuration, "--dry-run", "--printshellcmds")
    commands = [line for line in done.output.splitlines() if " -m replication.run.program " in line]
    longest = max(len(line.encode()) for line in commands)
    what = f"dry run, {seeds:,} seeds, {seeds_per_job or 'by itself many'} per job"
    yield what, f"{done.seconds:.0f} s, {done.peak:.0f} MiB", f"{count_jobs(done.output):,} jobs"
    share = longest / LONGEST
    yield f"{what}: longest command", f"{longest:,} bytes", f"{share:.0%} of the limit of Linux"


def running_rows(seeds: int, seeds_per_job: int) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        done = run_snakemake(Path(folder), scale_overlay(seeds, seeds_per_job, TINY))
    count = count_jobs(done.output)
    yield (
        f"tiny jobs, {seeds:,} seeds, {seeds_per_job} per job: {count:,} jobs",
        f"{done.seconds:.0f} s",
        f"{count / done.seconds:.2f} jobs/s, {seeds / done.seconds:.1f} seeds/s",
    )


def disk_rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run_snakemake(folder, scale_overlay(2, 1, PAPER))
        for what, pattern in (
            ("data", "results/scan_and_snap/data/scale/*"),
            ("runs", "results/scan_and_snap/runs/scale/*"),
            ("metrics", "results/scan_and_snap/metrics/scale/*"),
            ("logs and records", "logs/scan_and_snap/*/scale/*"),
        ):
            size = sum(path.stat().st_size for path in folder.glob(pattern)) / 2
            if what == "logs and records":
                records = folder.glob(".snakemake/metadata/*")
                size += sum(path.stat().st_size for path in records) / 2
            yield f"one seed on disk, the paper's settings: {what}", f"{size / 1024:.0f} KiB", ""


@click.command(help=__doc__)
@click.option("--seeds", default=10_000, help="Seeds of the dry run.")
@click.option("--run", "run_seeds", default=40, help="Seeds of the run with one seed per job.")
def main(seeds: int, run_seeds: int) -> None:
    """Print the table, row by row."""
    print_tables(
        "",
        planning_rows(seeds, 1),
        planning_rows(seeds, None),
        running_rows(run_seeds, 1),
        running_rows(10 * run_seeds, 100),
        disk_rows(),
    )


if __name__ == "__main__":
    main()
