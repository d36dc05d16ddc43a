"""The program around the measures of a module: metrics in, evidence out."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click
import pandas as pd

from transformer_dynamics.errors import InputError
from transformer_dynamics.frames import read_csv, read_table, write_table
from transformer_dynamics.provenance import provenance
from transformer_dynamics.scan_and_snap.claims.settings import EvidenceJob, Source
from transformer_dynamics.scan_and_snap.experiments import MeasureJob
from transformer_dynamics.seeds import parse_seeds

Measure = Callable[..., pd.DataFrame]
"""From the tables that a claim names to its evidence, the columns of which its test states."""


class Measured(NamedTuple):
    """One metric of an experiment."""

    table: pd.DataFrame
    """One row per seed and value, as `stages.measure` writes it."""
    job: MeasureJob
    """What made it."""


def measure_command(module: str, *measures: Measure) -> click.Command:
    """The program of a module of measures.

    Args:
        module: full name of the module.
        measures: its functions, each from tables to evidence.
    """
    known = {measure.__name__: measure for measure in measures}

    @click.command()
    @click.option("--settings", required=True, help="EvidenceJob as JSON.")
    @click.option("--reference", type=click.Path(path_type=Path), help="Published values.")
    @click.option("--output", required=True, type=click.Path(path_type=Path))
    @click.argument("tables", nargs=-1, type=click.Path(path_type=Path))
    def main(settings: str, reference: Path | None, output: Path, tables: tuple[Path, ...]) -> None:
        """Write the evidence of one claim."""
        job = EvidenceJob.parse_json(settings, "--settings")
        if job.measure not in known:
            raise InputError(f"{module} has no measure {job.measure}; it has {', '.join(known)}")
        measured = [_read(source, path) for source, path in zip(job.data, tables, strict=True)]
        known_values = [] if reference is None else [read_csv(reference, ())]
        evidence = known[job.measure](*measured, *known_values)
        write_table(output, evidence, provenance(module, json.loads(settings)))

    return main


def _read(source: Source, path: Path) -> Measured:
    expected: dict[str, Any] = source.job.provenance(parse_seeds(source.seeds))
    return Measured(read_table(path, expected), source.job)
