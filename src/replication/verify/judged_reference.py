"""The reference as other rooms read it: unchanged, and judged by the tests of the registry."""

from pathlib import Path

from replication.base.errors import InputError
from replication.base.provenance import digest
from replication.plan.study_jobs import StudyJobs
from replication.verify.reference import Reference, read_unchanged, reference_folder


def test_digests(study: StudyJobs) -> dict[str, str]:
    """Return a digest of the way in which each claim is judged, by number of the claim."""
    beside = study.registry.beside
    return {
        name: digest(
            claim.model_dump(mode="json", include={"test"})
            | {"family": claim.family, "robustness": beside}
        )
        for name, claim in study.claims.items()
    }


def read_judged_reference(root: Path, study: StudyJobs) -> Reference:
    """Read a reference whose verdicts follow from its evidence by the tests of the registry.

    Args:
        root: folder of the project.
        study: the study, with its registry.

    Raises:
        InputError: if it is missing, damaged, changed, or judged by other tests.
    """
    name = study.study.name
    folder = reference_folder(root, name)
    reference = read_unchanged(folder)
    made = reference.depends["settings"]
    other = [
        claim for claim, now in test_digests(study).items() if made.get(f"test {claim}", now) != now
    ]
    if other:
        raise InputError(
            f"{folder}: the registry now has another test for {', '.join(other)}; judge again with"
            f" `python -m replication verify --write --restamp --study {name}`"
        )
    return reference
