"""The second reference of a study: claims that a run at the paper's scale has judged.

It may hold a part of the claims, by fewer seeds than their tests need.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from replication.bundle.bundle import PAPER_SCALE, Bundle, read_unchanged, reference_folder
from replication.bundle.judged import judged_otherwise
from replication.judge.abstract import joint_mark
from replication.judge.verdicts import short_verdict
from replication.plan.configuration import Computation
from replication.plan.jobs import differing_keys
from replication.plan.study_jobs import StudyJobs
from replication.plan.study_settings import paper_scale
from replication.study.contract import StudySettings
from replication.study.studies import Study

SEED_KEYS = {"seed", "seeds", "first", "count"}
"""Keys of settings that choose seeds."""
SCALE = "at the paper's scale"


def is_paper_scale(study: Study, settings: StudySettings) -> bool:
    """Say whether settings are those of the study's `paper_scale.yaml`, in all except seeds."""
    if not (paper := paper_scale(study, Computation())):
        return False
    now, papers = (each.model_dump(mode="json") for each in (settings, paper.section(study.name)))
    return all(SEED_KEYS & {*key.split(" > ")} for key, *_ in differing_keys(now, papers, ""))


def with_paper_scale(root: Path) -> Callable[[StudyJobs], StudyJobs]:
    """Return a function that adds verdicts at the paper's scale to the registry of a study.

    It adds nothing without a second reference in the project, and to a run at that scale.
    """

    def add(study: StudyJobs) -> StudyJobs:
        folder = reference_folder(root, study.study.name) / PAPER_SCALE
        if not folder.is_dir() or is_paper_scale(study.study, study.settings):
            return study
        told = verdicts_in_words(judged_at_paper_scale(study), read_unchanged(folder))
        return replace(study, registry=study.registry.model_copy(update={"at_paper_scale": told}))

    return add


def judged_at_paper_scale(study: StudyJobs) -> StudyJobs:
    """Return the study with the claims and the rules that its `paper_scale.yaml` has."""
    if not (paper := paper_scale(study.study, Computation())):
        return study
    section = paper.section(study.study.name)
    left_out = {number: None for number, claim in section.claims.items() if claim is None}
    registry = study.registry.with_own(left_out, study.study.call_optional("counted", section))
    return replace(study, registry=registry)


def verdicts_in_words(study: StudyJobs, reference: Bundle) -> dict[str, str]:
    """Return verdicts by number of the claim, and marks by words of the sentence.

    Claims that today's registry judges by another test are left out, and sentences that need one
    that is not there.
    """
    other = judged_otherwise(study, reference)
    judged = {
        claim: verdict
        for claim, verdict in reference.verdicts.items()
        if claim in study.claims and claim not in other
    }
    told = {
        claim: f"{SCALE}{f', {verdict.seeds} seeds' * (verdict.seeds > 0)}:"
        f" {short_verdict(verdict)}, {verdict.summary}"
        for claim, verdict in judged.items()
    }
    for sentence in study.registry.sentences_with_marks:
        needed = [claim for claim in sentence.claims if claim in study.claims]
        if needed and not sentence.mark and all(claim in judged for claim in needed):
            mark = joint_mark([judged[claim].verdict for claim in needed])
            told[sentence.words] = f"{SCALE}: {mark}"
    return told
