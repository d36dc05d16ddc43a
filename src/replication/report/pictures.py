"""Drawing of many figures at once, on as many cores as there are."""

import gc
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from tqdm import tqdm

from replication.base.errors import InputError
from replication.plan.orders import Order
from replication.run.program import draw

FIGURES_PER_PROCESS = 4
"""Figures that take longer to draw than another process takes to start."""


class Drawing(NamedTuple):
    """What `replication.run.program.draw` takes."""

    order: Order
    """The figure's job."""
    table: Path
    """The numbers that it draws."""
    checked: Path
    """Digest of the table's content."""
    published: list[Path]
    """Tables as printed."""
    picture: Path
    """Where to draw."""


def draw_all(drawings: Sequence[Drawing], cores: int | None = None) -> list[str]:
    """Draw figures, and say of each what is wrong with an input; nothing if it is drawn.

    Args:
        drawings: the figures.
        cores: how many processes there may be; of the machine if left out.
    """
    processes = min(cores or _count_cores(), len(drawings) // FIGURES_PER_PROCESS)
    shown = partial(tqdm, total=len(drawings), unit="figure", file=sys.stderr, disable=None)
    if processes < 2:
        return list(shown(map(_draw, drawings)))
    # Started anew: what has threads, as NumPy has, cannot be forked safely. They end soon, and
    # need not look for what drawing leaves behind.
    with ProcessPoolExecutor(processes, get_context("spawn"), gc.disable) as pool:
        return list(shown(pool.map(_draw, drawings)))


def _count_cores() -> int:
    """Those that this process may use, where that is known."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def _draw(drawing: Drawing) -> str:
    try:
        draw(*drawing)
    except InputError as error:
        return error.message
    return ""
