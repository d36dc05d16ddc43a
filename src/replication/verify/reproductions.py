"""Receipts of verifications by others: kept in git, checked against the reference, tabulated."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import click

from replication.base.commit import run_git
from replication.base.errors import InputError
from replication.base.provenance import digest
from replication.base.storage import write_text
from replication.base.strict import shorten, unknown_key
from replication.bundle.bundle import (
    FINGERPRINTS,
    MANIFEST,
    VERDICTS,
    find_references,
    reference_folder,
)
from replication.verify.differences import DECIDED_VERDICTS
from replication.verify.receipt import REMEDY, Receipt, Runs, read_receipt
from replication.verify.reference_summary import (
    Bits,
    ReferenceInShort,
    VerdictInShort,
    read_in_short,
    to_json,
)

FOLDER = "reproductions"
FILE_NAME = re.compile(r"\d{4}-\d\d-\d\d-[\w.-]+\.json", re.ASCII)
"""Pattern of the name of a receipt's file."""
EARLIER_FOLDER = "earlier"
"""Folder beside a study's receipts with summaries of its earlier references, by their digest."""
CLOCK_TOLERANCE = timedelta(days=1)
"""Allowed difference between the clocks of two machines."""
COLUMNS = ("date", "processor", "system", "torch", "level", "verdicts", "runs", "by")
"""Columns of a table of receipts."""
SUMMARY_COLUMNS = ("study", "processor", "torch", "receipts", "latest", "its verdicts", "its runs")
"""Columns of a table with a row per study, processor and version of PyTorch."""


class Reproduction(NamedTuple):
    """A receipt that was sent in."""

    receipt: Receipt
    """Receipt as it was sent in."""
    is_current: bool
    """True if the receipt was compared with the present reference of the study."""
    restated: frozenset[str] = frozenset()
    """Claims on which the compared reference had another verdict than the present one."""

    @property
    def computed_on(self) -> str:
        """Name of the processor, the emulated processor and the GPU."""
        machine = self.receipt.machine
        emulated = (f"emulating {name}={value}" for name, value in machine.emulated.items())
        gpu = [f"GPU {machine.gpu}"] if machine.gpu else []
        return ", ".join([machine.processor, *emulated, *gpu])

    @property
    def verdicts(self) -> str:
        """Number of verdicts that agree, in words, with a note on an earlier reference."""
        return _verdicts_text(self.receipt) + (
            "" if self.is_current else ", with an earlier reference"
        )

    @property
    def row(self) -> tuple[str, ...]:
        """Cells of a table with the columns `COLUMNS`."""
        receipt = self.receipt
        return (
            f"{receipt.date:%Y-%m-%d}",
            self.computed_on,
            receipt.machine.system,
            receipt.packages.get("torch", ""),
            receipt.level if receipt.settings == "default" else f"{receipt.level}, other settings",
            self.verdicts,
            _runs_text(receipt),
            receipt.by or "",
        )


def all_reproductions(root: Path) -> list[Reproduction]:
    """Return the reproductions of all studies.

    Args:
        root: the project's folder.

    Raises:
        InputError: one sentence, if a receipt is of no study, of the future or wrong, see
            `check_receipt`.
    """
    folder = root / FOLDER
    studies = sorted(path.name for path in folder.glob("*/")) if folder.is_dir() else []
    found = [item for study in studies for item in reproductions(root, study)]
    # Only here, where receipts are let in: pages must not depend on the clock and on git.
    earlier = [study for study in studies if _earlier_summaries(root, study)]
    if earlier and (why := why_no_history(root)):
        click.echo(
            f"{folder}: not checked whether git ever had the earlier references of"
            f" {', '.join(earlier)}, as {why}",
            err=True,
        )
        earlier = []
    for study in earlier:
        _check_earlier(root, study)
    for receipt, *_ in found:
        if receipt.date > datetime.now(UTC) + CLOCK_TOLERANCE:
            raise InputError(
                f"{folder / receipt.study}: the receipt of {receipt.date} is of the future by the"
                f" clock of this machine; set the clock, or {REMEDY}"
            )
    return found


