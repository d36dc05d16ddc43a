"""Seeds: sets of them written compactly, and independent generators from named scopes."""

import hashlib
import re
from itertools import pairwise

import numpy as np

from transformer_dynamics.errors import InputError


def generator(seed: int, scope: str) -> np.random.Generator:
    """A generator for one purpose of one run.

    Two runs share the draws of a scope exactly if they share the seed; two scopes of one run
    (`"data"`, `"initialization"`) never share any, whatever is drawn first.
    """
    digest = hashlib.sha256(scope.encode()).digest()
    key = int.from_bytes(digest[:4], "little")
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(key,)))


def format_seeds(seeds: list[int]) -> str:
    """Write ascending seeds as ranges, `1-10,12`: the name of a file and an option of a program."""
    breaks = [i + 1 for i, (a, b) in enumerate(pairwise(seeds)) if b != a + 1]
    bounds = pairwise([0, *breaks, len(seeds)])
    return ",".join(
        f"{seeds[start]}-{seeds[end - 1]}" if end - start > 1 else str(seeds[start])
        for start, end in bounds
    )


def parse_seeds(text: str) -> list[int]:
    """Read what `format_seeds` writes.

    Raises:
        InputError: if it is something else.
    """
    if not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", text):
        raise InputError(f"seeds '{text}': write them like 1-10,12")
    seeds: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        seeds.extend(range(int(first), int(last or first) + 1))
    if not seeds or sorted(set(seeds)) != seeds:
        raise InputError(f"seeds '{text}': must be ascending and stand only once each")
    return seeds
