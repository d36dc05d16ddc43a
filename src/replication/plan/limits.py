"""Limits of jobs: their time from their operations, and the memory that a GPU adds."""

from math import ceil

from replication.plan.cost import CORE, GPU

SAFETY = 3.0
"""Factor by which a job may be slower than its operations say."""
ANYWAY = 60
"""Minutes that every job has besides, to read, to record and to write."""
LIBRARIES = 3000
"""MB of memory that the libraries of a GPU usually take of a process that uses one."""


def time_limit(operations: float, device: str) -> int:
    """Return the longest time of a job in minutes.

    Args:
        operations: floating-point operations, see `Job`.
        device: `cpu`, of which it has one core, or `cuda`.
    """
    seconds = operations / (GPU if device == "cuda" else CORE)
    return ANYWAY + ceil(SAFETY * seconds / 60)


def library_memory(device: str) -> int:
    """Return the memory in MB that the device adds to that of a process."""
    return LIBRARIES if device == "cuda" else 0
