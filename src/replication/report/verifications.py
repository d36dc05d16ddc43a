"""What came of a claim on other machines and with other packages: from receipts and the history."""

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from replication.continuous.history import VERDICTS
from replication.errors import InputError
from replication.frames import read_csv
from replication.reproductions import Reproduction
from replication.verification.judgement import OUTCOMES

KINDS = ["claim", "verdict", "processor", "torch"]
"""What verifications are counted by."""


def read_history(path: Path) -> pd.DataFrame:
    """Read the table of verdicts that continuous verification keeps.

    Args:
        path: see `replication.continuous.history`.

    Raises:
        InputError: if it is damaged, or is something else.
    """
    try:
        table = read_csv(path, VERDICTS)
        for name in ("lowest", "highest"):
            table[name] = table[name].astype(float)
        if unknown := {*table["verdict"]} - OUTCOMES.keys():
            raise ValueError(f"there are no such verdicts: {unknown}")
    except (InputError, ValueError) as error:
        raise InputError(
            f"{path}: is no table of verdicts, or a damaged one; take verdicts.csv of the branch"
            " verification-history again, or leave out --history"
        ) from error
    return table.astype(dict.fromkeys(("date", "packages"), "str"))


def verifications(
    study: str, receipts: Sequence[Reproduction], history: pd.DataFrame | None
) -> dict[str, list[dict[Hashable, Any]]]:
    """Verdicts of verifications by claim: one entry per verdict, processor and version of PyTorch.

    An entry has these three, the `lowest` and `highest` estimate of a comparison, the number of
    `times` and the date of the `latest`.

    Args:
        study: name of the study.
        receipts: those of the study; with other settings than the defaults they do not count.
        history: table of verdicts, see `read_history`; none if there is none.
    """
    rows = pd.concat([_sent_in(receipts), _recorded(study, history)], ignore_index=True)
    counted = rows.groupby(KINDS, sort=False, as_index=False).agg(
        lowest=("lowest", "min"),
        highest=("highest", "max"),
        times=("date", "size"),
        latest=("date", "max"),
    )
    return {
        str(claim): of.drop(columns="claim").to_dict("records")
        for claim, of in counted.groupby("claim", sort=False)
    }


def _sent_in(receipts: Sequence[Reproduction]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "claim": claim,
                "verdict": found.verdict,
                "processor": item.computed_on,
                "torch": item.receipt.packages.get("torch", ""),
                "lowest": found.lowest,
                "highest": found.highest,
                "date": f"{item.receipt.date:%Y-%m-%d}",
            }
            for item in receipts
            if item.receipt.settings == "default"
            for claim, found in item.receipt.verdicts.items()
        ],
        columns=[*KINDS, "lowest", "highest", "date"],
    )


def _recorded(study: str, history: pd.DataFrame | None) -> pd.DataFrame | None:
    if history is None:
        return None
    own = history[history["study"] == study]
    torch = own["packages"].str.extract(r"(?:^| )torch==(\S+)", expand=False).fillna("")
    dated = own.assign(torch=torch, date=own["date"].str[:10])
    return dated[[*KINDS, "lowest", "highest", "date"]]
