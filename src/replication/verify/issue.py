"""Issue the receipt of a verification."""

import math
import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from replication.base.commit import UNKNOWN, commit_name
from replication.base.errors import InputError
from replication.base.process import arithmetic_variables
from replication.base.provenance import digest
from replication.bundle.bundle import FINGERPRINTS, Bundle, reference_folder, run_keys
from replication.bundle.computed import package_versions, settings_digests
from replication.bundle.machine import gpu, own_processor, system
from replication.plan.jobs import Jobs
from replication.verify.differences import Difference
from replication.verify.receipt import (
    MOST_LISTED,
    Code,
    Judgement,
    Level,
    Listed,
    Machine,
    Receipt,
    Runs,
)
from replication.verify.receipt_texts import (
    LONGEST_PART,
    LONGEST_TEXT,
    PLAIN_LETTERS,
    is_plain,
    names_folder,
)
from replication.verify.reference_summary import ReferenceInShort, bits_of_runs, reference_digest

LEFT_OUT_TEXT = "left out, as it names a folder or is no plain text"


class Verified(NamedTuple):
    """Comparison of one study with its reference."""

    study: str
    """Name of the study."""
    current: Bundle
    """Computed results."""
    reference: Bundle
    """Expected results."""
    differences: list[Difference]
    """All differences."""


def issue_receipt(
    verified: Verified, level: Level, by: str | None, root: Path, jobs: Jobs, default: Jobs
) -> Receipt:
    """Return the receipt of a verification, to send in.

    Args:
        verified: the comparison, made just now and on this machine.
        level: level of the verification.
        by: name, ORCID or URL of the person, if the receipt may have it.
        root: the project's folder.
        jobs: table of jobs of the results.
        default: table of jobs of the reference.

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
            claim: Judgement.of_found(verdict, short.verdicts.get(claim))
            for claim, verdict in current.verdicts.items()
        },
        runs=runs,
        differences=len(differences),
        listed=_first_differences(differences),
    )


def _code_state(root: Path) -> Code | None:
    """Return the commit of the code, if git knows it."""
    name = commit_name(root, "--abbrev=40", "--exclude=*")
    if name == UNKNOWN:
        return None
    return Code(commit=name.removesuffix("-dirty"), dirty=name.endswith("-dirty"))


def _machine_of_receipt(device: str) -> Machine:
    return Machine(
        processor=_plain_part(own_processor()) or UNKNOWN,
        emulated={name: _plain_part(value) for name, value in arithmetic_variables().items()},
        cores=os.cpu_count() or 1,
        system=_plain_part(system()) or UNKNOWN,
        gpu=_plain_part(gpu()) if device == "cuda" else None,
    )


def _plain_part(name: str) -> str:
    """Return the name of a machine's part in plain letters, without signs of trademarks."""
    plain = " ".join(re.sub(f"[^{PLAIN_LETTERS}]", " ", name).split())
    return LEFT_OUT_TEXT if names_folder(plain) else plain[:LONGEST_PART]


def _other_settings(own: dict[str, str], default: dict[str, str]) -> str:
    """Return the digest of the settings that are not the default ones; empty if all are."""
    names = {name for name in own | default if own.get(name) != default.get(name)}
    return digest({name: own.get(name) for name in names}) if names else ""


def _agreeing_runs(
    current: Bundle, reference: Bundle, short: ReferenceInShort, places: set[str]
) -> dict[str, Runs]:
    """Return the runs that the reference has, too, and their agreement, by experiment.

    `places` are those of all differences.
    """
    known = reference.tables[FINGERPRINTS]
    runs = current.tables.get(FINGERPRINTS, known.head(0))
    keys = run_keys(runs)
    if not {*keys} <= {*known}:
        return {}
    found = {}
    for name, bits in bits_of_runs(runs.merge(known[keys].drop_duplicates(), on=keys)).items():
        same = Runs.of(bits, "bit for bit")
        if same.match(short.runs[name]):
            found[name] = same
        elif {FINGERPRINTS, f"{FINGERPRINTS}, experiment {name}"} & places:
            found[name] = Runs.of(bits, "differ")
        else:
            found[name] = Runs.of(bits, "within tolerance")
    return found


def _first_differences(differences: Sequence[Difference]) -> list[Listed]:
    """Return the first differences, without names of folders."""
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
    """Return a text in one line; if a receipt must not hold it, return words that say so."""
    line = "".join(letter if letter.isprintable() else " " for letter in text)
    return line[:LONGEST_TEXT] if is_plain(line) and not names_folder(line) else LEFT_OUT_TEXT
