"""The site: what its pages share, and the index of all papers, which says how far each holds."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from replication.base.errors import InputError
from replication.base.project import name_author
from replication.base.storage import write_stamped
from replication.bundle.bundle import read_verdicts, reference_folder
from replication.bundle.judged import with_paper_scale
from replication.documents.methods import method_value
from replication.figures.typeset import number, typeset
from replication.judge import abstract, verdicts
from replication.judge.abstract import count_marks, decided_sentences, sentences_by_version
from replication.judge.scorecard import read_verdict
from replication.judge.verdicts import Verdict
from replication.plan.configuration import Configuration, configuration_type
from replication.plan.costs import Costs
from replication.plan.jobs import Jobs
from replication.plan.steps import Step
from replication.study.claims import GROUPS
from replication.study.registry import SCORECARD, Registry, read_registry, without_latex
from replication.study.studies import find_studies

TEMPLATES = Path(__file__).parent / "templates"
INDEX = "index.html"
"""Name of the page that lists all papers."""


@dataclass(frozen=True)
class Site:
    """The pages that are made together: of some studies, and the index unless its link is empty."""

    pages: Sequence[str] = ()
    index: str = ""
    command: str = "snakemake results/report/{}.html"
    """Command that makes the page of a study; `{}` stands for its name."""

    def link(self, study: str) -> str:
        """Return the link to a study: to its page, or its place in the index, or none."""
        if study in self.pages:
            return f"{study}.html"
        return f"{self.index}#{study}" if self.index else ""

    @property
    def links(self) -> list[tuple[str, str]]:
        """Name of every study of the project, and the link to it; papers come first."""
        names = sorted(find_studies(), key=lambda name: not registry_of(name).url)
        return [(name.replace("_", " "), self.link(name)) for name in names]


@cache
def page_environment() -> Environment:
    """Return the templates of the site, with their filters; each is compiled once."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "GROUPS": GROUPS,
        "marking": abstract,
        "number": number,
        "judging": verdicts,
        "policy_hash": policy_hash,
    }
    environment.filters |= {
        "author": name_author,
        "method_value": method_value,
        "number": number,
        "plain": without_latex,
        "typeset": typeset,
    }
    return environment


def policy_hash(text: Markup) -> str:
    """Return the hash by which a page's security policy knows its own style or script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def asset(name: str, added: str = "") -> Markup:
    """Return a style or script of the site, by the name of its file, with what a page adds."""
    return Markup((TEMPLATES / name).read_text(encoding="utf-8") + added)


def registry_of(study: str) -> Registry:
    """Return the registry of a study, by its name."""
    return read_registry(find_studies()[study].folder / "registry.yaml")


def studies_beside(study: str) -> dict[str, Registry]:
    """Return the registries of the other studies of a study's paper, by name."""
    registries = {name: registry_of(name) for name in find_studies()}
    own = registries.pop(study, None)
    url = own.url if own else None
    return {name: each for name, each in registries.items() if url and each.url == url}


def known_verdicts(root: Path, study: str) -> dict[str, Verdict]:
    """Return the verdicts of a study's reference; none if there is no whole reference."""
    try:
        return read_verdicts(reference_folder(root, study))
    except InputError:
        return {}


def plan_again(facts: Mapping[str, Any], *names: str) -> Jobs:
    """Return the table of jobs of some studies, of all if none is named.

    `facts` has the `configuration` of a run, and the `root` of the project.
    """
    found = find_studies()
    studies = {name: found[name] for name in names or found}
    parts = {name: facts["configuration"][name] for name in (*Configuration.model_fields, *studies)}
    configuration = configuration_type(studies).parse(parts, "configuration")
    return Jobs.of(configuration, studies, with_paper_scale(Path(facts["root"])))


def folder_of(step: Step) -> Path:
    """Return the folder in which a storage provider has put the files of a step, or this one."""
    return Path(step.inputs[0].path.removesuffix(step.facts["first"]))


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
    costs, told = Costs(jobs), []
    for first, *others in papers.values():
        paper = registries[first], judged[first], elsewhere
        told.append(
            {
                "registry": registries[first],
                "marks": count_marks(*paper) if judged[first] else {},
                "abstracts": sentences_by_version(*paper) if judged[first] else {},
                "has_picture": first in site.pages and SCORECARD in jobs.studies[first].figures,
                "studies": [
                    {"name": name, "title": registries[name].title, "cost": costs.in_words(name)}
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
