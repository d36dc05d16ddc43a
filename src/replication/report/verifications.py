"""Verdicts on a claim on other machines and with other packages, from receipts and the history."""

import re
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from replication.base.errors import InputError
from replication.base.strict import shorten
from replication.base.tables import read_csv
from replication.judge.verdicts import EARLIER_VERDICTS, OUTCOMES
from replication.verify.history import VERDICT_COLUMNS
from replication.verify.receipt import LARGEST_ESTIMATE
from replication.verify.receipt_texts import is_plain
from replication.verify.reproductions import Reproduction

TEXTS = ("date", "study", "processor", "packages", "claim", "verdict")
ENDS = ("lowest", "highest")
DATE = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
GROUPED_BY = ["claim", "is_earlier", "verdict", "processor", "torch"]
"""Columns that verifications are counted by."""


def read_history(path: Path) -> pd.DataFrame:
    """Read the table of verdicts that continuous verification keeps.

    Args:
        path: see `replication.verify.history`.

    Raises:
        InputError: if the file is damaged, or no table of verdicts.
    """
    try:
        table = read_csv(path, VERDICT_COLUMNS)
        _check_numbers(table[[*ENDS]].astype(float))
        _check_texts(table)
    except (InputError, ValueError) as error:
        raise InputError(
            f"{path}: is no table of verdicts, or a damaged one ({error}); take verdicts.csv of the"
            " branch verification-history again, or leave out --history"
        ) from error
    return table.astype(dict.fromkeys(TEXTS, "str") | dict.fromkeys(ENDS, "float"))


def _check_numbers(ends: pd.DataFrame) -> None:
    lowest, highest = ends["lowest"], ends["highest"]
    # A claim that could not be measured has neither.
    if (lowest.isna() != highest.isna()).any() or (ends.abs() > LARGEST_ESTIMATE).any(axis=None):
        raise ValueError("a claim has one end of its estimates alone, or an infinite one")
    if (lowest > highest).any():
        raise ValueError("a lowest estimate is above the highest")


def _check_texts(table: pd.DataFrame) -> None:
    if unknown := {*map(str, table["verdict"])} - (OUTCOMES | EARLIER_VERDICTS).keys():
        raise ValueError(f"there is no verdict {shorten(min(unknown))}")
    for name in TEXTS:
        if table[name].isna().any():
            raise ValueError(f"a cell of the column {name} is empty")
        for text in {*map(str, table[name])}:
            if not is_plain(text) or (name == "date" and not DATE.fullmatch(text)):
                raise ValueError(f"the {name} {shorten(text)} is none")


def verifications(
    study: str, receipts: Sequence[Reproduction], history: pd.DataFrame | None
) -> dict[str, list[dict[Hashable, Any]]]:
    """Return verdicts by claim: one entry per verdict, processor and version of PyTorch.

    An entry has these three, the `lowest` and `highest` estimate of a comparison, the number of
    `times` and the date of the `latest`. It `is_earlier` if it judged an earlier statement of the
    claim.

    Args:
        study: name of the study.
        receipts: receipts of the study; those with other settings than the defaults do not count.
        history: table of verdicts, see `read_history`; none if there is no table.
    """
    rows = pd.concat([_receipt_rows(receipts), _history_rows(study, history)], ignore_index=True)
    counted = rows.groupby(GROUPED_BY, sort=False, as_index=False).agg(
        lowest=("lowest", "min"),
        highest=("highest", "max"),
        times=("date", "size"),
        latest=("date", "max"),
    )
    return {
        str(claim): of.drop(columns="claim").to_dict("records")
        for claim, of in counted.groupby("claim", sort=False)
    }


def _receipt_rows(receipts: Sequence[Reproduction]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "claim": claim,
                "is_earlier": claim in item.restated,
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
        columns=[*GROUPED_BY, *ENDS, "date"],
    ).astype(dict.fromkeys(ENDS, "float"))


def _history_rows(study: str, history: pd.DataFrame | None) -> pd.DataFrame | None:
    if history is None:
        return None
    own = history[history["study"] == study]
    torch = own["packages"].str.extract(r"(?:^| )torch==(\S+)", expand=False).fillna("")
    # A history does not name the reference; some of its verdicts are by rules of earlier ones.
    earlier = own["verdict"].isin(EARLIER_VERDICTS)
    dated = own.assign(torch=torch, date=own["date"].str[:10], is_earlier=earlier)
    return dated[[*GROUPED_BY, *ENDS, "date"]]
