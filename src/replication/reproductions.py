"""Receipts of verifications by others: kept in git, checked against the reference, tabulated."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from replication.errors import InputError
from replication.storage import write_text
from replication.strict import unknown_key
from replication.verification.receipt import REMEDY, Receipt, read_receipt, reference_digest
from replication.verification.reference import (
    FINGERPRINTS,
    MANIFEST,
    VERDICTS,
    Reference,
    find_references,
    read_reference,
    reference_folder,
)

FOLDER = "reproductions"
NAME = re.compile(r"\d{4}-\d\d-\d\d-[\w.-]+\.json", re.ASCII)
"""Of a receipt's file."""
EARLIER = "earlier_references.txt"
"""Beside a study's receipts: digests of the references that it had before, one per line."""
COLUMNS = ("date", "processor", "system", "torch", "level", "verdicts", "runs", "by")
"""What a table shows of a receipt."""

SUMMARY = ("study", "processor", "torch", "receipts", "latest", "its verdicts", "its runs")
"""What a table shows of all receipts of one study, processor and version of PyTorch."""


class Reproduction(NamedTuple):
    """A receipt that was sent in."""

    receipt: Receipt
    """What was found."""
    is_current: bool
    """Whether it was compared with the reference that the study has now."""

    @property
    def computed_on(self) -> str:
        """The processor, what it was told to compute as, and the GPU."""
        machine = self.receipt.machine
        emulated = (f"emulating {name}={value}" for name, value in machine.emulated.items())
        gpu = [f"GPU {machine.gpu}"] if machine.gpu else []
        return ", ".join([machine.processor, *emulated, *gpu])

    @property
    def verdicts(self) -> str:
        """How many agree, and with which reference."""
        return _verdicts(self.receipt) + ("" if self.is_current else ", with an earlier reference")

    @property
    def row(self) -> tuple[str, ...]:
        """The cells of a table with the columns `COLUMNS`."""
        receipt = self.receipt
        return (
            f"{receipt.date:%Y-%m-%d}",
            self.computed_on,
            receipt.machine.system,
            receipt.packages.get("torch", ""),
            receipt.level if receipt.settings == "default" else f"{receipt.level}, other settings",
            self.verdicts,
            _runs(receipt),
            receipt.by or "",
        )


def all_reproductions(root: Path) -> list[Reproduction]:
    """Those of all studies.

    Args:
        root: the project's folder.

    Raises:
        InputError: one sentence, if one is of no study or cannot be what it says, see `check`.
    """
    folder = root / FOLDER
    studies = sorted(path.name for path in folder.glob("*/")) if folder.is_dir() else []
    return [item for study in studies for item in reproductions(root, study)]


def reproductions(root: Path, study: str) -> list[Reproduction]:
    """Those of one study, the oldest first; arguments and errors as in `all_reproductions`."""
    folder = root / FOLDER / study
    paths = [path for path in _files(folder) if path.name != EARLIER]
    if not paths:
        return []
    if study not in (known := find_references(root)):
        told = unknown_key(study, known).replace("known keys", "studies").replace("key", "study")
        raise InputError(f"{folder}: {told}")
    place = reference_folder(root, study)
    present, reference = reference_digest(place), read_reference(place)[0]
    earlier = _earlier(folder)
    found: list[Reproduction] = []
    for path in paths:
        if path.is_symlink() or not NAME.fullmatch(path.name):
            raise InputError(f"{path}: name the file <date>-<processor>.json, 2026-01-31-epyc.json")
        receipt = read_receipt(path)
        if any(receipt == other.receipt for other in found):
            raise InputError(f"{path}: is there twice; delete one")
        if receipt.study != study:
            raise InputError(f"{path}: is of the study {receipt.study}; move it to that folder")
        if receipt.reference == present:
            check(path, receipt, reference)
        elif receipt.reference not in earlier:
            raise InputError(
                f"{path}: was compared with a reference that {study} never had; {REMEDY}, from a"
                " commit of the main branch"
            )
        found.append(Reproduction(receipt, receipt.reference == present))
    return sorted(found, key=lambda item: item.receipt.date)


