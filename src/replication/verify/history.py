"""Append the findings of a verification to the history: verdicts and runs, by machine and packages.

`verdicts.csv` has a row per claim. `runs.csv` has a row per number of a fingerprint, of the lowest
seed that was computed. So the history stays small, and shows what depends on the processor.
"""

import math
from datetime import datetime
from pathlib import Path

import click
import pandas as pd

from replication.base.errors import InputError
from replication.base.storage import write_text
from replication.base.tables import read_csv, write_csv
from replication.bundle.bundle import FINGERPRINTS, Bundle, read_bundle, run_keys

VERIFICATION_COLUMNS = ("date", "commit", "study", "level", "processor", "python", "packages")
"""Columns that identify the re-verification of a row."""
VERDICT_COLUMNS = (
    *VERIFICATION_COLUMNS,
    "claim",
    "verdict",
    "seeds",
    "comparisons",
    "lowest",
    "highest",
)
RUN_COLUMNS = (*VERIFICATION_COLUMNS, "experiment", "run", "seed", "digest", "quantity", "value")


def verdict_rows(found: Bundle) -> pd.DataFrame:
    """Return claim, verdict, numbers of seeds and comparisons, and the range of estimates."""
    rows = []
    for claim, verdict in found.verdicts.items():
        values = [item.estimate for item in verdict.comparisons]
        ends = (min(values), max(values)) if values else (math.nan, math.nan)
        rows.append((claim, verdict.verdict, verdict.seeds, len(values), *ends))
    return pd.DataFrame(rows, columns=list(VERDICT_COLUMNS[len(VERIFICATION_COLUMNS) :]))


def run_rows(found: Bundle) -> pd.DataFrame:
    """Return digest and numbers of the runs of the lowest seed of every experiment.

    The column `run` distinguishes the runs of a seed.
    """
    runs = found.tables[FINGERPRINTS]
    labels = [name for name in run_keys(runs) if name not in {"experiment", "seed"}]
    named = runs.assign(
        run=runs[labels].astype(str).agg(" ".join, axis="columns") if labels else ""
    )
    first = named[named["seed"] == named.groupby("experiment")["seed"].transform("min")]
    rows = first.drop(columns=labels).melt(
        ["experiment", "run", "seed", "digest"], var_name="quantity"
    )
    columns = list(RUN_COLUMNS[len(VERIFICATION_COLUMNS) :])
    return rows.dropna(subset="value").sort_values(columns[:2], ignore_index=True)[columns]


def append_rows(path: Path, rows: pd.DataFrame, run: dict[str, str]) -> None:
    """Append rows of one re-verification to a table; make the table if it is not there.

    Args:
        path: the table's file.
        rows: results of the re-verification.
        run: values of the columns `RUN`.

    Raises:
        InputError: if the table has other columns, or this re-verification already.
    """
    if rows.empty:
        return
    new = rows.assign(**run)[[*VERIFICATION_COLUMNS, *rows.columns]]
    if path.exists():
        old = read_csv(path, new.columns)
        if list(old) != list(new):
            raise InputError(
                f"{path}: has other columns than {', '.join(map(str, new))}; begin a new table"
            )
        once = ["date", "study", "level"]
        if (old[once] == [run[name] for name in once]).all(axis="columns").any():
            raise InputError(
                f"{path}: has the {run['level']} run of {run['study']} of {run['date']} already"
            )
        content = path.read_text(encoding="utf-8") + new.to_csv(
            index=False, header=False, lineterminator="\n"
        )
        write_text(path, content)
    else:
        write_csv(path, new)


@click.command(help=__doc__)
@click.option("--found", required=True, type=click.Path(path_type=Path), help="Folder of findings.")
@click.option("--level", required=True, help="Level of the re-verification.")
@click.option("--date", required=True, type=click.DateTime(["%Y-%m-%dT%H:%M:%SZ"]), help="In UTC.")
@click.option("--commit", required=True, help="Commit of the verified code.")
@click.option(
    "--folder", required=True, type=click.Path(path_type=Path), help="Folder of the tables."
)
def main(found: Path, level: str, date: datetime, commit: str, folder: Path) -> None:
    """Append every study that was verified to both tables."""
    studies = {path.name: read_bundle(path) for path in sorted(found.iterdir())}
    for name, (_, edited) in studies.items():
        for file in edited:
            raise InputError(f"{found / name / file}: was changed after it was found; verify again")
    for name, (results, _) in studies.items():
        machine = dict(results.depends["machine"])
        run = {
            "date": f"{date:%Y-%m-%dT%H:%M:%SZ}",
            "commit": commit,
            "study": name,
            "level": level,
            "processor": machine.pop("processor"),
            "python": machine.pop("python"),
            "packages": " ".join(f"{name}=={version}" for name, version in sorted(machine.items())),
        }
        append_rows(folder / "verdicts.csv", verdict_rows(results), run)
        append_rows(folder / "runs.csv", run_rows(results), run)
