"""Write the index of the site: every paper of the project, and how far its abstract holds."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from replication.base.stamp import stamped
from replication.base.storage import write_atomically
from replication.judge.abstract import (
    MARKS,
    REST_OPEN,
    MarkedSentence,
    count_marks,
    decided_sentences,
    sentences_by_version,
)
from replication.judge.scorecard import read_verdict
from replication.judge.verdicts import Verdict
from replication.plan.cost import cost_in_words, cost_of_study
from replication.plan.jobs import Jobs
from replication.plan.steps import Step
from replication.plan.times import Records
from replication.report.shown import (
    INDEX,
    Picture,
    Site,
    folder_of,
    picture_path,
    plan_again,
    read_picture,
)
from replication.report.site import (
    asset,
    known_verdicts,
    page_environment,
    registry_of,
    site_links,
)
from replication.study.registry import SCORECARD, Mark, Registry
from replication.study.studies import find_studies


class ListedStudy(NamedTuple):
    """A study of a paper, as the index lists it."""

    name: str
    """Name of the study."""
    title: str
    """Title of the study."""
    page: str
    """Link to the study's page; empty if the page is not made."""
    command: str
    """Command that makes the page."""
    cost: str
    """Time and memory of all jobs of the study, in words."""


class ListedPaper(NamedTuple):
    """A paper, as the index lists it."""

    registry: Registry
    """Registry of the study that has the abstract."""
    marks: dict[str, dict[Mark, int]]
    """Number of sentences by version of the abstract and mark."""
    abstracts: dict[str, list[MarkedSentence]]
    """Sentences with their marks by version of the abstract; of later versions the new ones."""
    studies: list[ListedStudy]
    """Studies of the paper."""
    picture: Picture | None
    """Picture of the scorecard; none if its page is not made."""


def render_index(
    root: Path,
    jobs: Jobs,
    site: Site,
    verdicts: Mapping[str, Mapping[str, Verdict]],
    pictures: Mapping[str, Path],
) -> str:
    """Return the index as HTML.

    Verdicts are by study and claim; those of other studies are their references'. Pictures are
    those of scorecards, by study.

    Raises:
        InputError: if a picture cannot be read.
    """
    registries = {name: registry_of(study) for name, study in find_studies().items()}
    judged = {name: verdicts.get(name) or known_verdicts(root, name) for name in registries}
    elsewhere = decided_sentences((registries[name], judged[name]) for name in registries)
    records = Records.of(study.study for study in jobs.studies.values())
    papers = []
    for names in _studies_by_paper(registries):
        first = names[0]
        paper = registries[first], judged[first], elsewhere
        studies = [
            ListedStudy(
                name,
                registries[name].title,
                site.link(name) if name in site.pages else "",
                site.command.format(name),
                cost_in_words(cost_of_study(jobs, name, records)),
            )
            for name in names
        ]
        papers.append(
            ListedPaper(
                registries[first],
                count_marks(*paper) if judged[first] else {},
                sentences_by_version(*paper) if judged[first] else {},
                studies,
                read_picture(pictures[first], first) if first in pictures else None,
            )
        )
    return (
        page_environment()
        .get_template("index.html")
        .render(
            papers=papers,
            marks=MARKS,
            rest_open=REST_OPEN,
            links=site_links(site),
            here="",
            index=site.index,
            style=asset("style.css"),
            script="",
        )
    )


def _studies_by_paper(registries: Mapping[str, Registry]) -> list[list[str]]:
    """Return the names of the studies of each paper, first of one that has the abstract.

    A study without an address is a paper of its own, behind the others.
    """
    papers: dict[str, list[str]] = {}
    for name, registry in sorted(
        registries.items(), key=lambda item: (not item[1].abstracts, not item[1].url)
    ):
        papers.setdefault(registry.url or name, []).append(name)
    return list(papers.values())


def write_index_of_run(step: Step) -> None:
    """Write the index of a run, after everything was read."""
    facts, folder = step.facts, folder_of(step)
    jobs = plan_again(facts)
    studies = {name: jobs.studies[name] for name in facts["pages"]}
    verdicts = {
        name: {claim: read_verdict(folder / path) for claim, path in study.files.verdicts.items()}
        for name, study in studies.items()
    }
    pictures = {
        name: folder / picture_path(study, SCORECARD)
        for name, study in studies.items()
        if SCORECARD in study.figures
    }
    site = Site(facts["pages"], INDEX)
    html = render_index(Path(facts["root"]), jobs, site, verdicts, pictures)
    whole = stamped(html.encode(), ".html", step.key)
    write_atomically(step.file, lambda stream: stream.write(whole))
