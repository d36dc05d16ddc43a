"""Receipts: findings and machine of a verification, small enough to send in, and to show.

A receipt names nobody except by choice. People review those that strangers send in; documents and
pages escape their texts. Nothing proves that somebody computed a receipt.
"""

import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from replication.base.errors import InputError
from replication.base.keys import digest
from replication.base.process import arithmetic_variables
from replication.base.project import commit_name
from replication.base.strict import describe_error
from replication.bundle.bundle import (
    FINGERPRINTS,
    MANIFEST,
    VERDICTS,
    Bundle,
    read_verdicts,
    reference_digest,
    reference_folder,
    run_keys,
)
from replication.bundle.computed import gpu, own_processor, system
from replication.judge.verdicts import Verdict
from replication.study.seeds import format_seeds
from replication.verify.differences import Difference
from replication.verify.reference import Project

FOLDER = "reproductions"
COLUMNS = ("date", "processor", "system", "torch", "level", "verdicts", "runs", "by")
"""Columns of a table of receipts."""
MOST_LISTED = 50
"""Largest number of differences that a receipt lists; it counts all."""


def _refuse_unreadable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("must be one line of printable letters")
    return text


Line = Annotated[str, Field(max_length=300), AfterValidator(_refuse_unreadable)]
Amount = Annotated[int, Field(ge=0)]


class _Told(BaseModel):
    """A part of a receipt; earlier versions of the engine wrote more into them."""

    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)


class Machine(_Told):
    """Machine that computed: processors with the same text compute the same bits."""

    processor: Line
    emulated: dict[Line, Line]
    """Emulated processor, by the environment variable that sets it."""
    cores: Amount
    system: Line
    """Name of the operating system and of its C library."""
    gpu: Line | None
    """GPU that trained; none if the processor did."""


class Judgement(_Told):
    """A verdict in short: the parts that must be the same on every processor."""

    verdict: Line
    seeds: Amount
    decisions: Line
    """Digest of the decisions of all comparisons, by name."""
    agrees: bool = True
    """True if it is as in the reference that was compared with."""


class Runs(_Told):
    """Runs of an experiment: seeds as `1-10,12`, number, agreement with those of the reference."""

    seeds: str
    number: Amount
    agreement: Line
    """`bit for bit`, `within tolerance` or `differ`."""


class Receipt(_Told):
    """Findings of a verification of one study."""

    study: Line
    date: AwareDatetime
    by: Line | None
    """Name, ORCID or URL of the person who verified."""
    code: Any
    """Commit of the code, with `-dirty` if files that git knows were changed after it."""
    machine: Machine
    packages: dict[Line, Line]
    """Version of Python and of every package that computes numbers."""
    reference: Line
    """Digest of the files of the reference that was compared with."""
    level: Line
    settings: Line
    """The word `default`, if all settings are."""
    verdicts: dict[Line, Judgement]
    """Computed verdicts, by number of the claim."""
    runs: dict[Line, Runs]
    """Computed runs, by experiment."""
    differences: Amount
    """Number of differences; the first ones of numbers are listed."""
    listed: list[dict[str, Any]]


def issue_receipt(
    project: Project,
    study: str,
    level: str,
    by: str | None,
    current: Bundle,
    reference: Bundle,
    differences: Sequence[Difference],
) -> Receipt:
    """Return the receipt of a verification just made here; an `InputError` if of nothing."""
    runs = _runs(current, reference, {each.place for each in differences})
    if not current.verdicts and not runs:
        raise InputError("--receipt: nothing is computed here; take --level full")
    known = _judgements(reference.verdicts)
    numbers = [each for each in differences if math.isfinite(each.difference)]
    return Receipt(
        study=study,
        date=datetime.now(UTC).replace(microsecond=0),
        by=by,
        code=commit_name(project.root, "--abbrev=40", "--exclude=*"),
        machine=Machine(
            processor=own_processor(),
            emulated=arithmetic_variables(),
            cores=os.cpu_count() or 1,
            system=system(),
            gpu=gpu() if project.jobs.configuration.computation.device == "cuda" else None,
        ),
        packages={
            name: each for name, each in current.depends["machine"].items() if name != "processor"
        },
        reference=reference_digest(reference_folder(project.root, study)),
        level=level,
        settings="default" if project.is_default(study) else "others",
        verdicts={
            claim: Judgement(**each, agrees=each == known.get(claim))
            for claim, each in _judgements(current.verdicts).items()
        },
        runs=runs,
        differences=len(differences),
        listed=[each._asdict() for each in numbers[:MOST_LISTED]],
    )


