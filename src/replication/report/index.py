"""Write the index of the site: every paper of the project, and how far its abstract holds."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, TextIO

import click

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
from replication.report.site import (
    asset,
    known_verdicts,
    page_environment,
    registry_of,
    site_links,
)
from replication.report.sources import IndexSources, Picture, read_picture
from replication.study.registry import Mark, Registry
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
    root: Path, sources: IndexSources, verdicts: Mapping[str, Mapping[str, Verdict]]
) -> str:
    """Return the index as HTML.

    Args:
        root: the project's folder.
        sources: all studies.
        verdicts: verdicts by study and claim; those of other studies are their references'.

    Raises:
        InputError: if a picture cannot be read.
    """
    registries = {name: registry_of(study) for name, study in find_studies().items()}
    judged = {name: verdicts.get(name) or known_verdicts(root, name) for name in registries}
    elsewhere = decided_sentences((registries[name], judged[name]) for name in registries)
    papers = []
    for names in _studies_by_paper(registries):
        first = names[0]
        picture = sources.pictures.get(first)
        paper = registries[first], judged[first], elsewhere
        papers.append(
            ListedPaper(
                registries[first],
                count_marks(*paper) if judged[first] else {},
                sentences_by_version(*paper) if judged[first] else {},
                [_listed(name, registries[name], sources) for name in names],
                read_picture(picture, first) if picture else None,
            )
        )
    return (
        page_environment()
        .get_template("index.html")
        .render(
            papers=papers,
            marks=MARKS,
            rest_open=REST_OPEN,
            links=site_links(sources.site),
            here="",
            index=sources.site.index,
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


def _listed(name: str, registry: Registry, sources: IndexSources) -> ListedStudy:
    return ListedStudy(
        name,
        registry.title,
        sources.site.link(name) if name in sources.site.pages else "",
        sources.site.command.format(name),
        sources.costs[name],
    )


@click.command(help=__doc__)
@click.option("--root", required=True, type=click.Path(path_type=Path), help="Project's folder.")
@click.option("--studies", required=True, type=click.File(), help="Studies as JSON.")
@click.option("--key", required=True, help="Digest of all that the index is made from.")
@click.option("--output", required=True, type=click.Path(path_type=Path))
def main(root: Path, studies: TextIO, key: str, output: Path) -> None:
    """Write the index, after everything was read."""
    sources = IndexSources.parse_json(studies.read(), studies.name)
    read = {
        name: {verdict.claim: verdict for verdict in map(read_verdict, paths)}
        for name, paths in sources.verdicts.items()
    }
    whole = stamped(render_index(root, sources, read).encode(), ".html", key)
    write_atomically(output, lambda stream: stream.write(whole))


if __name__ == "__main__":
    main()
