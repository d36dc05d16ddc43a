"""Write the index of the site: every paper of the project, and how far its abstract holds."""

from collections.abc import Mapping
from pathlib import Path

from replication.base.storage import write_stamped
from replication.judge.abstract import count_marks, decided_sentences, sentences_by_version
from replication.judge.scorecard import read_verdict
from replication.judge.verdicts import Verdict
from replication.plan.jobs import Jobs
from replication.plan.steps import Step
from replication.report.site import (
    INDEX,
    Site,
    asset,
    cost_of,
    folder_of,
    known_verdicts,
    page_environment,
    plan_again,
    registry_of,
)
from replication.study.registry import SCORECARD
from replication.study.studies import find_studies


def render_index(
    root: Path, jobs: Jobs, site: Site, verdicts: Mapping[str, Mapping[str, Verdict]]
) -> str:
    """Return the index as HTML.

    Verdicts are by study and claim; those of other studies are their references'.
    """
    registries = {name: registry_of(name) for name in find_studies()}
    judged = {name: verdicts.get(name) or known_verdicts(root, name) for name in registries}
    elsewhere = decided_sentences((registries[name], judged[name]) for name in registries)
    # Of a paper with several studies the one that has the abstract comes first.
    papers: dict[str, list[str]] = {}
    for name, registry in sorted(
        registries.items(), key=lambda item: (not item[1].abstracts, not item[1].url)
    ):
        papers.setdefault(registry.url or name, []).append(name)
    told = []
    for first, *others in papers.values():
        paper = registries[first], judged[first], elsewhere
        told.append(
            {
                "registry": registries[first],
                "marks": count_marks(*paper) if judged[first] else {},
                "abstracts": sentences_by_version(*paper) if judged[first] else {},
                "has_picture": first in site.pages and SCORECARD in jobs.studies[first].figures,
                "studies": [
                    {"name": name, "title": registries[name].title, "cost": cost_of(jobs, name)}
                    for name in (first, *others)
                ],
            }
        )
    template = page_environment().get_template("index.html")
    return template.render(papers=told, site=site, here="", style=asset("style.css"), script="")


def write_index_of_run(step: Step) -> None:
    """Write the index of a run, after everything was read."""
    facts, folder = step.facts, folder_of(step)
    jobs = plan_again(facts)
    verdicts = {
        name: {
            claim: read_verdict(folder / path)
            for claim, path in jobs.studies[name].files.verdicts.items()
        }
        for name in facts["pages"]
    }
    html = render_index(Path(facts["root"]), jobs, Site(facts["pages"], INDEX), verdicts)
    write_stamped(step.file, html.encode(), step.key)
