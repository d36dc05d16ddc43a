"""Times of jobs: as Snakemake wrote them down here, or as the repository records them."""

import csv
from collections.abc import Mapping
from pathlib import Path
from statistics import mean

SUFFIX = ".benchmark.tsv"
RECORD = Path("config/seconds.csv")
"""Path of the table that `benchmarks.jobs` wrote, in the project's folder."""
SECONDS_OF_UNKNOWN = 1.0
"""Seconds of a job without a record: those of a start of Python."""


def measured_seconds(path: Path) -> float:
    """Return a job's seconds of processor time, as Snakemake wrote them down in a file."""
    with path.open(newline="", encoding="utf-8") as stream:
        return mean(float(row["cpu_time"]) for row in csv.DictReader(stream, delimiter="\t"))


def read_recorded(path: Path) -> dict[str, float]:
    """Return the recorded seconds by path of a job's benchmark, without its suffix."""
    return {row["job"]: float(row["seconds"]) for row in _read_rows(path)}


def read_memory(path: Path) -> dict[str, float]:
    """Return the most memory of jobs in MiB, by the same paths; of some jobs it is not known."""
    return {row["job"]: float(row["mib"]) for row in _read_rows(path) if row["mib"]}


def _read_rows(path: Path) -> list[dict[str, str]]:
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def job_name(benchmark: str | Path) -> str:
    """Return a job's name in the record: the path of its benchmark without the suffix."""
    return str(benchmark).removesuffix(SUFFIX)


def known_seconds(benchmark: str, recorded: Mapping[str, float]) -> float | None:
    """Return the seconds that a job took here, or else as recorded; none if neither is known.

    Args:
        benchmark: path of the file in which Snakemake writes down the job's time.
        recorded: see `read_recorded`.
    """
    try:
        return measured_seconds(Path(benchmark))
    except (OSError, ValueError, KeyError):  # not made here yet, or by another Snakemake
        return recorded.get(job_name(benchmark))


def expected_seconds(benchmark: str, recorded: Mapping[str, float]) -> float:
    """Return `foreseen_seconds` of a job, or else `SECONDS_OF_UNKNOWN`; arguments as there."""
    seconds = foreseen_seconds(benchmark, recorded)
    return SECONDS_OF_UNKNOWN if seconds is None else seconds


def foreseen_seconds(benchmark: str, recorded: Mapping[str, float]) -> float | None:
    """Return `known_seconds` of a job, or else the mean of those beside it; arguments as there."""
    if not benchmark:
        return None
    if (seconds := known_seconds(benchmark, recorded)) is not None:
        return seconds
    folder = f"{Path(benchmark).parent}/"
    beside = [each for name, each in recorded.items() if name.startswith(folder)]
    return mean(beside) if beside else None