def _judgements(verdicts: Mapping[str, Verdict]) -> dict[str, dict[str, Any]]:
    """Return verdicts in short, as a `Judgement` has them."""
    return {
        claim: {
            "verdict": each.verdict,
            "seeds": each.seeds,
            "decisions": digest(sorted((item.cell, item.decision) for item in each.comparisons)),
        }
        for claim, each in verdicts.items()
    }


def _runs(current: Bundle, reference: Bundle, places: set[str]) -> dict[str, Runs]:
    """Return the runs that the reference has, too, by experiment; `places` are of differences."""
    known = reference.tables[FINGERPRINTS]
    runs = current.tables.get(FINGERPRINTS, known.head(0))
    keys = run_keys(runs)
    if not {*keys} <= {*known}:
        return {}
    both = runs[[*keys, "digest"]].merge(known[[*keys, "digest"]], on=keys, suffixes=("", "_known"))
    found = {}
    for name, rows in both.groupby("experiment", sort=False):
        agreement = "within tolerance"
        if rows["digest"].equals(rows["digest_known"]):
            agreement = "bit for bit"
        elif f"{FINGERPRINTS}, experiment {name}" in places:
            agreement = "differ"
        seeds = format_seeds(sorted({*map(int, rows["seed"])}))
        found[str(name)] = Runs(seeds=seeds, number=len(rows), agreement=agreement)
    return found


def reproductions(root: Path, study: str = "*") -> list[tuple[str, ...]]:
    """Return study and cells of `COLUMNS` of the receipts that were sent in, the oldest first.

    An `InputError` names a receipt that is damaged or of another study.
    """
    receipts = [_read_receipt(path) for path in _receipt_paths(root, study)]
    receipts.sort(key=lambda receipt: (receipt.study, receipt.date))
    return [(receipt.study, *_row(receipt, root)) for receipt in receipts]


def _row(receipt: Receipt, root: Path) -> tuple[str, ...]:
    """Return the cells of a receipt; its agreement with an earlier reference it tells itself."""
    machine, judged = receipt.machine, receipt.verdicts
    folder = reference_folder(root, receipt.study)
    is_current = receipt.reference == reference_digest(folder)
    present = _judgements(read_verdicts(folder))
    emulated = [f"emulating {name}={value}" for name, value in machine.emulated.items()]
    on_gpu = [f"GPU {machine.gpu}"] if machine.gpu else []
    agreeing = [
        claim
        for claim, each in judged.items()
        if (
            each.model_dump(exclude={"agrees"}) == present.get(claim) if is_current else each.agrees
        )
    ]
    verdicts = f"{len(agreeing)} of {len(judged)} agree" if judged else "none computed"
    verdicts += f", {receipt.differences} differences" * (receipt.differences > 0)
    numbers: Counter[str] = Counter()
    for runs in receipt.runs.values():
        numbers[runs.agreement] += runs.number
    return (
        f"{receipt.date:%Y-%m-%d}",
        ", ".join([machine.processor, *emulated, *on_gpu]),
        machine.system,
        receipt.packages.get("torch", ""),
        receipt.level + ", other settings" * (receipt.settings != "default"),
        verdicts + ", with an earlier reference" * (not is_current),
        ", ".join(f"{number} {agreement}" for agreement, number in numbers.items()) or "none",
        receipt.by or "",
    )


def _read_receipt(path: Path) -> Receipt:
    try:
        receipt = Receipt.model_validate_json(path.read_text(encoding="utf-8"))
    except ValidationError as error:
        raise InputError(describe_error(error, str(path))) from error
    if receipt.study != path.parent.name:
        raise InputError(f"{path}: is of the study {receipt.study}; move it to that folder")
    return receipt


def receipt_files(root: Path, study: str) -> list[Path]:
    """Return a study's receipts and the files that they are shown beside; empty without one."""
    place, receipts = reference_folder(root, study), _receipt_paths(root, study)
    return [*receipts, place / MANIFEST, place / VERDICTS] if receipts else []


def _receipt_paths(root: Path, study: str) -> list[Path]:
    return sorted((root / FOLDER).glob(f"{study}/[!.]*.json"))
