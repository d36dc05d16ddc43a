"""Issue a receipt of what a verification found."""

import math
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from replication.errors import InputError
from replication.jobs import Jobs
from replication.provenance import digest
from replication.report.commit import UNKNOWN, commit
from replication.surroundings import arithmetic
from replication.verification.collect import packages, settings
from replication.verification.differences import Difference
from replication.verification.machine import gpu, own_processor, system
from replication.verification.receipt import (
    FOLDER_NAME,
    LISTED,
    LONGEST,
    Agreement,
    Code,
    Judgement,
    Level,
    Listed,
    Machine,
    Receipt,
    Runs,
    reference_digest,
)
from replication.verification.reference import FINGERPRINTS, Reference, reference_folder

LEFT_OUT = "left out, as it names a folder"


class Verified(NamedTuple):
    """One study, compared."""

    study: str
    """Its name."""
    current: Reference
    """What is computed."""
    reference: Reference
    """What it should be."""
    differences: list[Difference]
    """All of them."""


def issue(
    verified: Verified, level: Level, by: str | None, root: Path, jobs: Jobs, default: Jobs
) -> Receipt:
    """What a verification found, to send in.

    Args:
        verified: what was compared, just now and on this machine.
        level: how much was computed for it.
        by: what whoever did it says of themselves.
        root: the project's folder.
        jobs: how it was computed.
        default: how the reference was computed.

    Raises:
        InputError: if nothing of the study is computed.
    """
    study, current, reference, differences = verified
    if not current.verdicts and FINGERPRINTS not in current.tables:
        raise InputError(
            "--receipt: there is nothing to tell, as nothing is computed here; run"
            " `snakemake verify` first, or take --level full"
        )
    return Receipt(
        study=study,
        date=datetime.now(UTC).replace(microsecond=0),
        by=by,
        code=_code(root),
        machine=_machine(jobs.configuration.computation.device),
        packages=packages(jobs, study),
        reference=reference_digest(reference_folder(root, study)),
        level=level,
        settings=_other_settings(settings(jobs, study), settings(default, study)) or "default",
        verdicts={
            claim: Judgement.of(verdict, reference.verdicts.get(claim))
            for claim, verdict in current.verdicts.items()
        },
        runs=_runs(current, reference, {item.place for item in differences}),
        differences=len(differences),
        listed=_listed(differences),
    )


def _code(root: Path) -> Code | None:
    """The commit of the code, if git knows it."""
    name = commit(root, "--abbrev=40", "--exclude=*")
    if name == UNKNOWN:
        return None
    return Code(commit=name.removesuffix("-dirty"), dirty=name.endswith("-dirty"))


def _machine(device: str) -> Machine:
    return Machine(
        processor=own_processor(),
        emulated=arithmetic(),
        cores=os.cpu_count() or 1,
        system=system(),
        gpu=gpu() if device == "cuda" else None,
    )


def _other_settings(own: dict[str, str], default: dict[str, str]) -> str:
    """Digest of the settings that differ from the default ones; empty if none does."""
    names = {name for name in own | default if own.get(name) != default.get(name)}
    return digest({name: own.get(name) for name in names}) if names else ""


def _runs(current: Reference, reference: Reference, places: set[str]) -> dict[str, Runs]:
    """The runs by experiment, with the places of all differences."""
    if FINGERPRINTS not in current.tables:
        return {}
    known = reference.tables[FINGERPRINTS]
    found = {}
    for name, runs in current.tables[FINGERPRINTS].groupby("experiment", sort=False):
        same = Runs.of(runs, "bit for bit")
        agreement: Agreement = "within tolerance"
        if {FINGERPRINTS, f"{FINGERPRINTS}, experiment {name}"} & places:
            agreement = "differ"
        elif same.are_those_of(known[known["experiment"] == name]):
            agreement = "bit for bit"
        found[str(name)] = same.model_copy(update={"agreement": agreement})
    return found


def _listed(differences: Sequence[Difference]) -> list[Listed]:
    """The first differences, without names of folders."""
    return [
        Listed(
            place=_shareable(item.place),
            quantity=_shareable(item.quantity),
            reference=_shareable(item.reference),
            found=_shareable(item.found),
            difference=item.difference if math.isfinite(item.difference) else None,
            tolerance=item.tolerance,
        )
        for item in differences[:LISTED]
    ]


def _shareable(text: str) -> str:
    return LEFT_OUT if FOLDER_NAME.search(text) else text[:LONGEST]
