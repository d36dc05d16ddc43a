"""The outcome of a run in a few lines: verdicts, and our numbers beside the paper's."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from replication.base.storage import read_csv
from replication.judge.scorecard import read_verdict
from replication.judge.verdicts import OUTCOMES, short_verdict
from replication.plan.jobs import Jobs
from replication.plan.study_jobs import StudyJobs
from replication.report.site import known_verdicts
from replication.report.views import beside_paper, figure_of

MOST_CLAIMS = 8
"""Largest number of claims that are told one by one; more are counted."""


def outcome_lines(jobs: Jobs, root: Path, targets: Iterable[str]) -> list[str]:
    """Return what a run says at its end about the figures and verdicts that it was asked for.

    The files of `jobs` lie in the current folder; `root` is the project's, with the references.
    """
    lines: dict[str, None] = {}
    for target in targets:
        below = target.removeprefix("figures/").rpartition(".")[0]
        if target.startswith("figures/") and below in jobs.figures:
            study, name = jobs.figures[below]
            claims = study.claims.values()
            own = [each.id for each in claims if figure_of(study, each) == name]
            lines |= dict.fromkeys([*_numbers(study, name), *_verdicts(jobs, root, study, own)])
        for study in jobs.studies.values():
            known = {study.verdict(claim): [claim] for claim in study.claims}
            known[study.study.scorecard] = [*study.claims]
            lines |= dict.fromkeys(_verdicts(jobs, root, study, known.get(target, [])))
    return [*lines]


def _numbers(study: StudyJobs, figure: str) -> Iterator[str]:
    if study.figures[figure].published:
        ours = read_csv(Path(study.table(figure)), ())
        if beside := beside_paper(study, figure, ours):
            most = "; ".join(f"{name} by {value:.2g}" for name, value in beside.largest.items())
            yield f"{figure} differs from the paper's numbers by at most: {most}"


def _verdicts(jobs: Jobs, root: Path, study: StudyJobs, claims: Sequence[str]) -> Iterator[str]:
    """Yield the verdicts on claims, or the number of each where they are many.

    Claims that were not judged here have the verdict of the reference.
    """
    paths = {claim: study.verdict(claim) for claim in claims}
    judged = {
        claim: read_verdict(Path(path))
        for claim, path in paths.items()
        if Path(path).is_file() and not jobs.is_made_otherwise(path)
    }
    kept = known_verdicts(root, study.study.name) if judged.keys() < {*claims} else {}
    found = {claim: judged.get(claim) or kept.get(claim) for claim in claims}
    if len(claims) > MOST_CLAIMS:
        numbers = Counter(each.verdict for each in found.values() if each)
        told = ", ".join(f"{numbers[each]} {each}" for each in OUTCOMES if numbers[each])
        yield f"{study.study.name}: of {len(claims)} claims {told}; see {study.study.scorecard}"
    else:
        for claim, each in found.items():
            where = "" if claim in judged else ", in the reference"
            verdict = f"{short_verdict(each)}{where}" if each else "not judged"
            yield f"{claim} {verdict}: {study.claims[claim].statement}"
    if len(judged) < len(claims):
        yield f"`snakemake {study.study.scorecard}` judges the claims here"
