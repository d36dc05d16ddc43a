"""Drawing of many figures at once, on as many cores as there are."""

import gc
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

from tqdm import tqdm

from replication.base.errors import InputError
from replication.plan.steps import Step
from replication.run.stages import make_output

FIGURES_PER_PROCESS = 4
"""Number of figures that take longer to draw than another process takes to start."""


def draw_all(drawings: Sequence[Step], cores: int | None = None) -> Iterator[str]:
    """Draw figures, and yield for each the error of an input; empty if the figure is drawn.

    Args:
        drawings: the figures' steps.
        cores: largest number of processes; the machine's number of cores if left out.
    """
    processes = min(cores or _count_cores(), len(drawings) // FIGURES_PER_PROCESS)
    shown = partial(tqdm, total=len(drawings), unit="figure", file=sys.stderr, disable=None)
    if processes < 2:
        yield from shown(map(_draw, drawings))
        return
    # Processes are started anew: one with threads, as NumPy has, cannot be forked safely. They end
    # soon, and need not collect the objects that drawing leaves behind.
    with ProcessPoolExecutor(processes, get_context("spawn"), gc.disable) as pool:
        yield from shown(pool.map(_draw, drawings))


def _count_cores() -> int:
    """Return the number of cores that this process may use, where that is known."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def _draw(drawing: Step) -> str:
    try:
        make_output(drawing)
    except InputError as error:
        return error.message
    return ""
