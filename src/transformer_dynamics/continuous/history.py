"""Append what a re-verification found to the history: verdicts and runs, by machine and packages.

`verdicts.csv` has a row per claim, `runs.csv` one per experiment and mixture: its run of the lowest
seed that was computed. So the history stays small, and shows what depends on the processor. Every
part of the paper is re-verified and appended by itself.
"""

from datetime import datetime
from pathlib import Path

import click
import pandas as pd

from transformer_dynamics.errors import InputError
from transformer_dynamics.frames import read_csv, write_csv
from transformer_dynamics.scan_and_snap.parts import PARTS
from transformer_dynamics.storage import write_text
from transformer_dynamics.verification.lock import FINGERPRINTS, Lock, read_lock

RUN = ("date", "commit", "part", "level", "processor", "python", "packages")
"""Columns that say which re-verification a row is of."""
VERDICTS = (*RUN, "claim", "verdict", "seeds", "comparisons", "lowest", "highest")
RUNS = (*RUN, "experiment", "mixture", "seed", "digest", "loss", "attention", "entropy")


def verdict_rows(found: Lock) -> pd.DataFrame:
    """Claim, verdict, number of seeds and of comparisons, and the range of measured values."""
    rows = [
        {
            "claim": claim,
            "verdict": verdict.verdict,
            "seeds": verdict.seeds,
            "comparisons": len(verdict.comparisons),
            "lowest": min(item.estimate for item in verdict.comparisons),
            "highest": max(item.estimate for item in verdict.comparisons),
        }
        for claim, verdict in found.verdicts.items()
    ]
    return pd.DataFrame(rows, columns=list(VERDICTS[len(RUN) :]))


def run_rows(found: Lock) -> pd.DataFrame:
    """Digest and last numbers of one run of every experiment and mixture, as far as it has them."""
    columns = list(RUNS[len(RUN) :])
    runs = found.tables[FINGERPRINTS].rename(columns={"last_loss": "loss"}).reindex(columns=columns)
    first = runs.sort_values("seed", kind="stable").drop_duplicates(["experiment", "mixture"])
    return first.sort_values(["experiment", "mixture"], ignore_index=True)[columns]


def append(path: Path, rows: pd.DataFrame, run: dict[str, str]) -> None:
    """Append rows of one re-verification to a table, which is made if it is not there.

    Args:
        path: of the table.
        rows: they.
        run: values of the columns `RUN`.

    Raises:
        InputError: if the table has other columns, or this re-verification already.
    """
    if rows.empty:
        return
    new = rows.assign(**run)[[*RUN, *rows.columns]]
    if path.exists():
        old = read_csv(path, new.columns)
        if list(old) != list(new):
            raise InputError(
                f"{path}: has other columns than {', '.join(map(str, new))}; begin a new table"
            )
        once = ["date", "part", "level"]
        if (old[once] == [run[name] for name in once]).all(axis="columns").any():
            raise InputError(
                f"{path}: has the {run['level']} run of {run['part']} of {run['date']} already"
            )
        content = path.read_text() + new.to_csv(index=False, header=False, lineterminator="\n")
        write_text(path, content)
    else:
        write_csv(path, new)


@click.command(help=__doc__)
@click.option("--found", required=True, type=click.Path(path_type=Path), help="See verify --found.")
@click.option("--part", required=True, type=click.Choice(list(PARTS)), help="What was verified.")
@click.option("--level", required=True, help="Level of the re-verification.")
@click.option("--date", required=True, type=click.DateTime(["%Y-%m-%dT%H:%M:%SZ"]), help="UTC.")
@click.option("--commit", required=True, help="Of which code.")
@click.option("--folder", required=True, type=click.Path(path_type=Path), help="The history.")
def main(found: Path, part: str, level: str, date: datetime, commit: str, folder: Path) -> None:
    """Append to both tables."""
    lock, edited = read_lock(found)
    if edited:
        raise InputError(f"{found / edited[0]}: was changed after it was found; verify again")
    machine = dict(lock.depends["machine"])
    run = {
        "date": f"{date:%Y-%m-%dT%H:%M:%SZ}",
        "commit": commit,
        "part": part,
        "level": level,
        "processor": machine.pop("processor"),
        "python": machine.pop("python"),
        "packages": " ".join(f"{name}=={version}" for name, version in sorted(machine.items())),
    }
    append(folder / "verdicts.csv", verdict_rows(lock), run)
    append(folder / "runs.csv", run_rows(lock), run)


if __name__ == "__main__":
    main()
