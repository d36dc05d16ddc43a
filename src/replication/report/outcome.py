"""The outcome of a run in a few lines: verdicts, and our numbers beside the paper's."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path

from replication.base.errors import InputError
from replication.base.tables import read_csv
from replication.judge.scorecard import read_verdict
from replication.judge.verdicts import OUTCOMES, Verdict
from replication.judge.wording import short_verdict
from replication.plan.jobs import Jobs
from replication.plan.study_jobs import StudyJobs
from replication.report.context import figure_of
from replication.report.details import compare_with_paper, published_path
from replication.report.site import known_verdicts

UNREADABLE = "cannot be read"
"""Words for a verdict whose file is missing or damaged."""
MOST_CLAIMS = 8
"""Largest number of claims that are told; the rest are counted."""


def outcome_lines(jobs: Jobs, root: Path, targets: Iterable[str]) -> list[str]:
    """Return what a run says at its end about the figures and verdicts that it was asked for.

    Args:
        jobs: table of jobs, whose files lie in the current folder.
        root: the project's folder, which keeps the references.
        targets: paths that a user asked for.
    """
    lines: dict[str, None] = {}
    kept = cache(partial(known_verdicts, root))
    scorecards = {study.study.scorecard: study for study in jobs.studies.values()}
    for target in targets:
        below = target.removeprefix("figures/").rpartition(".")[0]
        if target.startswith("figures/") and below in jobs.figures:
            study, name = jobs.figures[below]
            lines |= dict.fromkeys(_figure_lines(jobs, study, name, kept))
        elif target in jobs.steps and jobs.steps[target].stage == "verdict":
            lines[_verdict_line(target)] = None
        elif target in scorecards:
            lines |= dict.fromkeys(_scorecard_lines(scorecards[target]))
    return [*lines]


def _verdict_line(path: str) -> str:
    """Return a verdict in a line, or the reason why it cannot be told."""
    if not Path(path).is_file():
        return f"{path}: is not there; `snakemake {path}` makes it"
    try:
        found = read_verdict(Path(path))
    except InputError as error:
        return error.message
    return f"{found.claim}: {short_verdict(found)}; {found.summary}"


def _scorecard_lines(study: StudyJobs) -> list[str]:
    """Return the verdicts of a study, or the number of each where they are many."""
    paths = map(study.verdict, study.claims)
    if len(study.claims) <= MOST_CLAIMS:
        return [*map(_verdict_line, paths)]
    numbers = Counter(map(_outcome, paths))
    told = ", ".join(f"{numbers[each]} {each}" for each in (*OUTCOMES, UNREADABLE) if numbers[each])
    return [
        f"{study.study.name}: of {len(study.claims)} claims {told}; see {study.study.scorecard}"
    ]


def _outcome(path: str) -> str:
    """Return the verdict in a file in a word."""
    try:
        return read_verdict(Path(path)).verdict
    except InputError:
        return UNREADABLE


def _figure_lines(
    jobs: Jobs, study: StudyJobs, name: str, kept: Callable[[str], Mapping[str, Verdict]]
) -> Iterator[str]:
    """Yield the lines on one figure: the paper's numbers, then the claims that are shown at it.

    `kept` returns the verdicts of a study's reference.
    """
    if published := published_path(study, name):
        ours, columns = read_csv(Path(study.table(name)), ()), study.figures[name].published_columns
        if beside := compare_with_paper(ours, published, columns):
            most = "; ".join(f"{key} by {value:.2g}" for key, value in beside.largest.items())
            yield f"{name} differs from the paper's numbers by at most: {most}"
    kinds = {each: figure.kind for each, figure in study.figures.items()}
    claims = [claim for claim in study.claims.values() if figure_of(claim, kinds) == name]
    paths = {claim.id: Path(study.verdict(claim.id)) for claim in claims}
    judged = {
        claim: read_verdict(path)
        for claim, path in paths.items()
        if path.is_file() and not jobs.is_made_otherwise(str(path), str(path))
    }
    for claim in claims[:MOST_CLAIMS]:
        found = judged.get(claim.id) or kept(study.study.name).get(claim.id)
        where = "" if claim.id in judged else ", in the reference"
        verdict = f"{short_verdict(found)}{where}" if found else "not judged"
        yield f"{claim.id} {verdict}: {claim.statement}"
    if len(claims) > MOST_CLAIMS:
        yield f"{len(claims) - MOST_CLAIMS} more claims rest on {name}"
    if len(judged) < len(claims):
        yield f"`snakemake {study.study.scorecard}` judges the claims here"
