"""Bundles judged again from their evidence, by the tests of the registry."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from replication.base.errors import InputError
from replication.base.keys import digest
from replication.bundle.bundle import Bundle, read_unchanged, reference_folder
from replication.judge.comparisons import Judged
from replication.judge.judgement import judge
from replication.judge.verdicts import Verdict
from replication.plan.study_jobs import StudyJobs
from replication.study.claims import Test


def judge_study(study: StudyJobs, evidence: pd.DataFrame) -> dict[str, Verdict]:
    """Return the verdicts that follow from a bundle's evidence by the tests of the registry."""
    families: list[dict[str, Any]] = [
        {name: study.claims[name].test for name in names} for names in study.families
    ]
    return judge_again(evidence, families, study.registry.robustness_cells)


def judge_again(
    evidence: pd.DataFrame, families: Iterable[Mapping[str, Test]], robustness: Sequence[str] = ()
) -> dict[str, Verdict]:
    """Return the verdicts that follow from a bundle's evidence, by number of the claim.

    Claims without evidence are left out. Tests of one family are corrected together; `robustness`
    has the texts in names of comparisons that do not count.
    """
    own = {
        # All values of a claim are missing if all its trainings diverged.
        claim: table.drop(
            columns=[name for name in table if name != "value" and table[name].isna().all()]
        )
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
