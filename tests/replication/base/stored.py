"""Provenance, arrays and a table that are stored."""

import numpy as np
import pandas as pd

from replication.base.keys import KEY, surroundings_of

PROGRAM = "transformer_dynamics.example.data"
SETTINGS = {"samples": 10, "noise": 0.5}
FILE_KEY = "fedcba9876543210"
PROVENANCE = {
    "program": PROGRAM,
    "settings": SETTINGS,
    "seeds": [2],
    "reads": {"0123456789abcdef": "2"},
    KEY: FILE_KEY,
    **surroundings_of((PROGRAM,)),
}
ARRAYS = {"a/x": np.arange(1000.0).reshape(10, 100), "a/y": np.ones(3, dtype=np.uint16)}
TABLE = pd.DataFrame({"seed": [1, 2], "entropy": [0.1, 0.2], "name": ["a", "b"]})
