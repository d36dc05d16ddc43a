"""Times of jobs: as Snakemake wrote them down here, or as the studies record them."""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from pathlib import Path
from statistics import mean

from replication.base.errors import InputError
from replication.study.seeds import parse_seeds
from replication.study.studies import Study

SUFFIX = ".benchmark.tsv"
RECORD = "seconds.csv"
"""Name of the table that `replication times` wrote, in the folder of a study."""
COLUMNS = ["job", "seconds", "mib"]
"""Columns of the table; `mib` may be empty."""
REMEDY = "restore it with git, or make it again with `python -m replication times`"


def measured_seconds(path: Path) -> float:
    """Return a job's seconds of processor time, as Snakemake wrote them down in a file."""
    with path.open(newline="", encoding="utf-8") as stream:
        return mean(float(row["cpu_time"]) for row in csv.DictReader(stream, delimiter="\t"))


@dataclass(frozen=True)
class Records:
    """Recorded times and memory of jobs elsewhere, by name, see `job_name`."""

    seconds: Mapping[str, float] = field(default_factory=dict)
    """Seconds of processors."""
    mib: Mapping[str, float] = field(default_factory=dict)
    """Most memory that a job had; of some jobs it is not known."""

    @classmethod
    def of(cls, studies: Iterable[Study]) -> "Records":
        """Return the records of some studies together."""
        found = [cls.read(study.folder / RECORD) for study in studies]
        return cls(
            {job: seconds for each in found for job, seconds in each.seconds.items()},
            {job: mib for each in found for job, mib in each.mib.items()},
        )

    @classmethod
    def read(cls, path: Path) -> "Records":
        """Read what `replication times` wrote; where there is no file, nothing is known.

        Raises:
            InputError: if the file is no such table.
        """
        if not path.is_file():
            return cls()
        try:
            with path.open(newline="", encoding="utf-8") as stream:
                rows = [*csv.DictReader(stream)]
        except (ValueError, csv.Error) as error:
            raise InputError(f"{path}: is no table ({error}); {REMEDY}") from error
        for line, row in enumerate(rows, 2):
            if [*row] != COLUMNS or not all(map(_is_amount, (row["seconds"], row["mib"] or "0"))):
                raise InputError(
                    f"{path}: line {line}: is not {', '.join(COLUMNS)}, with numbers that are not"
                    f" negative; {REMEDY}"
                )
        return cls(
            {row["job"]: float(row["seconds"]) for row in rows},
            {row["job"]: float(row["mib"]) for row in rows if row["mib"]},
        )

    def told(self, name: str) -> float | None:
        """Return the seconds of a job; of an unknown one, by the mean seed of those in its folder.

        Args:
            name: see `job_name`; its last part is often the seeds of the job.

        Returns:
            The seconds, or none if the folder has no job that is known.
        """
        mean_seed = self._seconds_a_seed.get(name.rpartition("/")[0])
        foreseen = None if mean_seed is None else mean_seed * _number_of_seeds(name)
        return self.seconds.get(name, foreseen)

    @cached_property
    def _seconds_a_seed(self) -> dict[str, float]:
        """Mean seconds of a seed by folder, found once, as a study has thousands of jobs."""
        folders: dict[str, list[tuple[float, int]]] = {}
        for name, seconds in self.seconds.items():
            known = folders.setdefault(name.rpartition("/")[0], [])
            known.append((seconds, _number_of_seeds(name)))
        return {
            folder: sum(seconds for seconds, _ in known) / sum(seeds for _, seeds in known)
            for folder, known in folders.items()
        }


def _is_amount(text: str | None) -> bool:
    """Say whether a text is a finite number that is not negative."""
    try:
        number = float(text or "")
    except ValueError:
        return False
    return isfinite(number) and number >= 0


def _number_of_seeds(name: str) -> int:
    """Return the number of seeds in a job's name; a name without them counts as one seed."""
    try:
        return len(parse_seeds(name.rpartition("/")[2]))
    except InputError:
        return 1


def job_name(benchmark: str | Path) -> str:
    """Return a job's name in the record: the path of its benchmark without the suffix."""
    return str(benchmark).removesuffix(SUFFIX)


def known_seconds(benchmark: str, records: Records) -> float | None:
    """Return the seconds of a job, measured here or else on record; none if neither is known.

    Args:
        benchmark: path of the file in which Snakemake writes down what it took.
        records: of jobs elsewhere.
    """
    try:
        return measured_seconds(Path(benchmark))
    except (OSError, ValueError, KeyError):  # not made here yet, or by another Snakemake
        return records.seconds.get(job_name(benchmark))
