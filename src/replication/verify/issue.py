"""Issue the receipt of a verification."""

import math
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from replication.base.commit import UNKNOWN, commit_name
from replication.base.errors import InputError
from replication.base.process import arithmetic_variables
from replication.base.provenance import digest
from replication.bundle.bundle import (
    FINGERPRINTS,
    Bundle,
    reference_digest,
    reference_folder,
    run_keys,
)
from replication.bundle.computed import package_versions, settings_digests
from replication.bundle.machine import gpu, own_processor, system
from replication.plan.jobs import Jobs
from replication.study.seeds import format_seeds
from replication.verify.differences import Difference
from replication.verify.receipt import (
    LONGEST_TEXT,
    PLAIN_LETTERS,
    Agreement,
    Code,
    Judgement,
    Level,
    Listed,
    Machine,
    Receipt,
    Runs,
    refuse_unreadable,
)

MOST_LISTED = 50
"""Largest number of differences that a receipt lists; it counts all."""
FOLDER_NAME = re.compile(r"(?<![\w./~])(?://?[^/\s]+/|~[\w.-]*/|\.\./)|:[/\\]|\\\\\w")
"""Pattern of names of folders outside the project, in a text without addresses."""
WEB_ADDRESS = re.compile(r"https?://\S*")
LEFT_OUT = "left out, as it names a folder or is no plain text"


class Verified(NamedTuple):
    """Comparison of the computed results of one study with its reference."""

    study: str
    current: Bundle
    reference: Bundle
    differences: list[Difference]


def issue_receipt(
    verified: Verified, level: Level, by: str | None, root: Path, jobs: Jobs, default: Jobs
) -> Receipt:
    """Return the receipt of a verification that was made just now, on this machine.

    `jobs` are those of the results and `default` those of the reference. An `InputError` says that
    nothing of the study is computed.
    """
    study, current, reference, differences = verified
    runs = _runs(current, reference, {item.place for item in differences})
    if not current.verdicts and not runs:
        raise InputError(
            "--receipt: there is nothing to tell, as nothing is computed here; run"
            " `snakemake verify` first, or take --level full"
        )
    settings = settings_digests(jobs, study)
    return Receipt(
        study=study,
        date=datetime.now(UTC).replace(microsecond=0),
        by=by,
        code=_code_state(root),
        machine=Machine(
            processor=_plain(own_processor()) or UNKNOWN,
            emulated={name: _plain(value) for name, value in arithmetic_variables().items()},
            cores=os.cpu_count() or 1,
            system=_plain(system()) or UNKNOWN,
            gpu=_plain(gpu()) if jobs.configuration.computation.device == "cuda" else None,
        ),
        packages=package_versions(jobs, study),
        reference=reference_digest(reference_folder(root, study)),
        level=level,
        settings="default" if settings == settings_digests(default, study) else digest(settings),
        verdicts={
            claim: Judgement.of(verdict, reference.verdicts.get(claim))
            for claim, verdict in current.verdicts.items()
        },
        runs=runs,
        differences=len(differences),
        listed=[
            Listed(
                place=_shareable(item.place),
                quantity=_shareable(item.quantity),
                reference=_shareable(item.reference),
                found=_shareable(item.found),
                difference=item.difference if math.isfinite(item.difference) else None,
                tolerance=item.tolerance,
            )
            for item in differences[:MOST_LISTED]
        ],
    )


def _code_state(root: Path) -> Code | None:
    """Return the commit of the code, if git knows it."""
    name = commit_name(root, "--abbrev=40", "--exclude=*")
    if name == UNKNOWN:
        return None
    return Code(commit=name.removesuffix("-dirty"), dirty=name.endswith("-dirty"))


def _plain(name: str) -> str:
    """Return the name of a machine's part in plain letters, without signs of trademarks."""
    return _shareable(" ".join(re.sub(f"[^{PLAIN_LETTERS}]", " ", name).split()))


def _runs(current: Bundle, reference: Bundle, places: set[str]) -> dict[str, Runs]:
    """Return the runs that the reference has, too, and their agreement, by experiment.

    `places` are those of all differences.
    """
    known = reference.tables[FINGERPRINTS]
    runs = current.tables.get(FINGERPRINTS, known.head(0))
    keys = run_keys(runs)
    if not {*keys} <= {*known}:
        return {}
    both = runs[[*keys, "digest"]].merge(known[[*keys, "digest"]], on=keys, suffixes=("", "_known"))
    found = {}
    for name, rows in both.groupby("experiment", sort=False):
        agreement: Agreement = "within tolerance"
        if rows["digest"].equals(rows["digest_known"]):
            agreement = "bit for bit"
        elif {FINGERPRINTS, f"{FINGERPRINTS}, experiment {name}"} & places:
            agreement = "differ"
        seeds = [int(seed) for seed in rows["seed"]]
        found[str(name)] = Runs(
            seeds=format_seeds(sorted({*seeds})),
            number=len(rows),
            digest=digest(sorted(zip(seeds, rows["digest"], strict=True))),
            agreement=agreement,
        )
    return found


def _shareable(text: str) -> str:
    """Return a text in one line, or words that say why a receipt must not hold it."""
    line = "".join(letter if letter.isprintable() else " " for letter in text)[:LONGEST_TEXT]
    try:
        names_folder = FOLDER_NAME.search(WEB_ADDRESS.sub("", line))
        return LEFT_OUT if names_folder else refuse_unreadable(line)
    except ValueError:
        return LEFT_OUT
