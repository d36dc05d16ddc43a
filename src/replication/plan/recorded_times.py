"""What jobs took: as Snakemake wrote it down here, or as it is recorded in the repository."""

import csv
from collections.abc import Mapping
from pathlib import Path
from statistics import mean

SUFFIX = ".benchmark.tsv"
RECORD = Path("config/seconds.csv")
"""What `benchmarks.jobs` wrote, in the project's folder."""
SECONDS_OF_UNKNOWN = 1.0
"""Seconds of a job of which nothing is known: a start of Python."""


def measured_seconds(path: Path) -> float:
    """Seconds of processor time that Snakemake wrote down for a job; other jobs do not count."""
    with path.open(newline="", encoding="utf-8") as stream:
        return mean(float(row["cpu_time"]) for row in csv.DictReader(stream, delimiter="\t"))


def read_recorded(path: Path) -> dict[str, float]:
    """Seconds by path of a job's benchmark, without its suffix: what `benchmarks.jobs` wrote."""
    if not path.is_file():
        return {}
    with path.open(newline="", encoding="utf-8") as stream:
        return {row["job"]: float(row["seconds"]) for row in csv.DictReader(stream)}


def read_memory(path: Path) -> dict[str, float]:
    """Most memory that a job had, in MiB, as `read_recorded`; of some jobs it is not known."""
    if not path.is_file():
        return {}
    with path.open(newline="", encoding="utf-8") as stream:
        return {row["job"]: float(row["mib"]) for row in csv.DictReader(stream) if row["mib"]}


def job_name(benchmark: str | Path) -> str:
    """What a job is called in the record."""
    return str(benchmark).removesuffix(SUFFIX)


def known_seconds(benchmark: str, recorded: Mapping[str, float]) -> float | None:
    """Seconds that a job took here or, failing that, as recorded; none if neither is known.

    Args:
        benchmark: path of the file in which Snakemake writes down what it took.
        recorded: see `read_recorded`.
    """
    try:
        return measured_seconds(Path(benchmark))
    except (OSError, ValueError, KeyError):  # not made here yet, or by another Snakemake
        return recorded.get(job_name(benchmark))


def expected_seconds(benchmark: str, recorded: Mapping[str, float]) -> float:
    """Seconds that a job will take: as `foreseen`, or else `UNKNOWN`; arguments as there."""
    seconds = foreseen_seconds(benchmark, recorded)
    return SECONDS_OF_UNKNOWN if seconds is None else seconds


def foreseen_seconds(benchmark: str, recorded: Mapping[str, float]) -> float | None:
    """Seconds of a job as `known`, or else as of those beside it, if any; arguments as there."""
    if not benchmark:
        return None
    if (seconds := known_seconds(benchmark, recorded)) is not None:
        return seconds
    folder = f"{Path(benchmark).parent}/"
    beside = [each for name, each in recorded.items() if name.startswith(folder)]
    return mean(beside) if beside else None
