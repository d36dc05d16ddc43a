"""Data of the explorer: the state K1 that it starts from, and the energy along its flow."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from replication.base.strict import Strict
from transformer_dynamics.recurrent_attention.theory.energy import counterexample_k1, integrate_flow

UNTIL = 6.0
"""Last time that is shown."""
DIGITS = 6
"""Number of significant digits of an angle in degrees, as an address has them."""


def data(settings: Strict, tables: Mapping[str, Path]) -> dict[str, Any]:
    """Return the data of `panel.html`, which depend on no setting and no figure.

    `explored` is the start of the script: entries of A, angles in degrees, beta, W^V of K1 and the
    last time; `stages` are the start, the highest energy and the end in numbers.
    """
    start = counterexample_k1()
    path = integrate_flow(start, UNTIL)
    top = int(path.energy.argmax())
    times = {"start": 0, "highest energy": top, "end": len(path.t) - 1}
    stages = [
        {
            "name": name,
            "t": float(path.t[index]),
            "tokens": path.tokens[index].tolist(),
            "energy": float(path.energy[index]),
            "rate": float(path.rate[index]),
        }
        for name, index in times.items()
    ]
    entries = dict(zip(("a11", "a12", "a21", "a22"), start.attention.scores.flat, strict=True))
    angles = np.degrees(np.arctan2(start.tokens[:, 1], start.tokens[:, 0])) % 360
    turned = {f"theta{i}": float(f"{x:.{DIGITS}g}") for i, x in enumerate(angles, start=1)}
    explored = {
        "start": {name: float(entry) for name, entry in entries.items()} | turned,
        "value": start.attention.values.ravel().tolist(),
        "beta": start.attention.beta,
        "until": UNTIL,
    }
    return {"explored": explored, "stages": stages}
