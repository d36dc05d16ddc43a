"""Write the page that shows every claim of a paper with its verdict and its evidence."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from replication.base.errors import InputError
from replication.base.project import UNKNOWN, read_citation_file, why_unknown
from replication.base.storage import FOLDER_MARK, write_csv, write_stamped, write_text
from replication.bundle.computed import read_finished
from replication.judge.abstract import decided_sentences, sentences_by_version
from replication.plan.steps import Step
from replication.report.claims import claim_views
from replication.report.explorer import explorer
from replication.report.figures import Shown, show_figure
from replication.report.prose import findings
from replication.report.site import (
    Site,
    asset,
    cost_of,
    folder_of,
    known_verdicts,
    page_environment,
    plan_again,
    registry_of,
    studies_of_paper,
)
from replication.verify.receipts import COLUMNS, reproductions

KINDS = {".svg", ".png", ".csv"}
"""Endings of the files in a page's folder."""
COMPARISONS = "all-comparisons.csv"
"""Name of the table of all comparisons, which no figure can have."""


def render(shown: Shown, cost: str, site: Site, origin: Mapping[str, str], root: Path) -> str:
    """Return the page as HTML: the same text for the same arguments on the same machine.

    `origin` has the `commit`, the `configuration`, its `digest`, and the `command` that rebuilds
    the page. Raises an `InputError` if a figure has no texts, or some that cite a missing value.
    """
    study, verdicts = shown.study, shown.bundle.verdicts
    name, settings = study.study.name, study.settings.model_dump(mode="json")
    figures = {figure: show_figure(shown, figure, settings) for figure in study.figures}
    environment = page_environment()
    tables = {figure: shown.folder / study.table(figure) for figure in figures}
    added = explorer(name, settings, tables, environment)
    related = {each.name: registry_of(each.name) for each in studies_of_paper(name)}
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
        claims=claim_views(study, verdicts),
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
        for path in shown.files:
            shutil.copyfile(path, folder / path.name)
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
    write_page(step.file, shown, render(shown, cost_of(jobs, name), site, origin, root), step.key)
