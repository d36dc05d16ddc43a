"""Issue a receipt of what a verification found."""

import math
import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from replication.base.commit import UNKNOWN, commit
from replication.base.errors import InputError
from replication.base.process import arithmetic
from replication.base.provenance import digest
from replication.plan.jobs import Jobs
from replication.verify.collect import package_versions, settings_digests
from replication.verify.differences import Difference
from replication.verify.machine import gpu, own_processor, system
from replication.verify.receipt import (
    LONGEST_PART,
    LONGEST_TEXT,
    MOST_LISTED,
    PLAIN_LETTERS,
    Code,
    Judgement,
    Level,
    Listed,
    Machine,
    Receipt,
    Runs,
    is_plain,
    names_folder,
)
from replication.verify.reference import (
    FINGERPRINTS,
    Reference,
    reference_folder,
    run_keys,
)
from replication.verify.reference_summary import ReferenceInShort, bits_of_runs, reference_digest

LEFT_OUT_TEXT = "left out, as it names a folder or is no plain text"


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


def issue_receipt(
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
    short = ReferenceInShort.of(reference)
    runs = _agreeing_runs(current, reference, short, {item.place for item in differences})
    if not current.verdicts and not runs:
        raise InputError(
            "--receipt: there is nothing to tell, as nothing is computed here; run"
            " `snakemake verify` first, or take --level full"
        )
    return Receipt(
        study=study,
        date=datetime.now(UTC).replace(microsecond=0),
        by=by,
        code=_code_state(root),
        machine=_machine_of_receipt(jobs.configuration.computation.device),
        packages=package_versions(jobs, study),
        reference=reference_digest(reference_folder(root, study)),
        level=level,
        settings=_other_settings(settings_digests(jobs, study), settings_digests(default, study))
        or "default",
        verdicts={
            claim: Judgement.found(verdict, short.verdicts.get(claim))
            for claim, verdict in current.verdicts.items()
        },
        runs=runs,
        differences=len(differences),
        listed=_first_differences(differences),
    )


def _code_state(root: Path) -> Code | None:
    """The commit of the code, if git knows it."""
    name = commit(root, "--abbrev=40", "--exclude=*")
    if name == UNKNOWN:
        return None
    return Code(commit=name.removesuffix("-dirty"), dirty=name.endswith("-dirty"))


def _machine_of_receipt(device: str) -> Machine:
    return Machine(
        processor=_plain_part(own_processor()) or UNKNOWN,
        emulated={name: _plain_part(value) for name, value in arithmetic().items()},
        cores=os.cpu_count() or 1,
        system=_plain_part(system()) or UNKNOWN,
        gpu=_plain_part(gpu()) if device == "cuda" else None,
    )


def _plain_part(name: str) -> str:
    """The name of a machine's part in plain letters: the sign of a trademark is left out."""
    plain = " ".join(re.sub(f"[^{PLAIN_LETTERS}]", " ", name).split())
    return LEFT_OUT_TEXT if names_folder(plain) else plain[:LONGEST_PART]


def _other_settings(own: dict[str, str], default: dict[str, str]) -> str:
    """Digest of the settings that differ from the default ones; empty if none does."""
    names = {name for name in own | default if own.get(name) != default.get(name)}
    return digest({name: own.get(name) for name in names}) if names else ""


def _agreeing_runs(
    current: Reference, reference: Reference, short: ReferenceInShort, places: set[str]
) -> dict[str, Runs]:
    """Those runs by experiment that the reference has, too, with the places of all differences."""
    known = reference.tables[FINGERPRINTS]
    runs = current.tables.get(FINGERPRINTS, known.head(0))
    keys = run_keys(runs)
    if not {*keys} <= {*known}:
        return {}
    found = {}
    for name, bits in bits_of_runs(runs.merge(known[keys].drop_duplicates(), on=keys)).items():
        same = Runs.of(bits, "bit for bit")
        if same.are_those_of(short.runs[name]):
            found[name] = same
        elif {FINGERPRINTS, f"{FINGERPRINTS}, experiment {name}"} & places:
            found[name] = Runs.of(bits, "differ")
        else:
            found[name] = Runs.of(bits, "within tolerance")
    return found


def _first_differences(differences: Sequence[Difference]) -> list[Listed]:
    """The first differences, without names of folders."""
    return [
        Listed(
            place=_shareable_text(item.place),
            quantity=_shareable_text(item.quantity),
            reference=_shareable_text(item.reference),
            found=_shareable_text(item.found),
            difference=item.difference if math.isfinite(item.difference) else None,
            tolerance=item.tolerance,
        )
        for item in differences[:MOST_LISTED]
    ]


def _shareable_text(text: str) -> str:
    """A text as a receipt may tell it, in one line."""
    line = "".join(letter if letter.isprintable() else " " for letter in text)
    return line[:LONGEST_TEXT] if is_plain(line) and not names_folder(line) else LEFT_OUT_TEXT
