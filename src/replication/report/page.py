"""Write the page that shows every claim of a paper with its verdict and its evidence."""

from collections import ChainMap, Counter
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TextIO

import click
import pandas as pd
from jinja2 import Environment

from replication.base.commit import UNKNOWN, why_unknown
from replication.base.tables import read_csv
from replication.bundle.machine import machine
from replication.documents.figure_texts import CitedFigure
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
from replication.judge.scorecard import read_verdict
from replication.judge.verdicts import DECISIONS, HOLDING, OUTCOMES, Outcome, Verdict
from replication.plan.times import Records
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
from replication.report.details import compare_with_paper, overlay
from replication.report.explorer import explorer
from replication.report.prose import findings
from replication.report.site import (
    asset,
    page_environment,
    related_pages,
    site_links,
    write_page,
)
from replication.report.sources import (
    FigureSource,
    FigureSources,
    RelatedPage,
    read_numbers,
    read_picture,
    run_time,
)
from replication.study.claims import GROUPS, SHOWN, THEORY
from replication.study.registry import SCORECARD, Registry, read_registry
from replication.study.studies import find_studies
from replication.verify.reproductions import (
    COLUMNS,
    Reproduction,
    reproductions,
    verdicts_of_others,
)

COMPARISONS = "all-comparisons.csv"
"""Name of the table of all comparisons, which no figure can have."""


def render(
    registry: Registry,
    verdicts: dict[Path, Verdict],
    shown: FigureSources,
    verified: list[Reproduction],
    origin: dict[str, str],
    computed_on: dict[str, str],
    root: Path,
) -> str:
    """Return the page as HTML: the same text for the same arguments on the same machine.

    Args:
        registry: the study's.
        verdicts: verdicts on the claims, by path.
        shown: the figures.
        verified: receipts of verifications by others.
        origin: `commit`, `configuration` and its `digest`, `command` that rebuilds the page.
        computed_on: processor, Python and packages by which the results were computed.
        root: the project's folder.

    Raises:
        InputError: if a verdict is missing or without a claim, or a figure cannot be read, has no
            texts, or has some that cite what is not there.
    """
    registry = registry.with_added(*shown.own.added)
    judged = {verdict.claim: verdict for verdict in verdicts.values()}
    made = _made_figures(registry, shown, judged, root)
    labels = {name: figure["text"].label for name, figure in made.items()}
    placed = _claims_at_figures(registry, shown.figures)
    claims = claim_views(placed, list(verdicts.values()), labels)
    environment = page_environment()
    return environment.get_template("page.html").render(
        study=shown.study,
        registry=registry,
        links=site_links(shown.site),
        here=shown.site.link(shown.study),
        index=shown.site.index,
        related=shown.related,
        labels=labels,
        verdict_paths={verdict.claim: path for path, verdict in verdicts.items()},
        verifications=verdicts_of_others(verified),
        **_abstract(registry, judged, shown.related),
        **_what_was_found(shown.study, claims),
        **_figures(registry, shown, made, labels),
        **_claims(shown.study, claims),
        **_verdict_numbers(claims, shown.related),
        **_rerunning(registry, shown),
        **_provenance(registry, verified, origin, computed_on, root),
        **_explorer_and_assets(shown, environment),
    )


def _made_figures(
    registry: Registry, shown: FigureSources, verdicts: dict[str, Verdict], root: Path
) -> dict[str, dict[str, Any]]:
    """Return all drawn figures by name, with their texts, numbers and costs."""
    records = Records.of(find_studies().values())
    return {
        figure.name: _figure(figure, registry, shown, verdicts, root)
        | {"seconds": run_time(figure.benchmarks, records)}
        for figure in shown.figures
    }


def _abstract(
    registry: Registry, verdicts: dict[str, Verdict], related: Sequence[RelatedPage]
) -> dict[str, Any]:
    """Return the abstract with its marks; like the functions below, by name in the page."""
    return {
        "abstracts": sentences_by_version(registry, verdicts),
        "marks": MARKS,
        "rest_open": REST_OPEN,
        "errata_beside": ERRATA_BESIDE,
        "departs_in": DEPARTS_IN,
        "other_scale_words": OTHER_SCALE,
        "departures_in_scale": departures_in_scale,
        "marked_elsewhere": dict(ChainMap(*(other.marks for other in related))),
    }


def _what_was_found(name: str, claims: Sequence[ClaimView]) -> dict[str, Any]:
    """Return what the study's own text says was found."""
    study = find_studies().get(name)
    known = {view.claim.id for view in claims}
    return {"findings": findings(study.readme, known) if study else []}


def _figures(
    registry: Registry,
    shown: FigureSources,
    made: dict[str, dict[str, Any]],
    labels: dict[str, str],
) -> dict[str, Any]:
    """Return the figures in the order of the paper, and those that are missing."""
    return {
        "scorecard": made.get(SCORECARD),
        "figures": [made[name] for name in in_order_of_paper(labels) if name != SCORECARD],
        "missing": [(item, registry.figure_text(item.name, item.kind)) for item in shown.missing],
    }


