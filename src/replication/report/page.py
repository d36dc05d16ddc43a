"""Write the page that shows every claim of a paper with its verdict and its evidence."""

import re
import shutil
from collections.abc import Container, Mapping
from pathlib import Path

import pandas as pd
from markdown_it import MarkdownIt
from markupsafe import Markup

from replication.base.errors import InputError
from replication.base.project import UNKNOWN, read_citation_file, why_unknown
from replication.base.storage import FOLDER_MARK, write_csv, write_stamped, write_text
from replication.bundle.computed import read_finished
from replication.figures.typeset import typeset
from replication.judge.abstract import decided_sentences, sentences_by_version
from replication.plan.costs import Costs
from replication.plan.steps import Step
from replication.report.explorer import explorer
from replication.report.site import (
    Site,
    asset,
    folder_of,
    known_verdicts,
    page_environment,
    plan_again,
    studies_beside,
)
from replication.report.views import Shown, claim_view, figure_view, picture_path
from replication.verify.receipts import COLUMNS, reproductions

KINDS = {".svg", ".png", ".csv"}
"""Endings of the files in a page's folder."""
COMPARISONS = "all-comparisons.csv"
"""Name of the table of all comparisons, which no figure can have."""
_SECTION = re.compile(r"^## What holds\n(.*?)(?=^## |^\||\Z)", re.DOTALL | re.MULTILINE)
"""Section of a README with the findings, until its first table: paragraphs and pictures."""
_LINK = re.compile(r"\[([^\]]+)\]\(([^()\s]+)\)")
_PARSER = MarkdownIt("zero").enable(["emphasis", "link"])
_PARSER.add_render_rule("text", lambda _, tokens, at, *__: typeset(tokens[at].content))


def render(shown: Shown, cost: str, site: Site, origin: Mapping[str, str], root: Path) -> str:
    """Return the page as HTML: the same text for the same arguments on the same machine.

    `origin` has the `commit`, the `configuration`, its `digest`, and the `command` that rebuilds
    the page. Raises an `InputError` if a figure has no texts, or some that cite a missing value.
    """
    study, verdicts = shown.study, shown.bundle.verdicts
    name, settings = study.study.name, study.settings.model_dump(mode="json")
    figures = {figure: figure_view(shown, figure, settings) for figure in study.figures}
    environment = page_environment()
    tables = {figure: shown.folder / study.table(figure) for figure in figures}
    added = explorer(name, settings, tables, environment)
    related = studies_beside(name)
    elsewhere = decided_sentences(
        (registry, known_verdicts(root, other)) for other, registry in related.items()
    )
    return environment.get_template("page.html").render(
        study=study,
        registry=study.registry,
        labels={name: figure["text"].label for name, figure in figures.items()},
        site=site,
        here=site.link(name),
        related=[(registry.title, site.link(other)) for other, registry in related.items()],
        abstracts=sentences_by_version(study.registry, verdicts),
        marked_elsewhere={words: found.mark for words, found in elsewhere.items()},
        findings=findings(study.study.readme, {claim.id for claim in study.registry.claims}),
        figures=sorted(figures.values(), key=lambda figure: place_in_paper(figure["text"].label)),
        claims=[claim_view(study, each, verdicts.get(each.id)) for each in study.registry.claims],
        comparisons_link=f"{name}/{COMPARISONS}",
        reproductions=[row for _, *row in reproductions(root, name)],
        columns=COLUMNS,
        settings=settings,
        cost=cost,
        origin=origin,
        why_unknown=why_unknown(root) if origin["commit"] == UNKNOWN else "",
        machine=shown.bundle.depends["machine"],
        project=read_citation_file(root),
        explorer=added.panel,
        style=asset("style.css", added.style),
        script=asset("script.js", added.script),
    )


def findings(readme: Path, claims: Container[str]) -> list[Markup]:
    """Return the paragraphs of the section "What holds" of a README; none without such a section.

    Tables, the sentences that lead to them, and all behind them are left out. Links lead to claims
    of the page, given by number, or to the web; of other links, and of pictures, words remain.
    """
    text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    section = _SECTION.search(re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL))
    parts = (" ".join(part.split()) for part in re.split(r"\n\s*\n", section[1] if section else ""))

    def link(match: re.Match[str]) -> str:
        claim = match[2].partition("#")[2]
        if claim in claims:
            return f"[{match[1]}](#claim-{claim})"
        return match[0] if match[2].startswith(("https://", "http://")) else match[1]

    return [
        Markup(_PARSER.renderInline(_LINK.sub(link, part)))
        for part in parts
        if part and part[0] not in "#!" and part[-1] != ":"
    ]


def place_in_paper(label: str) -> tuple[int, int, str]:
    """Return what a figure's label is sorted by: figures, tables, appendix; ours keep their order.

    Labels are such as Figure 2a, Tables 2 and 9, or Figure S.1.
    """
    match = re.match(r"(Figure|Table)s? ([A-Z]\.?)?(\d+)(\w*)", label)
    if not match:
        return 4, 0, ""
    return 2 * bool(match[2]) + (match[1] == "Table"), int(match[3]), match[4]


def refuse_other_files(page: Path) -> Path:
    """Return the folder of a page; refuse it if it has files that no page wrote."""
    folder = page.with_suffix("")
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        if path.suffix not in KINDS and path.name != FOLDER_MARK:
            raise InputError(
                f"{path}: is not part of a page, and {folder} will be overwritten;"
                " move the file, or choose another folder"
            )
    return folder


def write_page(page: Path, shown: Shown, html: str, key: str = "") -> None:
    """Write a page, and beside it a folder of its pictures and tables, and nothing else in it.

    One table has all comparisons. Without a key the page has no stamp.
    """
    folder = refuse_other_files(page)
    rows = [
        {"claim": verdict.claim, **item.model_dump()}
        for verdict in shown.bundle.verdicts.values()
        for item in verdict.comparisons
    ]
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name in shown.study.figures:
            for path in (picture_path(shown.study, name), shown.study.table(name)):
                shutil.copyfile(shown.folder / path, folder / Path(path).name)
    except OSError as error:
        raise InputError(
            f"{folder}: cannot be written ({error.strerror or error}); make room or allow writing"
            " there, then run the same command again"
        ) from error
    write_csv(folder / COMPARISONS, pd.DataFrame(rows))
    if key:
        write_stamped(page, html.encode(), key)
    else:
        write_text(page, html)


def write_page_of_run(step: Step) -> None:
    """Write the page of a study of a run."""
    facts, name = step.facts, step.facts["study"]
    root, folder = Path(facts["root"]), folder_of(step)
    site = Site(facts["pages"], facts["index"])
    origin = {
        "commit": facts["commit"],
        "digest": facts["digest"],
        "configuration": "results/config.yaml",
        "command": site.command.format(name),
    }
    jobs = plan_again(facts, name)
    shown = Shown(jobs.studies[name], read_finished(jobs.studies[name], folder), folder)
    html = render(shown, Costs(jobs).in_words(name), site, origin, root)
    write_page(step.file, shown, html, step.key)