def reproductions(root: Path, study: str) -> list[Reproduction]:
    """Return the reproductions of one study, the oldest first.

    Arguments and errors are those of `all_reproductions`.
    """
    folder = root / FOLDER / study
    if not (paths := _receipt_paths(folder)):
        return []
    if study not in (known := find_references(root)):
        raise InputError(f"{root / FOLDER}: {unknown_key(study, known, 'study', 'studies')}")
    present, reference = read_in_short(reference_folder(root, study))
    found: list[Reproduction] = []
    kept: dict[str, Receipt] = {}
    for path in paths:
        if path.is_symlink() or not FILE_NAME.fullmatch(path.name):
            raise InputError(
                f"{folder}: the name of {shorten(path.name)} is no <date>-<processor>.json; name it"
                " like 2026-01-31-epyc.json"
            )
        receipt = read_receipt(path)
        if twin := next((name for name, other in kept.items() if receipt == other), None):
            raise InputError(f"{path}: is the same as {twin}; delete one of them")
        kept[path.name] = receipt
        if receipt.study != study:
            raise InputError(f"{path}: is of the study {receipt.study}; move it to that folder")
        is_current = receipt.reference == present
        compared = reference if is_current else _read_earlier(path, receipt)
        check_receipt(path, receipt, compared)
        restated = frozenset(
            claim
            for claim in receipt.verdicts
            if compared.verdicts[claim] != reference.verdicts.get(claim)
        )
        found.append(Reproduction(receipt, is_current, restated))
    return sorted(found, key=lambda item: item.receipt.date)


def summary_rows(found: Sequence[Reproduction]) -> list[tuple[str, ...]]:
    """Return the rows of a table with the columns `SUMMARY_COLUMNS`, in the order of `found`.

    Receipts of other settings are not counted: their verdicts are about other results.
    """
    alike: dict[tuple[str, ...], list[Reproduction]] = {}
    for item in found:
        receipt = item.receipt
        if receipt.settings != "default":
            continue
        key = (receipt.study, item.computed_on, receipt.packages.get("torch", ""))
        alike.setdefault(key, []).append(item)
    return [
        (
            *key,
            str(len(items)),
            f"{items[-1].receipt.date:%Y-%m-%d}",
            items[-1].verdicts,
            _runs_text(items[-1].receipt),
        )
        for key, items in alike.items()
    ]


def compared_files(root: Path, study: str) -> list[Path]:
    """Return the receipts of a study and the files that they are checked against.

    The list is empty if there is no receipt.

    Args:
        root: the project's folder.
        study: name of the study.
    """
    folder = root / FOLDER / study
    if not (found := _receipt_paths(folder)):
        return []
    place = reference_folder(root, study)
    checked = (place / name for name in (MANIFEST, VERDICTS, FINGERPRINTS))
    earlier = sorted((folder / EARLIER_FOLDER).glob("*.json"))
    return [*found, *earlier, *(path for path in checked if path.is_file())]


def check_receipt(path: Path, receipt: Receipt, reference: ReferenceInShort) -> None:
    """Refuse a receipt that is wrong about an agreement or a number of runs.

    Args:
        path: file of the receipt.
        receipt: the receipt.
        reference: the reference that it was compared with.

    Raises:
        InputError: names the first claim or experiment that is unknown, or about which the receipt
            is wrong.
    """
    for wrong in _faults(receipt, reference):
        raise InputError(f"{path}: {wrong}; {REMEDY}")


def record_earlier(root: Path, study: str, name: str, earlier: ReferenceInShort) -> None:
    """Keep the summary of a reference that is replaced: its receipts are checked against it.

    Args:
        root: the project's folder.
        study: name of the study.
        name: digest of the reference.
        earlier: the summary.
    """
    path = root / FOLDER / study / EARLIER_FOLDER / f"{name}.json"
    write_text(path, to_json(earlier.model_dump(mode="json")) + "\n")


def _receipt_paths(folder: Path) -> list[Path]:
    """Return the paths in a folder except hidden ones and that of earlier references, in order."""
    found = folder.iterdir() if folder.is_dir() else ()
    return sorted(
        path for path in found if not path.name.startswith(".") and path.name != EARLIER_FOLDER
    )


def _read_earlier(path: Path, receipt: Receipt) -> ReferenceInShort:
    """Return the summary of a reference, since replaced, that a receipt was compared with."""
    kept = path.parent / EARLIER_FOLDER / f"{receipt.reference}.json"
    if not kept.is_file():
        raise InputError(
            f"{path}: was compared with a reference that {receipt.study} never had; {REMEDY}, from"
            " a commit of the main branch"
        )
    try:
        text = kept.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"{kept}: cannot be read ({error}); restore it with git") from error
    return ReferenceInShort.parse_json(text, str(kept))


def _earlier_summaries(root: Path, study: str) -> list[Path]:
    return sorted((root / FOLDER / study / EARLIER_FOLDER).glob("*"))


