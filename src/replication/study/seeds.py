"""Seeds: sets of them in the configuration, and written compactly."""

import re
from collections.abc import Sequence
from itertools import groupby
from math import ceil, floor, sqrt
from typing import Annotated

from pydantic import AfterValidator, Discriminator, Field, Tag

from replication.base.errors import InputError
from replication.base.strict import Strict, refuse_repeated

MOST_SEEDS = 10**6
"""Largest number of seeds of a range."""
Seed = Annotated[int, Field(ge=0, lt=2**32 - 2 - MOST_SEEDS, strict=True)]
"""A seed: 32 bits, with room for a range of them and for a constant that some code adds."""


class SeedRange(Strict):
    """`count` successive seeds from `first` on."""

    first: Seed
    """The first seed."""
    count: int = Field(ge=1, le=MOST_SEEDS)
    """Number of seeds."""


Seeds = Annotated[
    Annotated[list[Seed], Field(min_length=1), AfterValidator(refuse_repeated), Tag("list")]
    | Annotated[SeedRange, Tag("range")],
    Discriminator(lambda value: "list" if isinstance(value, list) else "range"),
]
"""A list of seeds, or `{first: 1, count: 10}`."""


def seed_list(seeds: Seeds) -> list[int]:
    """Return the seeds, ascending."""
    if isinstance(seeds, SeedRange):
        return list(range(seeds.first, seeds.first + seeds.count))
    return sorted(seeds)


def batches(seeds: list[int], size: int | None = None) -> dict[str, tuple[int, ...]]:
    """Return ascending seeds in batches of a size, by the name of a file that covers them.

    By default the number of batches grows as the square root of the number of seeds: few enough
    that their starts cost little, and enough for several processors. It is the same on every
    machine, so that machines can share files.
    """
    size = size or ceil(len(seeds) / max(1, floor(2 / 3 * sqrt(len(seeds)))))
    parts = (tuple(seeds[start : start + size]) for start in range(0, len(seeds), size))
    return {format_seeds(part): part for part in parts}


def format_seeds(seeds: Sequence[int]) -> str:
    """Return ascending seeds as ranges, `1-10,12`, for names of files and options of programs.

    The text of no seeds is empty.
    """
    # Successive seeds have the same distance from their places in the list.
    ranges = groupby(enumerate(seeds), lambda item: item[1] - item[0])
    parts = ([seed for _, seed in items] for _, items in ranges)
    return ",".join(f"{part[0]}-{part[-1]}" if part[1:] else str(part[0]) for part in parts)


def parse_seeds(text: str) -> list[int]:
    """Return the seeds of a text that `format_seeds` wrote; an `InputError` for any other text."""
    if not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", text):
        raise InputError(f"seeds '{text}': write them like 1-10,12")
    ends = ([int(end) for end in part.split("-")] for part in text.split(","))
    return [seed for part in ends for seed in range(part[0], part[-1] + 1)]
