"""Renew a reference as far as its study is computed here, and judge all of it anew.

Parts that are computed here replace those of the reference. The other parts stay if their settings
are still those of the reference; otherwise the renewal is refused, as their numbers are unknown.
Where a change of settings or code changes no number, new digests are enough.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import pandas as pd

from replication.base.errors import InputError
from replication.bundle.bundle import EVIDENCE, FINGERPRINTS, Bundle, figure_path
from replication.bundle.computed import expected_bundle
from replication.bundle.judged import judge_again, tests_by_family
from replication.plan.study_jobs import StudyJobs
from replication.verify.comparison import missing_parts

MOST_NAMED = 5
"""Largest number of parts that a sentence names."""
MACHINE_SEPARATOR = ", in part "
"""Separator of the processors, or versions, of a reference that was made on several machines."""
PART_KINDS = ("figure", "claim", "experiment")
"""Kinds of parts, in the manifest's settings `claim T1`, `experiment main`, `figure fig2`."""
WORDS = ("statement", "expected")
"""Words of a claim that a figure's table may have, beside a column `claim`, by their attribute."""
TABLES_BY_KIND = {"claim": EVIDENCE, "experiment": FINGERPRINTS}
"""Tables that hold parts as rows, by kind; a column with the kind's name has the part's name."""


class Part(NamedTuple):
    """A part of a reference."""

    kind: str
    """Kind of the part, one of `PART_KINDS`."""
    name: str
    """Name of the claim, the experiment or the figure."""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class Renewal(NamedTuple):
    """A reference that was renewed."""

    reference: Bundle
    """Reference with the renewed parts."""
    renewed: list[Part]
    """Parts that are computed here."""


def renew_reference(
    study: StudyJobs, found: Bundle, kept: Bundle, *, is_part: bool = False
) -> Renewal:
    """Return a reference in which parts that are computed here replace those that it has.

    Args:
        study: the study of the reference.
        found: results that are computed here; the new reference has their digests of code.
        kept: the present reference.
        is_part: whether the reference may lack parts, as a second one may.

    Raises:
        InputError: if a part is not computed here and has other settings than in the reference, or
            is not in it.
    """
    now, before = (_settings_by_part(each) for each in (found, kept))
    here, there = ({*_computed_parts(study, each)} for each in (found, kept))
    if is_part:
        now = {part: each for part, each in now.items() if part in here | there}
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
    tables = {name: _rows_of_kind(kind, name, sides, kept) for kind, name in TABLES_BY_KIND.items()}
    for part, side in sides.items():
        if part.kind == "figure":
            path = figure_path(part.name)
            tables[path] = _with_todays_words(study, side.tables[path])
    judged = judge_again(tables[EVIDENCE], tests_by_family(study), study.registry.beside)
    unmeasured = kept.verdicts | found.verdicts
    verdicts = {
        claim: judged.get(claim) or unmeasured[claim]
        for claim in study.claims
        if Part("claim", claim) in now
    }
    settings = {
        name: each
        for name, each in found.depends["settings"].items()
        if Part(*name.replace("test ", "claim ").split()) in now
    }
    machine = _merged_machine(found, kept) if renewed else kept.depends["machine"]
    depends = found.depends | {"settings": settings, "machine": machine}
    return Renewal(Bundle(tables, verdicts, depends), renewed)


def restamp_reference(
    study: StudyJobs, depends: Mapping[str, dict[str, str]], kept: Bundle
) -> Bundle:
    """Return a reference with today's digests of settings and code; nothing is computed.

    Numbers and machine stay, and all claims are judged anew. The user answers for it that the
    numbers would come out the same.

    Args:
        study: the study of the reference.
        depends: today's digests, as in a manifest.
        kept: the present reference.

    Raises:
        InputError: if it lacks a table, a run or the evidence of a claim that the study has now.
    """
    lacking = [each.quantity for each in missing_parts("reference", kept, expected_bundle(study))]
    if lacking:
        raise InputError(
            f"{_named(lacking)}: not in the reference, and nothing is computed here; compute it"
            " with Snakemake, then renew the reference with --partly"
        )
    stamped = replace(kept, depends={**depends, "machine": kept.depends["machine"]})
    return renew_reference(study, Bundle({}, {}, stamped.depends), stamped).reference


def _named(parts: Sequence[object]) -> str:
    more = f" and {len(parts) - MOST_NAMED} more" if len(parts) > MOST_NAMED else ""
    return ", ".join(map(str, parts[:MOST_NAMED])) + more


def _with_todays_words(study: StudyJobs, table: pd.DataFrame) -> pd.DataFrame:
    """Return a figure's table in which claims have the words of today's registry."""
    if "claim" not in table:
        return table
    words = {
        word: table["claim"].map({name: getattr(each, word) for name, each in study.claims.items()})
        for word in WORDS
        if word in table
    }
    return table.assign(**words)


def _settings_by_part(reference: Bundle) -> dict[Part, str]:
    """Return the digests of the settings of all parts."""
    found = ((Part(*what.split()), each) for what, each in reference.depends["settings"].items())
    return {part: each for part, each in found if part.kind in PART_KINDS}


def _merged_machine(found: Bundle, kept: Bundle) -> dict[str, str]:
    """Return the machine of a reference; two machines are named both, and bits do not count."""
    machines = dict(kept.depends["machine"])
    for kind, mine in found.depends["machine"].items():
        known = machines.get(kind, mine).split(MACHINE_SEPARATOR)
        machines[kind] = MACHINE_SEPARATOR.join(dict.fromkeys([*known, mine]))
    return machines


def _computed_parts(study: StudyJobs, found: Bundle) -> Iterator[Part]:
    """Yield the parts that a reference has."""
    for kind, name in TABLES_BY_KIND.items():
        if name in found.tables:
            yield from (Part(kind, part) for part in found.tables[name][kind].unique())
    for claim, verdict in found.verdicts.items():
        if not verdict.comparisons:
            yield Part("claim", claim)
    for name in study.files.tables:
        if figure_path(name) in found.tables:
            yield Part("figure", name)


def _rows_of_kind(kind: str, name: str, sides: Mapping[Part, Bundle], kept: Bundle) -> pd.DataFrame:
    """Return the rows of all parts of a kind, each from its own side, in the study's order."""
    tables = [
        (part.name, side.tables.get(name)) for part, side in sides.items() if part.kind == kind
    ]
    rows = [table[table[kind] == part] for part, table in tables if table is not None]
    # A table without rows does not say which columns it has.
    known = [] if rows and kept.tables[name].empty else [kept.tables[name].head(0)]
    together = pd.concat([*known, *rows], ignore_index=True)
    return together.astype(dict.fromkeys(together.select_dtypes("float32"), "float64"))
