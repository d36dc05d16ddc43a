"""A table, and a figure of it whose caption cites it."""

import pandas as pd

from replication.documents.figure_texts import CitedFigure
from replication.study.registry import FigureText

TABLE = pd.DataFrame({"rate": [0.5, 0.5, 1.0], "seed": [1, 2, 1], "mean": [0.1234, 0.1234, 12.0]})


def shown(table=TABLE, **changes):
    """A figure of that table."""
    found = {
        "study": "paper", "name": "fig1", "settings": {"figures": {"fig1": {"seed": 3}}},
        "n_seeds": 10, "table": table, "find_verdict": {}.get,
    }  # fmt: skip
    return CitedFigure(**(found | changes))


def text(caption):
    return FigureText(label="L", title="T", drawn="A curve.", caption=caption)
