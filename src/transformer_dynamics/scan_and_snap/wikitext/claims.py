"""Measures of the claims about training on text: from metrics to evidence."""

import json
from collections.abc import Callable
from pathlib import Path

import click
import pandas as pd
from pydantic import Field

from transformer_dynamics.errors import InputError
from transformer_dynamics.frames import read_table, write_table
from transformer_dynamics.provenance import provenance
from transformer_dynamics.scan_and_snap.wikitext.experiments import TextMeasureJob
from transformer_dynamics.strict import Strict

MODULE = "transformer_dynamics.scan_and_snap.wikitext.claims"


class TextEvidenceJob(Strict):
    """What the evidence of a claim depends on."""

    measure: str
    """Name of the measure in this module."""
    data: list[TextMeasureJob] = Field(min_length=1)
    """What made the tables that it takes, in order."""


def change_of_entropy(*dynamics: pd.DataFrame) -> pd.DataFrame:
    """Entropy over that of uniform attention, after training minus before."""
    return _by_model(
        dynamics, lambda run: _last(run, "entropy_share") - _first(run, "entropy_share")
    )


def late_change(*dynamics: pd.DataFrame) -> pd.DataFrame:
    """Change of attention in the last 100 updates over the largest one before."""
    return _by_model(
        dynamics, lambda run: _last(run, "change") / float(run["change"].iloc[:-1].max())
    )


def distinct_words(*dynamics: pd.DataFrame) -> pd.DataFrame:
    """Rank correlation of attention and distinctness of the key, after training."""
    return _by_model(dynamics, lambda run: _last(run, "distinctness"))


def change_of_rare_words(*dynamics: pd.DataFrame) -> pd.DataFrame:
    """Attention on rare minus that on function words, over uniform; after training minus before."""

    def change(run: pd.DataFrame) -> float:
        rare, function = (
            _last(run, kind) - _first(run, kind) for kind in ("rare_words", "function_words")
        )
        return rare - function

    return _by_model(dynamics, change)


def against_rate(*dynamics: pd.DataFrame) -> pd.DataFrame:
    """Attention entropy against the learning rate, at the last update that all runs record."""
    table = pd.concat(dynamics, ignore_index=True)
    shared = set.intersection(*(set(part["iteration"]) for part in dynamics))
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


MEASURES = {
    measure.__name__: measure
    for measure in (
        change_of_entropy,
        late_change,
        distinct_words,
        change_of_rare_words,
        against_rate,
    )
}


@click.command()
@click.option("--settings", required=True, help="TextEvidenceJob as JSON.")
@click.option("--output", required=True, type=click.Path(path_type=Path))
@click.argument("tables", nargs=-1, required=True, type=click.Path(path_type=Path))
def main(settings: str, output: Path, tables: tuple[Path, ...]) -> None:
    """Write the evidence of one claim."""
    job = TextEvidenceJob.parse_json(settings, "--settings")
    if job.measure not in MEASURES:
        raise InputError(f"{MODULE} has no measure {job.measure}; it has {', '.join(MEASURES)}")
    read = [
        read_table(path, source.provenance()) for source, path in zip(job.data, tables, strict=True)
    ]
    write_table(output, MEASURES[job.measure](*read), provenance(MODULE, json.loads(settings)))


def _by_model(
    dynamics: tuple[pd.DataFrame, ...], measure: Callable[[pd.DataFrame], float]
) -> pd.DataFrame:
    """A cell per corpus, model and rate: the measure of each seed's rows, ordered by updates."""
    keys = ["corpus", "model", "learning_rate", "seed"]
    rows = [
        {"cell": f"{corpus}, {model}, rate {rate:g}", "seed": seed, "value": measure(run)}
        for table in dynamics
        for (corpus, model, rate, seed), run in table.groupby(keys, sort=False)
    ]
    return pd.DataFrame(rows)


def _first(run: pd.DataFrame, column: str) -> float:
    return float(run[column].iloc[0])


def _last(run: pd.DataFrame, column: str) -> float:
    return float(run[column].iloc[-1])


if __name__ == "__main__":
    main()
