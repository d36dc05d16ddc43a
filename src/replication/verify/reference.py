"""Keep the results of a study as its reference: all of them, or those of some parts.

Every part comes from the results here or from the reference; all claims are judged anew.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import pandas as pd

from replication.base.errors import InputError
from replication.bundle.bundle import (
    EVIDENCE,
    PAPER_SCALE,
    Bundle,
    combine,
    read_unchanged,
    reference_folder,
    write_bundle,
)
from replication.bundle.computed import dependencies, due_runs, read_computed, settings_digests
from replication.bundle.judged import is_paper_scale, judge_study
from replication.judge.scorecard import refuse_wrong_tables
from replication.plan.jobs import Jobs, refuse_other_settings
from replication.plan.study_jobs import StudyJobs
from replication.study.studies import Study
from replication.verify.comparison import missing_parts

MACHINE_SEPARATOR = ", in part "
"""Separator of the processors, or versions, of a reference that was made on several machines."""
MOST_NAMED = 5
"""Largest number of parts that a sentence names."""
WORDS = ("statement", "expected")
"""Words of a claim that a figure's table may have, beside a column `claim`, by their attribute."""
MARK = re.compile(r"\bTODO(?:\([^)]*\))?:(.*)")
"""Pattern of a mark of what is still to be written, with the words that say it."""
SUFFIXES = (".md", ".py", ".yaml", ".yml")
"""Endings of the files that people write."""


@dataclass(frozen=True)
class Project:
    """A project, and the jobs of its results and of its references."""

    root: Path
    """Folder of the Snakefile and of the references."""
    jobs: Jobs
    """Table of jobs of the results."""
    default: Jobs
    """Table of jobs of the references."""

    def is_default(self, study: str) -> bool:
        """Say whether the settings of a study are those of its reference."""
        now, default = (settings_digests(jobs, study) for jobs in (self.jobs, self.default))
        return now == default

    def reference_folder(self, study: str) -> Path:
        """Return the folder of the reference that results belong to, the second at its scale."""
        folder, parts = reference_folder(self.root, study), self.jobs.studies[study]
        is_second = is_paper_scale(parts) and not self.is_default(study)
        return folder / PAPER_SCALE if is_second else folder


def write_reference(project: Project, name: str, *, partly: bool, restamp: bool) -> None:
    """Write the results of a study in the current folder as its reference.

    Results of its `paper_scale.yaml`, with any seeds, become the second reference, which may lack
    parts. `partly` keeps parts that are not computed, if their settings are those of today;
    `restamp` keeps all of them, and the user answers for it that they would come out the same. An
    `InputError` names parts that are missing, or says why the results cannot be kept.
    """
    study = project.jobs.studies[name]
    refuse_marks(study.study)
    folder = project.reference_folder(name)
    is_second = folder.name == PAPER_SCALE
    if not (is_second or project.is_default(name)):
        raise InputError(
            "only results of the default configuration become the reference; leave out overlays"
            " except the study's paper_scale.yaml, whose results become the second reference"
        )
    if is_second:
        refuse_other_settings(project.jobs, [name])
    kept = Bundle()
    if restamp or (partly and (folder.is_dir() or not is_second)):
        kept = read_unchanged(folder)
    if restamp:
        found = Bundle(depends=dependencies(project.jobs, name))
    else:
        found, refused = read_computed(project.jobs, name, Path())
        for reason in refused.values():
            if not partly:
                raise InputError(reason)
            click.echo(f"Kept as it was: {reason}")
    merged = merge_bundles(study, found, kept, trusted=restamp, is_part=is_second and partly)
    refuse_wrong_tables(study.registry, merged.verdicts.values())
    if not merged.verdicts:
        raise InputError(f"{name}: no verdict is computed here; compute one with Snakemake first")
    write_bundle(folder, merged)
    other = [claim for claim, said in merged.verdicts.items() if said != kept.verdicts.get(claim)]
    click.echo(
        f"Computed here: {_named(found.parts) or 'nothing'}. All claims were judged anew; changed"
        f" verdicts: {', '.join(other) or 'none'}. The reference is kept in {folder}"
    )


