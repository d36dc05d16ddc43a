"""Bundles judged again from their evidence, by the tests of the registry, and the second reference.

The second reference of a study has claims that a run at the paper's scale has judged. It may hold a
part of the claims, by fewer seeds than their tests need.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from replication.base.errors import InputError
from replication.base.keys import digest
from replication.bundle.bundle import PAPER_SCALE, Bundle, read_unchanged, reference_folder
from replication.judge.abstract import joint_mark
from replication.judge.comparisons import Judged
from replication.judge.judgement import judge
from replication.judge.verdicts import Verdict, short_verdict
from replication.plan.configuration import Computation
from replication.plan.jobs import differing_keys
from replication.plan.study_jobs import StudyJobs
from replication.plan.study_settings import paper_scale
from replication.study.claims import Test

SEED_KEYS = {"seed", "seeds", "first", "count"}
"""Keys of settings that choose seeds."""
SCALE = "at the paper's scale"


def judge_study(study: StudyJobs, evidence: pd.DataFrame) -> dict[str, Verdict]:
    """Return the verdicts that follow from a bundle's evidence by the tests of the registry."""
    families: list[dict[str, Any]] = [
        {name: study.claims[name].test for name in names} for names in study.families
    ]
    return judge_again(evidence, families, study.registry.robustness_cells)


def judge_again(
    evidence: pd.DataFrame, families: Iterable[Mapping[str, Test]], robustness: Sequence[str] = ()
) -> dict[str, Verdict]:
    """Return the verdicts on claims with evidence, by number; a family is corrected together.

    `robustness` has the texts in names of comparisons that do not count.
    """
    own = {
        # All values of a claim are missing if all its trainings diverged.
        claim: table[[name for name in table if name == "value" or table[name].notna().any()]]
        for claim, table in evidence.groupby("claim")
    }
    verdicts: dict[str, Verdict] = {}
    for family in families:
        known = [
            Judged(claim, test, own[claim], robustness)
            for claim, test in family.items()
            if claim in own
        ]
        verdicts |= judge(known)
    return verdicts


def test_digests(study: StudyJobs) -> dict[str, str]:
    """Return a digest of the way in which each claim is judged, by number of the claim."""
    robustness = study.registry.robustness_cells
    return {
        name: digest(
            claim.model_dump(mode="json", include={"test"})
            | {"family": claim.family, "robustness": robustness}
        )
        for name, claim in study.claims.items()
    }


def judged_otherwise(study: StudyJobs, bundle: Bundle) -> list[str]:
    """Return the claims that a bundle judges by another test than the registry's."""
    made = bundle.depends["settings"]
    return [
        claim for claim, now in test_digests(study).items() if made.get(f"test {claim}", now) != now
    ]


def read_judged_reference(root: Path, study: StudyJobs) -> Bundle:
    """Return a reference whose verdicts follow from its evidence by the tests of the registry.

    An `InputError` if it is missing, damaged, changed, or judged by other tests.
    """
    name = study.study.name
    folder = reference_folder(root, name)
    reference = read_unchanged(folder)
    if other := judged_otherwise(study, reference):
        raise InputError(
            f"{folder}: the registry now has another test for {', '.join(other)}; judge again with"
            f" `python -m replication verify --write --restamp --study {name}`"
        )
    return reference


def is_paper_scale(study: StudyJobs) -> bool:
    """Say whether a run has the settings of the study's `paper_scale.yaml`, in all except seeds."""
    if not (paper := paper_scale(study.study, Computation())):
        return False
    whole = (study.settings, paper.section(study.study.name))
    now, papers = (each.model_dump(mode="json") for each in whole)
    return all(SEED_KEYS & {*key.split(" > ")} for key, *_ in differing_keys(now, papers, ""))


def with_paper_scale(root: Path) -> Callable[[StudyJobs], StudyJobs]:
    """Return a function that adds verdicts at the paper's scale to the registry of a study.

    It adds nothing without a second reference in the project, and to a run at that scale.
    """

    def add(study: StudyJobs) -> StudyJobs:
        folder = reference_folder(root, study.study.name) / PAPER_SCALE
        if not folder.is_dir() or is_paper_scale(study):
            return study
        told = verdicts_in_words(judged_at_paper_scale(study), read_unchanged(folder))
        return replace(study, registry=study.registry.model_copy(update={"at_paper_scale": told}))

    return add


def judged_at_paper_scale(study: StudyJobs) -> StudyJobs:
    """Return the study with the claims and the rules that its `paper_scale.yaml` has."""
    paper = paper_scale(study.study, Computation())
    section = paper.section(study.study.name) if paper else study.settings
    left_out = {number: None for number, claim in section.claims.items() if claim is None}
    registry = study.registry.with_own(left_out, study.study.call_optional("counted", section))
    return replace(study, registry=registry)


def verdicts_in_words(study: StudyJobs, reference: Bundle) -> dict[str, str]:
    """Return verdicts by number of the claim, and marks by words of the sentence.

    Claims that today's registry judges by another test are left out, and sentences that need one
    that is not there.
    """
    same = study.claims.keys() - judged_otherwise(study, reference)
    judged = {claim: each for claim, each in reference.verdicts.items() if claim in same}
    told = {
        claim: f"{SCALE}{f', {each.seeds} seeds' * (each.seeds > 0)}:"
        f" {short_verdict(each)}, {each.summary}"
        for claim, each in judged.items()
    }
    for sentence in study.registry.sentences_with_marks:
        needed = [claim for claim in sentence.claims if claim in study.claims]
        if needed and not sentence.mark and judged.keys() >= {*needed}:
            mark = joint_mark([judged[claim].verdict for claim in needed])
            told[sentence.words] = f"{SCALE}: {mark}"
    return told
