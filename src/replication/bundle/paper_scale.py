"""The second reference of a study: claims that a run at the paper's scale has judged.

It may hold a part of the claims, by fewer seeds than their tests need. Where it is shown, claims
whose tests have changed are judged anew.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pandas as pd

from replication.bundle.bundle import (
    EVIDENCE,
    PAPER_SCALE,
    Bundle,
    read_unchanged,
    reference_folder,
)
from replication.bundle.judged import judge_again, test_digests, tests_by_family
from replication.judge.abstract import joint_mark
from replication.judge.comparisons import sample_sizes
from replication.judge.verdicts import Verdict
from replication.judge.wording import estimate_in_words, least_favourable, short_verdict
from replication.plan.configuration import Computation
from replication.plan.other_settings import differing_keys
from replication.plan.study_jobs import StudyJobs
from replication.plan.study_settings import paper_scale
from replication.study.contract import StudySettings
from replication.study.registry import Sentence
from replication.study.studies import Study

SEED_KEYS = {"seed", "seeds", "first", "count"}
"""Keys of settings that choose seeds."""


def is_paper_scale(study: Study, settings: StudySettings) -> bool:
    """Say whether settings are those of the study's `paper_scale.yaml`, in all except seeds."""
    if not (paper := paper_scale(study, Computation())):
        return False
    now, papers = (each.model_dump(mode="json") for each in (settings, paper.section(study.name)))
    return all(SEED_KEYS & {*key.split(" > ")} for key, *_ in differing_keys(now, papers, ""))


def with_paper_scale(root: Path) -> Callable[[StudyJobs], StudyJobs]:
    """Return a function that adds verdicts at the paper's scale to the registry of a study.

    It adds nothing without a second reference, and to a run that is at the paper's scale itself.

    Args:
        root: the project's folder.
    """

    def add(study: StudyJobs) -> StudyJobs:
        folder = reference_folder(root, study.study.name) / PAPER_SCALE
        if not folder.is_dir() or is_paper_scale(study.study, study.settings):
            return study
        told = verdicts_in_words(judged_at_paper_scale(study), read_unchanged(folder))
        registry = study.registry
        return replace(
            study, registry=registry.with_added({}, registry.departures, at_paper_scale=told)
        )

    return add


def judged_at_paper_scale(study: StudyJobs) -> StudyJobs:
    """Return the study with the claims and the rules that its `paper_scale.yaml` has."""
    if not (paper := paper_scale(study.study, Computation())):
        return study
    section = paper.section(study.study.name)
    left_out = {number: None for number, claim in section.claims.items() if claim is None}
    registry = study.registry.with_added(
        left_out, study.registry.departures, study.study.counted(section)
    )
    return replace(study, registry=registry)


def verdicts_in_words(study: StudyJobs, reference: Bundle) -> dict[str, str]:
    """Return verdicts by number of the claim, and marks by words of the sentence.

    Args:
        study: the study, with today's tests.
        reference: its second reference.
    """
    evidence, robustness = reference.tables[EVIDENCE], study.registry.beside
    judged, tests = reference.verdicts, test_digests(study)
    made = reference.depends["settings"]
    # To judge takes seconds, and every run of Snakemake reads this.
    if any(made.get(f"test {claim}") != tests.get(claim) for claim in judged):
        again = judge_again(evidence, tests_by_family(study), robustness)
        judged = {name: again.get(name, each) for name, each in judged.items() if name in tests}
    own = {claim: evidence[evidence["claim"] == claim] for claim in judged}
    seeds = {claim: judged[claim].seeds or _number_of_seeds(own[claim]) for claim in judged}
    told = {
        claim: f"{_at_paper_scale([seeds[claim]])}: {short_verdict(verdict)},"
        f" {_estimate(verdict, own[claim], robustness)}"
        for claim, verdict in judged.items()
    }
    for sentence in study.registry.sentences_with_marks:
        there = [claim for claim in sentence.claims if claim in judged and not sentence.mark]
        if there:
            mark = _mark(sentence, judged, study)
            told[sentence.words] = f"{_at_paper_scale([seeds[each] for each in there])}: {mark}"
    return told


def _at_paper_scale(seeds: list[int]) -> str:
    """Return the name of the scale, with the least and the largest number of seeds."""
    numbers = sorted({number for number in seeds if number})
    if not numbers:
        return "at the paper's scale"
    several = f"{numbers[0]} to " * (len(numbers) > 1)
    return f"at the paper's scale, {several}{numbers[-1]} seed{'s' * (numbers[-1] > 1)}"


def _mark(sentence: Sentence, judged: Mapping[str, Verdict], study: StudyJobs) -> str:
    """Return the mark of a sentence; if a claim that decides it lacks, the verdicts on the rest."""
    if all(claim in judged for claim in sentence.claims if claim in study.claims):
        found = (judged.get(claim) for claim in sentence.claims)
        return joint_mark([each.verdict if each else "not tested" for each in found])
    there = [judged[claim] for claim in sentence.claims if claim in judged]
    named = ", ".join(f"{each.claim} ({short_verdict(each)})" for each in there)
    return f"no mark, as only {named} {'is' if len(there) == 1 else 'are'} judged"


def _number_of_seeds(evidence: pd.DataFrame) -> int:
    """Return the number of seeds, of the smaller of two samples; 0 for the theory."""
    return min(sample_sizes(evidence.dropna(axis="columns", how="all")), default=0)


def _estimate(verdict: Verdict, evidence: pd.DataFrame, robustness: list[str]) -> str:
    """Return the estimate that speaks most against a claim, or why there is none.

    One seed makes no comparisons: its values are the estimates.
    """
    if counted := verdict.counted:
        which = "least favourable " * (len(counted) > 1)
        return f"{which}estimate {estimate_in_words(least_favourable(counted), '{:.3g}'.format)}"
    is_counted = [not any(text in cell for text in robustness) for cell in evidence["cell"]]
    values = evidence["value"].loc[is_counted].dropna()
    has_samples = evidence["sample"].notna().any()
    if _number_of_seeds(evidence) != 1 or has_samples or values.empty:
        return verdict.summary
    if len(values) == 1:
        return f"estimate {values.iloc[0]:.3g}"
    return f"estimates {values.min():.3g} to {values.max():.3g} in {len(values)} comparisons"
