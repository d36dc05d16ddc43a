"""Write the page that shows every claim of a paper with its verdict and its evidence."""

from collections import ChainMap, Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from replication.base.commit import UNKNOWN, why_unknown
from replication.bundle.bundle import figure_path
from replication.documents.methods import method_value
from replication.judge.abstract import (
    DEPARTS_IN,
    ERRATA_BESIDE,
    MARKS,
    OTHER_SCALE,
    REST_OPEN,
    departures_in_scale,
    sentences_by_version,
)
from replication.judge.verdicts import DECISIONS, HOLDING, OUTCOMES, Outcome, Verdict
from replication.plan.steps import Step
from replication.report.citing import read_citation
from replication.report.context import (
    ClaimView,
    claim_views,
    claims_by_place,
    contested_claims,
    figure_of,
    headline_claims,
    in_order_of_paper,
    verdict_counts,
)
from replication.report.details import compare_with_paper, overlay, published_path
from replication.report.explorer import explorer
from replication.report.prose import findings
from replication.report.shown import (
    RelatedPage,
    ShownFigure,
    ShownStudy,
    Site,
    folder_of,
    plan_again,
    read_picture,
    show_run,
)
from replication.report.site import (
    asset,
    page_environment,
    related_pages,
    site_links,
    write_page,
)
from replication.study.claims import GROUPS, SHOWN, THEORY
from replication.study.registry import SCORECARD, Registry
from replication.verify.receipts import COLUMNS, reproductions

COMPARISONS = "all-comparisons.csv"
"""Name of the table of all comparisons, which no figure can have."""


def render(shown: ShownStudy, origin: Mapping[str, str], root: Path) -> str:
    """Return the page as HTML: the same text for the same arguments on the same machine.

    `origin` has the `commit`, the `configuration`, its `digest`, and the `command` that rebuilds
    the page.

    Raises:
        InputError: if a verdict is missing or without a claim, or a figure cannot be read, has no
            texts, or has some that cite a value that is not there.
    """
    study, name = shown.study, shown.study.study.name
    registry, verdicts = study.registry, shown.bundle.verdicts
    settings = study.settings.model_dump(mode="json")
    made = {each.name: _figure(each, shown, settings, root) for each in shown.figures}
    labels = {figure: each["text"].label for figure, each in made.items()}
    claims = claim_views(_claims_at_figures(shown), list(verdicts.values()), labels)
    environment = page_environment()
    tables = {figure.name: figure.table for figure in shown.figures}
    added = explorer(name, settings, tables, environment)
    return environment.get_template("page.html").render(
        study=name,
        registry=registry,
        links=site_links(shown.site),
        here=shown.site.link(name),
        index=shown.site.index,
        related=shown.related,
        labels=labels,
        verdict_paths={claim: study.verdict(claim) for claim in verdicts},
        # The abstract with its marks.
        abstracts=sentences_by_version(registry, verdicts),
        marks=MARKS,
        rest_open=REST_OPEN,
        errata_beside=ERRATA_BESIDE,
        departs_in=DEPARTS_IN,
        other_scale_words=OTHER_SCALE,
        departures_in_scale=departures_in_scale,
        marked_elsewhere=dict(ChainMap(*(dict(other.marks) for other in shown.related))),
        findings=findings(study.study.readme, {view.claim.id for view in claims}),
        # Figures in the order of the paper, and those that are missing.
        scorecard=made.get(SCORECARD),
        figures=[made[each] for each in in_order_of_paper(labels) if each != SCORECARD],
        missing=[(each, why, shown.text(each)) for each, why in shown.missing.items()],
        # Claims, all and in groups, and the meaning of their verdicts.
        claims=claims,
        groups=claims_by_place(claims),
        contested=contested_claims(claims),
        headlines=headline_claims(claims),
        comparisons_link=f"{name}/{COMPARISONS}" if comparisons_table(verdicts.values()) else "",
        outcomes=OUTCOMES,
        decisions=DECISIONS,
        group_names=GROUPS,
        **_verdict_numbers(claims, shown.related),
        # How a reader runs the study again.
        cost=shown.cost,
        methods=[(each, method_value(each, settings)) for each in registry.methods],
        columns=COLUMNS,
        reproductions=[row for _, *row in reproductions(root, name)],
        origin=origin,
        why_unknown=why_unknown(root) if origin["commit"] == UNKNOWN else "",
        machine=shown.bundle.depends["machine"],
        cited=read_citation(registry, root),
        explorer=added.panel,
        style=asset("style.css", added.style),
        script=asset("script.js", added.script),
    )


