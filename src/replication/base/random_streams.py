"""Independent random generators from named scopes."""

import hashlib

import numpy as np


def generator(seed: int, scope: str) -> np.random.Generator:
    """Return a generator for one purpose of one run.

    Two runs share the draws of a scope exactly if they share the seed. Two scopes of one run
    (`"data"`, `"initialization"`) never share draws, whatever is drawn first.
    """
    digest = hashlib.sha256(scope.encode()).digest()
    key = int.from_bytes(digest[:4], "little")
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(key,)))