def summary(found: Sequence[Reproduction]) -> list[tuple[str, ...]]:
    """The cells of a table with the columns `SUMMARY`; the oldest come first, as in `found`."""
    alike: dict[tuple[str, ...], list[Reproduction]] = {}
    for item in found:
        receipt = item.receipt
        key = (receipt.study, item.computed_on, receipt.packages.get("torch", ""))
        alike.setdefault(key, []).append(item)
    return [
        (
            *key,
            str(len(items)),
            f"{items[-1].receipt.date:%Y-%m-%d}",
            items[-1].verdicts,
            _runs(items[-1].receipt),
        )
        for key, items in alike.items()
    ]


def compared(root: Path, study: str) -> list[Path]:
    """The receipts of a study and the files of its reference that they are checked against.

    Arguments as in `reproductions`. None, if there is no receipt.
    """
    if not (found := _files(root / FOLDER / study)):
        return []
    place = reference_folder(root, study)
    checked = (place / name for name in (MANIFEST, VERDICTS, FINGERPRINTS))
    return [*found, *(path for path in checked if path.is_file())]


def check(path: Path, receipt: Receipt, reference: Reference) -> None:
    """Refuse a receipt that calls agreement what is none.

    Args:
        path: of the receipt.
        receipt: what it says.
        reference: what it was compared with.

    Raises:
        InputError: names the first claim or experiment that there is not, or about which it is
            wrong.
    """
    for claim, found in receipt.verdicts.items():
        if claim not in reference.verdicts:
            raise InputError(f"{path}: the study has no verdict on {claim}; {REMEDY}")
        if found.agrees != found.is_that_of(reference.verdicts[claim]):
            told, is_so = ("agrees", "does not") if found.agrees else ("does not agree", "does")
            raise InputError(
                f"{path}: says that the verdict on {claim} {told} with the reference, but it"
                f" {is_so}; {REMEDY}"
            )
    known = reference.tables[FINGERPRINTS]
    for name, runs in receipt.runs.items():
        own = known[known["experiment"] == name]
        if own.empty:
            raise InputError(f"{path}: the study has no runs of {name}; {REMEDY}")
        if runs.agreement == "bit for bit" and not runs.are_those_of(own):
            raise InputError(
                f"{path}: says that the runs of {name} are the reference's bit for bit, but they"
                f" are not; {REMEDY}"
            )
    whole = receipt.level == "full" and receipt.settings == "default" and not receipt.differences
    absent = reference.verdicts.keys() - receipt.verdicts.keys()
    if whole and absent:
        raise InputError(
            f"{path}: verified everything without a difference, but tells no verdict on"
            f" {min(absent)}; {REMEDY}"
        )


def record_earlier(root: Path, study: str, earlier: str) -> None:
    """Keep the digest of a reference that is replaced, so that its receipts stay known.

    Args:
        root: the project's folder.
        study: name of the study.
        earlier: see `reference_digest`.
    """
    folder = root / FOLDER / study
    known = _earlier(folder)
    if earlier not in known and earlier != reference_digest(reference_folder(root, study)):
        write_text(folder / EARLIER, "".join(f"{digest}\n" for digest in [*known, earlier]))


def _files(folder: Path) -> list[Path]:
    """Everything in a folder but what is hidden, in order; nothing if it is not there."""
    found = folder.iterdir() if folder.is_dir() else ()
    return sorted(path for path in found if not path.name.startswith("."))


def _earlier(folder: Path) -> list[str]:
    path = folder / EARLIER
    return path.read_text(encoding="utf-8").split() if path.is_file() else []


def _verdicts(receipt: Receipt) -> str:
    agreeing = sum(verdict.agrees for verdict in receipt.verdicts.values())
    told = f"{agreeing} of {len(receipt.verdicts)} agree" if receipt.verdicts else "none computed"
    return f"{told}, {receipt.differences} differences" if receipt.differences else told


def _runs(receipt: Receipt) -> str:
    """How many agree bit for bit, and how many otherwise."""
    numbers: Counter[str] = Counter()
    for runs in receipt.runs.values():
        numbers[runs.agreement] += runs.number
    return ", ".join(f"{number} {agreement}" for agreement, number in numbers.items()) or "none"