def _claims_at_figures(shown: ShownStudy) -> Registry:
    """Return the registry with claims that name the drawn figure that they are shown at."""
    kinds = {each.name: shown.study.figures[each.name].kind for each in shown.figures}
    registry = shown.study.registry
    claims = [
        claim.model_copy(update={"figure": figure_of(claim, kinds)}) for claim in registry.claims
    ]
    return registry.model_copy(update={"claims": claims})


def _figure(
    source: ShownFigure, shown: ShownStudy, settings: dict[str, Any], root: Path
) -> dict[str, Any]:
    """Return a drawn figure with its texts, its numbers and their origin, as templates call it."""
    study, name = shown.study, source.name
    figure, numbers = study.figures[name], shown.bundle.tables[figure_path(name)]
    published, columns = published_path(study, name), list(figure.published_columns)
    is_own = name in study.settings.texts
    experiments = [experiment for experiment, _ in figure.sources()]
    return {
        "name": name,
        "command": f"snakemake {study.table(name).removesuffix('csv')}pdf",
        "text": shown.cited(name),
        "is_borrowed": not is_own and study.registry.text_key(name, figure.kind) != name,
        "picture": read_picture(source.picture, study.study.name),
        "table": {
            "name": source.table.name,
            "link": f"{study.study.name}/{source.table.name}",
            "rows": len(numbers),
            "columns": list(map(str, numbers)),
        },
        "overlay": overlay(study.study.name, settings, name, experiments),
        "beside": compare_with_paper(numbers, published, columns) if published else None,
        "code": _module_path(type(figure).__module__, root),
        "seconds": source.seconds,
    }


def _module_path(program: str, root: Path) -> str:
    """Return the path of a module in the project; its name if an environment has it."""
    found = find_spec(program)
    path = Path(found.origin or "").resolve() if found else Path()
    top = root.resolve()
    return path.relative_to(top).as_posix() if path.is_relative_to(top / "src") else program


def comparisons_table(verdicts: Iterable[Verdict]) -> str:
    """Return all comparisons of claims as CSV; empty if there are none."""
    rows = [
        {"claim": verdict.claim, **item.model_dump()}
        for verdict in verdicts
        for item in verdict.comparisons
    ]
    return pd.DataFrame(rows).to_csv(index=False, lineterminator="\n") if rows else ""


def _verdict_numbers(claims: Sequence[ClaimView], related: Sequence[RelatedPage]) -> dict[str, Any]:
    """Return the numbers of verdicts, of this page and the paper's others, by name in the page."""
    own_counts = verdict_counts(claims)
    totals = Counter(view.verdict.verdict for view in claims if view.claim.kind != "own")
    elsewhere: Counter[tuple[int, Outcome]] = Counter()
    others = [other.counts for other in related]
    for about, row in (pair for other in others for pair in other.items()):
        totals.update(row)
        elsewhere.update({(about, name): number for name, number in row.items() if number})
    return {
        "counts": own_counts,
        "totals": totals,
        "elsewhere_counts": elsewhere,
        "holding": _count_holding([own_counts, *others]),
    }


def _count_holding(
    counted: Iterable[Mapping[int, Mapping[Outcome, int]]],
) -> dict[int, tuple[int, int]]:
    """Return how many of the paper's claims hold, and how many there are, by place in `GROUPS`."""
    found = [(about, row) for each in counted for about, row in each.items()]
    return {
        about: (
            sum(row[name] for each, row in found if each == about for name in HOLDING),
            sum(sum(row.values()) for each, row in found if each == about),
        )
        for about in (GROUPS.index(SHOWN), GROUPS.index(THEORY))
        if any(each == about for each, _ in found)
    }


def write_shown(page: Path, shown: ShownStudy, html: str, key: str | None = None) -> None:
    """Write the rendered page of a study, and the folder of its figures; see `write_page`."""
    files = {path.name: path for each in shown.figures for path in (each.picture, each.table)}
    texts = {COMPARISONS: comparisons_table(shown.bundle.verdicts.values())}
    write_page(page, html, files, texts, key)


def write_page_of_run(step: Step) -> None:
    """Write the page of a study of a run."""
    facts, study = step.facts, step.facts["study"]
    root, site = Path(facts["root"]), Site(facts["pages"], facts["index"])
    shown = show_run(plan_again(facts, study), study, folder_of(step), site)
    shown = shown._replace(related=related_pages(root, study, site))
    origin = {
        "commit": facts["commit"],
        "digest": facts["digest"],
        "configuration": "results/config.yaml",
        "command": site.command.format(study),
    }
    write_shown(step.file, shown, render(shown, origin, root), step.key)
