"""What training costs, from the multiplications of its matrix products."""

from collections.abc import Iterable

from replication.configuration import Computation
from replication.errors import InputError
from replication.study import Experiment

CORE = 5e10
"""Floating-point operations a second, of one core on matrices of a few hundred rows."""
GPU = 2e13
"""The same of one GPU, in 32 bits: about a third of the 67e12 that an H100's maker states."""
MOST_DAYS = 100
"""Of one core; training that takes longer is for GPUs."""
DAY = 86_400


def refuse_without_gpu(
    where: str, experiments: Iterable[Experiment], computation: Computation
) -> None:
    """Refuse to begin what would take processors too long.

    Args:
        where: names the study in the configuration.
        experiments: whose jobs say how many operations they take.
        computation: where they are to be trained.

    Raises:
        InputError: if they would be trained on processors, and take more than `MOST_DAYS`.
    """
    operations = sum(job.operations for each in experiments for job in each.runs.values())
    days = operations / CORE / DAY
    if computation.device == "cpu" and days > MOST_DAYS:
        raise InputError(
            f"{where}: training would take one core about {days:,.0f} days, measures not counted;"
            " it needs a GPU: where there is one, set computation > device: cuda"
        )
