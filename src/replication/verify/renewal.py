"""Renew a reference as far as its study is computed here, and judge all of it anew.

What is computed here replaces what the reference has of it. The rest stays, provided that its
settings are still those that it was made with; otherwise the renewal is refused, as nothing is
known of it. Where a change of settings or code changes no number, new digests are enough.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import pandas as pd

from replication.base.errors import InputError
from replication.plan.study_jobs import StudyJobs
from replication.verify.collect import expected, families
from replication.verify.comparison import missing
from replication.verify.reference import (
    EVIDENCE,
    FINGERPRINTS,
    Reference,
    figure_path,
    judge_again,
)

NAMED = 5
"""Parts that a sentence names."""
IN_PART = ", in part "
"""Between the processors of a reference that was made on several, and between versions."""
KINDS = ("figure", "claim", "experiment")
"""Of parts, in the manifest's settings `claim T1`, `experiment main`, `figure fig2`."""
ROWS = {"claim": EVIDENCE, "experiment": FINGERPRINTS}
"""Table by kind of the parts that have rows of one, in a column named like the kind."""


class Part(NamedTuple):
    """Of a reference."""

    kind: str
    """One of `KINDS`."""
    name: str
    """Of the claim, the experiment or the figure."""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class Renewal(NamedTuple):
    """A reference that was renewed."""

    reference: Reference
    """The new one."""
    renewed: list[Part]
    """The parts that are computed here."""


def renew(study: StudyJobs, found: Reference, kept: Reference) -> Renewal:
    """Return a reference with what is computed here in place of what it has of it.

    Args:
        study: whose reference it is.
        found: what is computed here; what it depends on holds for all of the new reference.
        kept: the reference that is there.

    Raises:
        InputError: if a part is not computed here and has other settings than in the reference, or
            is not in it.
    """
    now, before = (_settings(each) for each in (found, kept))
    here, there = ({*_computed(study, each)} for each in (found, kept))
    renewed = [part for part in now if part in here]
    unknown = [
        part
        for part in now
        if part not in here and (now[part] != before.get(part) or part not in there)
    ]
    if unknown:
        raise InputError(
            f"{_named(unknown)}: not computed here, and not in the reference with"
            " these settings; compute it with Snakemake, then renew"
        )
    sides = {part: found if part in here else kept for part in now}
    tables = {name: _rows(kind, name, sides, kept) for kind, name in ROWS.items()}
    for figure in study.figures:
        path = figure_path(figure)
        tables[path] = sides[Part("figure", figure)].tables[path]
    judged = judge_again(tables[EVIDENCE], families(study), study.registry.beside)
    unmeasured = kept.verdicts | found.verdicts
    verdicts = {claim: judged.get(claim) or unmeasured[claim] for claim in study.claims}
    machine = _machine(found, kept) if renewed else kept.depends["machine"]
    depends = found.depends | {"machine": machine}
    return Renewal(Reference(tables, verdicts, depends), renewed)


def restamp(study: StudyJobs, depends: Mapping[str, dict[str, str]], kept: Reference) -> Reference:
    """Return a reference with the digests of settings and code of now; nothing is computed.

    Its numbers and its machine stay, and all of it is judged anew. Whoever asks for it answers for
    it that the numbers would come out the same.

    Args:
        study: whose reference it is.
        depends: what its numbers depend on now.
        kept: the reference that is there.

    Raises:
        InputError: if it lacks a table, a run or the evidence of a claim that the study has now.
    """
    lacking = [each.quantity for each in missing("reference", kept, expected(study))]
    if lacking:
        raise InputError(
            f"{_named(lacking)}: not in the reference, and nothing is computed here; compute it"
            " with Snakemake, then renew the reference with --partly"
        )
    stamped = replace(kept, depends={**depends, "machine": kept.depends["machine"]})
    return renew(study, Reference({}, {}, stamped.depends), stamped).reference


def _named(parts: Sequence[object]) -> str:
    more = f" and {len(parts) - NAMED} more" if len(parts) > NAMED else ""
    return ", ".join(map(str, parts[:NAMED])) + more


def _settings(reference: Reference) -> dict[Part, str]:
    """Digests of the settings of all parts."""
    found = ((Part(*what.split()), each) for what, each in reference.depends["settings"].items())
    return {part: each for part, each in found if part.kind in KINDS}


def _machine(found: Reference, kept: Reference) -> dict[str, str]:
    """Where a reference was made: of what differs both, so that bits are asked of neither."""
    machines = dict(kept.depends["machine"])
    for kind, mine in found.depends["machine"].items():
        known = machines.get(kind, mine).split(IN_PART)
        machines[kind] = IN_PART.join(dict.fromkeys([*known, mine]))
    return machines


def _computed(study: StudyJobs, found: Reference) -> Iterator[Part]:
    """The parts that a reference has."""
    for kind, name in ROWS.items():
        if name in found.tables:
            yield from (Part(kind, part) for part in found.tables[name][kind].unique())
    for claim, verdict in found.verdicts.items():
        if not verdict.comparisons:
            yield Part("claim", claim)
    for name in study.figures:
        if figure_path(name) in found.tables:
            yield Part("figure", name)


def _rows(kind: str, name: str, sides: Mapping[Part, Reference], kept: Reference) -> pd.DataFrame:
    """The rows of all parts of a kind, each from where it comes, in the study's order."""
    tables = [
        (part.name, side.tables.get(name)) for part, side in sides.items() if part.kind == kind
    ]
    rows = [table[table[kind] == part] for part, table in tables if table is not None]
    together = pd.concat([kept.tables[name].head(0), *rows], ignore_index=True)
    return together.astype(dict.fromkeys(together.select_dtypes("float32"), "float64"))