def _claims(study: str, claims: Sequence[ClaimView]) -> dict[str, Any]:
    """Return the claims, all and in groups, and what their verdicts mean."""
    return {
        "claims": claims,
        "groups": claims_by_place(claims),
        "contested": contested_claims(claims),
        "headlines": headline_claims(claims),
        "comparisons_link": f"{study}/{COMPARISONS}" if any(map(_is_judged, claims)) else "",
        "outcomes": OUTCOMES,
        "decisions": DECISIONS,
        "group_names": GROUPS,
    }


def _rerunning(registry: Registry, shown: FigureSources) -> dict[str, Any]:
    """Return what a reader needs to run the study again: its methods and costs."""
    return {
        "cost": shown.cost,
        "methods": [(each, method_value(each, shown.settings)) for each in registry.methods],
    }


def _provenance(
    registry: Registry,
    verified: Sequence[Reproduction],
    origin: dict[str, str],
    computed_on: dict[str, str],
    root: Path,
) -> dict[str, Any]:
    """Return where the results come from, who reproduced them, and how they are cited."""
    return {
        "columns": COLUMNS,
        "reproductions": [item.row for item in verified],
        "origin": origin,
        "why_unknown": why_unknown(root) if origin["commit"] == UNKNOWN else "",
        "machine": computed_on,
        "cited": read_citation(registry, root),
    }


def _explorer_and_assets(shown: FigureSources, environment: Environment) -> dict[str, Any]:
    """Return the study's explorer, if it has one, and style and script of page and explorer."""
    tables = {figure.name: figure.table for figure in shown.figures}
    added = explorer(shown.study, shown.settings, tables, environment)
    return {
        "explorer": added.panel,
        "style": asset("style.css", added.style),
        "script": asset("script.js", added.script),
    }


def _claims_at_figures(registry: Registry, figures: Sequence[FigureSource]) -> Registry:
    """Return the registry with claims that name the drawn figure that they are shown at."""
    kinds = {each.name: each.kind for each in figures}
    claims = [
        claim.model_copy(update={"figure": figure_of(claim, kinds)}) for claim in registry.claims
    ]
    return registry.model_copy(update={"claims": claims})


def _figure(
    source: FigureSource,
    registry: Registry,
    shown: FigureSources,
    verdicts: dict[str, Verdict],
    root: Path,
) -> dict[str, Any]:
    own = shown.own.texts.get(source.name)
    text = own or registry.figure_text(source.name, source.kind)
    numbers = read_numbers(source.table, source.checksum, shown.study)
    texts = CitedFigure(
        shown.study,
        source.name,
        shown.settings,
        source.n_seeds,
        read_csv(source.table, ()),
        verdicts.get,
        shown.names,
    )
    return {
        "source": source,
        "text": texts.cite(text),
        "is_borrowed": own is None and registry.text_key(source.name, source.kind) != source.name,
        "picture": read_picture(source.picture, shown.study),
        "table": numbers,
        "overlay": overlay(shown.study, shown.settings, source.name, source.experiments),
        "beside": compare_with_paper(source.table, source.published, source.published_columns)
        if source.published
        else None,
        "code": _module_path(source.program, root),
    }


def _module_path(program: str, root: Path) -> str:
    """Return the path of a module in the project; its name if an environment has it."""
    found = find_spec(program) if program else None
    path = Path(found.origin or "").resolve() if found else Path()
    top = root.resolve()
    return path.relative_to(top).as_posix() if path.is_relative_to(top / "src") else program


def _is_judged(view: ClaimView) -> bool:
    return bool(view.verdict.comparisons)


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


def _count_holding(counted: Iterable[dict[int, dict[Outcome, int]]]) -> dict[int, tuple[int, int]]:
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


@click.command(help=__doc__)
@click.option("--registry", "registry_path", required=True, type=click.Path(path_type=Path))
@click.option("--study", required=True, help="Its name.")
@click.option("--root", required=True, type=click.Path(path_type=Path), help="Project's folder.")
@click.option("--figures", required=True, type=click.File(), help="Figures as JSON.")
@click.option("--commit", required=True, help="State of the code, such as git describe prints.")
@click.option("--digest", required=True, help="SHA-256 of the configuration.")
@click.option("--command", required=True, help="What rebuilds the page.")
@click.option("--key", required=True, help="Digest of all that the page is made from.")
@click.option("--output", required=True, type=click.Path(path_type=Path))
@click.argument("verdicts", nargs=-1, type=click.Path(path_type=Path))
def main(
    registry_path: Path,
    study: str,
    root: Path,
    figures: TextIO,
    key: str,
    output: Path,
    verdicts: tuple[Path, ...],
    **origin: str,
) -> None:
    """Write the page and the folder of its figures, after everything was read."""
    registry = read_registry(registry_path)
    shown = FigureSources.parse_json(figures.read(), figures.name)
    read = {path: read_verdict(path) for path in verdicts}
    verified = reproductions(root, study)
    origin["configuration"] = "results/config.yaml"
    shown = shown.model_copy(update={"related": related_pages(root, study, shown.site)})
    html = render(registry, read, shown, verified, origin, machine(), root)
    texts = {COMPARISONS: comparisons_table(read.values())}
    write_page(output, html, shown.files_of_page, texts, key)


if __name__ == "__main__":
    main()
