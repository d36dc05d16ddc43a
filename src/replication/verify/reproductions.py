"""Receipts of verifications by others: kept in git, and shown in tables."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from replication.base.errors import InputError
from replication.base.strict import unknown_key
from replication.bundle.bundle import (
    MANIFEST,
    VERDICTS,
    find_references,
    read_verdicts,
    reference_digest,
    reference_folder,
)
from replication.judge.verdicts import Verdict
from replication.verify.receipt import REMEDY, Judgement, Receipt, read_receipt

FOLDER = "reproductions"
CLOCK_TOLERANCE = timedelta(days=1)
"""Allowed difference between the clocks of two machines."""
COLUMNS = ("date", "processor", "system", "torch", "level", "verdicts", "runs", "by")
"""Columns of a table of receipts."""


class Reproduction(NamedTuple):
    """A receipt that was sent in."""

    receipt: Receipt
    """Receipt as it was sent in."""
    is_current: bool
    """True if the receipt was compared with the present reference of the study."""
    agreeing: int
    """Number of verdicts that agree with the compared reference."""
    restated: frozenset[str]
    """Claims on which the compared reference had another verdict than the present one."""

    @classmethod
    def of(cls, receipt: Receipt, present: str, verdicts: dict[str, Verdict]) -> "Reproduction":
        """Return a receipt beside the digest and the verdicts of the present reference.

        Agreement with this reference is seen here; with an earlier one the receipt tells it.
        """
        same = {
            claim
            for claim, found in receipt.verdicts.items()
            if claim in verdicts and found.is_same(Judgement.of(verdicts[claim], None))
        }
        if receipt.reference == present:
            return cls(receipt, True, len(same), frozenset())
        agreeing = {claim for claim, found in receipt.verdicts.items() if found.agrees}
        return cls(receipt, False, len(agreeing), frozenset(agreeing - same))

    @property
    def computed_on(self) -> str:
        """Name of the processor, the emulated processor and the GPU."""
        machine = self.receipt.machine
        emulated = (f"emulating {name}={value}" for name, value in machine.emulated.items())
        gpu = [f"GPU {machine.gpu}"] if machine.gpu else []
        return ", ".join([machine.processor, *emulated, *gpu])

    @property
    def torch(self) -> str:
        """Version of PyTorch; empty if the receipt names none."""
        return self.receipt.packages.get("torch", "")

    @property
    def verdicts(self) -> str:
        """Number of verdicts that agree, in words, with a note on an earlier reference."""
        number, differences = len(self.receipt.verdicts), self.receipt.differences
        told = f"{self.agreeing} of {number} agree" if number else "none computed"
        told += f", {differences} differences" * (differences > 0)
        return told + ", with an earlier reference" * (not self.is_current)

    @property
    def runs(self) -> str:
        """Number of runs of each kind of agreement, in words."""
        numbers: Counter[str] = Counter()
        for runs in self.receipt.runs.values():
            numbers[runs.agreement] += runs.number
        return ", ".join(f"{number} {agreement}" for agreement, number in numbers.items()) or "none"

    @property
    def row(self) -> tuple[str, ...]:
        """Cells of a table with the columns `COLUMNS`."""
        receipt = self.receipt
        return (
            f"{receipt.date:%Y-%m-%d}",
            self.computed_on,
            receipt.machine.system,
            self.torch,
            receipt.level if receipt.settings == "default" else f"{receipt.level}, other settings",
            self.verdicts,
            self.runs,
            receipt.by or "",
        )


def all_reproductions(root: Path) -> list[Reproduction]:
    """Return the reproductions of all studies of a project.

    Raises:
        InputError: one sentence, if a receipt is damaged, of another study or of the future.
    """
    studies = sorted({path.parent.name for path in (root / FOLDER).glob("*/[!.]*.json")})
    found = [item for study in studies for item in reproductions(root, study)]
    # Only here, where receipts are let in: pages must not depend on the clock.
    for receipt, *_ in found:
        if receipt.date > datetime.now(UTC) + CLOCK_TOLERANCE:
            raise InputError(
                f"{root / FOLDER / receipt.study}: the receipt of {receipt.date} is of the future"
                f" by the clock of this machine; set the clock, or {REMEDY}"
            )
    return found


def reproductions(root: Path, study: str) -> list[Reproduction]:
    """Return the reproductions of one study, the oldest first; see `all_reproductions`."""
    receipts: list[Receipt] = []
    for path in _receipt_paths(root, study):
        receipts.append(read_receipt(path))
        if receipts[-1].study != study:
            raise InputError(
                f"{path}: is of the study {receipts[-1].study}; move it to that folder"
            )
    if not receipts:
        return []
    if study not in (known := find_references(root)):
        raise InputError(f"{root / FOLDER}: {unknown_key(study, known, 'study', 'studies')}")
    folder = reference_folder(root, study)
    present, verdicts = reference_digest(folder), read_verdicts(folder)
    receipts.sort(key=lambda receipt: receipt.date)
    return [Reproduction.of(receipt, present, verdicts) for receipt in receipts]


def verdicts_of_others(found: Sequence[Reproduction]) -> dict[str, list[dict[str, Any]]]:
    """Return what receipts say of each claim: an entry per verdict, processor and PyTorch.

    An entry has these three, the `lowest` and `highest` estimate of a comparison (none if nothing
    was measured), the number of `times` and the date of the `latest`. It `is_earlier` if it judged
    an earlier statement of the claim.
    """
    alike: dict[tuple[str, bool, str, str, str], list[tuple[Receipt, Judgement]]] = {}
    for item in found:
        # Verdicts at other settings are about other results.
        is_default = item.receipt.settings == "default"
        for claim, judged in item.receipt.verdicts.items() if is_default else ():
            kind = (claim, claim in item.restated, judged.verdict, item.computed_on, item.torch)
            alike.setdefault(kind, []).append((item.receipt, judged))
    told: dict[str, list[dict[str, Any]]] = {}
    for (claim, is_earlier, verdict, processor, torch), entries in alike.items():
        ends = [end for _, each in entries for end in (each.lowest, each.highest)]
        measured = [end for end in ends if end is not None]
        latest, _ = entries[-1]
        told.setdefault(claim, []).append(
            {
                "is_earlier": is_earlier,
                "verdict": verdict,
                "processor": processor,
                "torch": torch,
                "lowest": min(measured, default=None),
                "highest": max(measured, default=None),
                "times": len(entries),
                "latest": f"{latest.date:%Y-%m-%d}",
            }
        )
    return told


def receipt_files(root: Path, study: str) -> list[Path]:
    """Return a study's receipts and the files that they are shown beside; empty without one."""
    place = reference_folder(root, study)
    receipts = _receipt_paths(root, study)
    return [*receipts, place / MANIFEST, place / VERDICTS] if receipts else []


def _receipt_paths(root: Path, study: str) -> list[Path]:
    return sorted((root / FOLDER / study).glob("[!.]*.json"))
