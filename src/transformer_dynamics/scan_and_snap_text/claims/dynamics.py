"""Measures of attention along training: from the metric `dynamics` to evidence."""

from collections.abc import Callable
from typing import Any

import pandas as pd

from replication.errors import InputError
from replication.study import Measured


def change_of_entropy(*dynamics: Measured[Any]) -> pd.DataFrame:
    """Entropy over that of uniform attention, after training minus before."""
    return _by_model(
        dynamics, lambda run: _last(run, "entropy_share") - _first(run, "entropy_share")
    )


def late_change(*dynamics: Measured[Any]) -> pd.DataFrame:
    """Change of attention in the last 100 updates over the largest one before."""
    return _by_model(
        dynamics, lambda run: _last(run, "change") / float(run["change"].iloc[:-1].max())
    )


def distinct_words(*dynamics: Measured[Any]) -> pd.DataFrame:
    """Rank correlation of attention and distinctness of the key, after training."""
    return _by_model(dynamics, lambda run: _last(run, "distinctness"))


def change_of_rare_words(*dynamics: Measured[Any]) -> pd.DataFrame:
    """Attention on rare minus that on function words, over uniform; after training minus before."""

    def change(run: pd.DataFrame) -> float:
        rare, function = (
            _last(run, kind) - _first(run, kind) for kind in ("rare_words", "function_words")
        )
        return rare - function

    return _by_model(dynamics, change)


def against_rate(*dynamics: Measured[Any]) -> pd.DataFrame:
    """Attention entropy against the learning rate, at the last update that all runs record."""
    tables = [item.table for item in dynamics]
    table = pd.concat(tables, ignore_index=True)
    shared = set.intersection(*(set(part["iteration"]) for part in tables))
    if not shared:
        raise InputError("the experiments record no common update")
    rows = table[table["iteration"] == max(shared)]
    return pd.DataFrame(
        {
            "cell": rows["corpus"] + f", after {max(shared)} updates",
            "level": rows["learning_rate"],
            "seed": rows["seed"],
            "value": rows["entropy"],
        }
    )


def _by_model(
    dynamics: tuple[Measured[Any], ...], measure: Callable[[pd.DataFrame], float]
) -> pd.DataFrame:
    """A cell per corpus, model and rate: the measure of each seed's rows, ordered by updates."""
    keys = ["corpus", "model", "learning_rate", "seed"]
    rows = [
        {"cell": f"{corpus}, {model}, rate {rate:g}", "seed": seed, "value": measure(run)}
        for item in dynamics
        for (corpus, model, rate, seed), run in item.table.groupby(keys, sort=False)
    ]
    return pd.DataFrame(rows)


def _first(run: pd.DataFrame, column: str) -> float:
    return float(run[column].iloc[0])


def _last(run: pd.DataFrame, column: str) -> float:
    return float(run[column].iloc[-1])