def merge_bundles(
    study: StudyJobs, found: Bundle, kept: Bundle, *, trusted: bool = False, is_part: bool = False
) -> Bundle:
    """Return a reference in which parts that are computed here replace those that are kept.

    It has today's digests, and all of its claims are judged anew. An `InputError` names parts that
    are on neither side, or kept with other settings, unless these are `trusted` to change no
    number. With `is_part` the reference may lack parts.
    """
    now, before = found.depends["settings"], kept.depends["settings"]
    here, there = {*found.parts}, {*kept.parts}
    parts = [part for part in now if not part.startswith("test ")]
    if is_part:
        parts = [part for part in parts if part in here | there]
    known = there if trusted else {part for part in there if now.get(part) == before.get(part)}
    lacking = [part for part in parts if part not in here | known]
    if trusted:
        lacking = [each.quantity for each in missing_parts("", kept, parts, due_runs(study))]
    if lacking:
        raise InputError(
            f"{_named(lacking)}: not computed here, and not in the reference with these settings;"
            f" run `snakemake reference --config study={study.study.name}`, or compute what lacks"
            " and keep the rest with `--write --partly`"
        )
    sides = {part: found if part in here else kept for part in parts}
    tables = {
        path: _with_todays_words(study, table) for path, table in combine(sides, kept).items()
    }
    verdicts = {each.claim: each for side in (kept, found) for each in side.unmeasured}
    verdicts |= judge_study(study, tables[EVIDENCE])
    claims = {part.partition(" ")[2] for part in parts if part.startswith("claim ")}
    settings = {
        name: each for name, each in now.items() if name.replace("test ", "claim ") in sides
    }
    machine = _merged_machine(found, kept) if here & {*parts} else kept.depends["machine"]
    return Bundle(
        tables,
        {claim: verdicts[claim] for claim in study.claims if claim in claims},
        found.depends | {"settings": settings, "machine": machine},
    )


def refuse_marks(study: Study) -> None:
    """Refuse a study with marks `TODO:` or `TODO(me):` in its folder or its README, one a line."""
    found = []
    files = {path for path in study.folder.rglob("*") if path.suffix in SUFFIXES}
    for path in sorted(filter(Path.is_file, {*files, study.readme})):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        for number, line in enumerate(lines, start=1):
            if mark := MARK.search(line):
                words = mark[1].strip(" \"'.")
                found.append(f"{os.path.relpath(path)}, line {number}: {words}")
    if found:
        raise InputError(
            "\n".join(["no reference is kept before these marks are replaced:", *found])
        )


def _named(parts: Sequence[str]) -> str:
    more = f" and {len(parts) - MOST_NAMED} more" if len(parts) > MOST_NAMED else ""
    return ", ".join(parts[:MOST_NAMED]) + more


def _with_todays_words(study: StudyJobs, table: pd.DataFrame) -> pd.DataFrame:
    """Return a figure's table in which claims have the words of today's registry."""
    words = {
        word: table["claim"].map({name: getattr(each, word) for name, each in study.claims.items()})
        for word in WORDS
        if {word, "claim"} <= {*table}
    }
    return table.assign(**words)


def _merged_machine(found: Bundle, kept: Bundle) -> dict[str, str]:
    """Return the machine of a reference; two machines are named both, and bits do not count."""
    machines: Mapping[str, str] = kept.depends["machine"]
    merged = {}
    for kind, mine in found.depends["machine"].items():
        known = machines.get(kind, mine).split(MACHINE_SEPARATOR)
        merged[kind] = MACHINE_SEPARATOR.join(dict.fromkeys([*known, mine]))
    return {**machines, **merged}
