"""Speed of devices, and limits that follow: a job's time, a GPU's memory, work that needs a GPU."""

from collections.abc import Collection
from math import ceil

from replication.base.errors import InputError
from replication.plan.configuration import Computation
from replication.study.contract import Experiment

CORE = 5e10
"""Floating-point operations a second of one core, on matrices of a few hundred rows."""
GPU = 7e12
"""Floating-point operations a second of one GPU, in 32 bits.

`python -m benchmarks.devices` measured this of an H200 that trains recurrent attention at paper
scale: about a tenth of the rate that the card's maker states.
"""
SAFETY = 3.0
"""Factor by which a job may be slower than its operations say."""
ANYWAY = 60
"""Minutes that every job has besides, to read, to record and to write."""
LIBRARIES = 3000
"""MB of memory that the libraries of a GPU usually take of a process that uses one."""
MOST_DAYS = 100
"""Longest time of a study on one core, in days; a longer one is for GPUs."""
DAY = 86_400


def speed(device: str) -> float:
    """Return the floating-point operations a second of `cuda`, or of one core of `cpu`."""
    return GPU if device == "cuda" else CORE


def time_limit(operations: float, device: str) -> int:
    """Return the longest time in minutes of a job with these floating-point operations."""
    seconds = operations / speed(device)
    return ANYWAY + ceil(SAFETY * seconds / 60)


def library_memory(device: str) -> int:
    """Return the memory in MB that the device adds to that of a process."""
    return LIBRARIES if device == "cuda" else 0


def refuse_without_gpu(
    where: str, experiments: Collection[Experiment], computation: Computation
) -> None:
    """Refuse experiments that one core would compute for more than `MOST_DAYS`.

    Raises:
        InputError: names `where`, the study in the configuration, and the days.
    """
    data = {name: job for each in experiments for name, job in each.data.items()}
    jobs = [*data.values()]
    for each in experiments:
        jobs += [*each.runs.values(), *each.metrics.values()]
    days = sum(job.operations for job in jobs) / CORE / DAY
    if computation.device == "cpu" and days > MOST_DAYS:
        raise InputError(
            f"{where}: training would take one core about {days:,.0f} days, with data and metrics;"
            " train less, or set computation > device: cuda where there is a GPU"
        )
