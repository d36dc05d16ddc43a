"""`make faults`: inject every fault, and write what it cost to a table.

Names of faults limit the run to them; the other rows of the table stay as they are.
`python -m replication generate` then shows the table in docs/faults.md.
"""

import sys
import tempfile
from pathlib import Path

import click
import pandas as pd
from conftest import ROOT, Project

from faults.registry import all_faults, with_rows

TABLE = ROOT / "benchmarks/faults.csv"


@click.command(help=__doc__)
@click.argument("names", nargs=-1, type=click.Choice(list(all_faults())))
def main(names: tuple[str, ...]) -> None:
    """Run faults one after another, each in its own copy of the project."""
    failed = []
    for name, fault in all_faults().items():
        if names and name not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                outcome = fault(Project(Path(folder)).one_seed_per_job())
            except AssertionError as error:
                failed.append(name)
                click.echo(f"{name}: {error}", err=True)
                continue
        click.echo(outcome)
        with_rows(pd.read_csv(TABLE), [outcome]).to_csv(TABLE, index=False, float_format="%.1f")
    if failed:
        sys.exit(f"Error: {', '.join(failed)} went another way than expected; see above")


main()