def why_no_history(root: Path) -> str:
    """Return why git cannot tell what a project had before; empty if it can."""
    is_shallow = run_git(root, "rev-parse", "--is-shallow-repository")
    if is_shallow is None:
        return "git does not know this folder, or is not installed"
    if is_shallow == "true":
        return "this clone has a part of the history alone; run `git fetch --unshallow`"
    return "" if run_git(root, "rev-parse", "--verify", "HEAD") else "git has no commit of it yet"


def _check_earlier(root: Path, study: str) -> None:
    """Refuse a summary of a reference that git never had."""
    place = (reference_folder(Path(), study) / MANIFEST).as_posix()
    commits = run_git(root, "log", "--format=%H", "--", place) or ""
    manifests = (run_git(root, "show", f"{commit}:{place}") or "{}" for commit in commits.split())
    were = {digest(json.loads(text).get("files")) for text in manifests}
    for path in _earlier_summaries(root, study):
        if path.is_symlink() or path.suffix != ".json" or path.stem not in were:
            raise InputError(
                f"{path}: {study} never had such a reference in git; delete the file, which"
                " `snakemake reference` alone writes"
            )


def _faults(receipt: Receipt, reference: ReferenceInShort) -> Iterator[str]:
    """Yield what is wrong in a receipt, in words."""
    opposite = 0
    for claim, found in receipt.verdicts.items():
        if (known := reference.verdicts.get(claim)) is None:
            yield f"the study has no verdict on {claim}"
            continue
        if found.agrees != found.matches(known):
            told, is_so = ("agrees", "does not") if found.agrees else ("does not agree", "does")
            yield f"says that the verdict on {claim} {told} with the reference, but it {is_so}"
        opposite += _is_difference(found, known)
    for name, runs in receipt.runs.items():
        if name in reference.runs:
            yield from _run_faults(name, runs, reference.runs[name])
        else:
            yield f"the study has no runs of {name}"
    if receipt.settings != "default":
        return
    if opposite > receipt.differences:
        yield f"has {opposite} verdicts that are not the reference's, but fewer differences"
    if receipt.level == "full" and not receipt.differences:
        yield from _omissions(receipt, reference)


def _run_faults(name: str, runs: Runs, known: Bits) -> Iterator[str]:
    if not (same := runs.bits_of_seeds(known)):
        yield f"has runs of {name} by seeds that the reference has not"
    elif not len(same) <= runs.number <= sum(map(len, same.values())):
        yield f"counts {runs.number} runs of {name}, which the reference has not"
    elif (runs.agreement == "bit for bit") != runs.match(known):
        told, is_so = "are", "are not"
        if runs.agreement != "bit for bit":
            told, is_so = is_so, told
        yield f"says that the runs of {name} {told} the reference's bit for bit, but they {is_so}"


def _is_difference(found: VerdictInShort, known: VerdictInShort) -> bool:
    """Say whether a verdict differs from the reference's by every tolerance.

    Where training amplifies rounding, one of the two may be decided and the other undecided.
    """
    return found.seeds != known.seeds or (
        found.verdict != known.verdict
        and (found.verdict in DECIDED_VERDICTS) == (known.verdict in DECIDED_VERDICTS)
    )


def _omissions(receipt: Receipt, reference: ReferenceInShort) -> Iterator[str]:
    """Yield verdicts and runs that a receipt without differences at the level `full` lacks."""
    all_told = "verified everything without a difference, but tells"
    for claim in sorted(reference.verdicts.keys() - receipt.verdicts.keys()):
        yield f"{all_told} no verdict on {claim}"
    for name, known in sorted(reference.runs.items()):
        runs = receipt.runs.get(name)
        number = sum(map(len, known.values()))
        if runs is None or runs.number < number:
            yield f"{all_told} {runs.number if runs else 'none'} of {number} runs of {name}"


def _verdicts_text(receipt: Receipt) -> str:
    agreeing = sum(verdict.agrees for verdict in receipt.verdicts.values())
    told = f"{agreeing} of {len(receipt.verdicts)} agree" if receipt.verdicts else "none computed"
    return f"{told}, {receipt.differences} differences" if receipt.differences else told


def _runs_text(receipt: Receipt) -> str:
    """Return the number of runs of each kind of agreement, in words."""
    numbers: Counter[str] = Counter()
    for runs in receipt.runs.values():
        numbers[runs.agreement] += runs.number
    return ", ".join(f"{number} {agreement}" for agreement, number in numbers.items()) or "none"
