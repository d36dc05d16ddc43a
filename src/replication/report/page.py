"""Write the page that shows every claim of a paper with its verdict and its evidence."""

import base64
import hashlib
from pathlib import Path
from typing import NamedTuple

import click
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from replication.registry import Registry, read_registry
from replication.report.commit import UNKNOWN
from replication.report.context import (
    claim_views,
    counts,
    figure_view,
    groups,
    is_erratum,
)
from replication.report.sources import (
    FigureSources,
    read_csv_file,
    read_picture,
    require_texts,
    run_time,
)
from replication.report.typeset import number, typeset, typeset_svg
from replication.storage import write_text
from replication.verification.judgement import Verdict
from replication.verification.machine import machine
from replication.verification.scorecard import read_verdict

TEMPLATES = Path(__file__).parent / "templates"


class Origin(NamedTuple):
    """What the page came from."""

    commit: str
    """State of the code."""
    configuration: str
    """Path of the merged configuration."""
    digest: str
    """SHA-256 of that file."""
    command: str
    """What rebuilds the page."""


def render(
    registry: Registry,
    verdicts: dict[Path, Verdict],
    figures: FigureSources,
    origin: Origin,
    page: Path,
) -> str:
    """The page as HTML: the same text for the same arguments on the same machine.

    Raises:
        InputError: if a verdict is missing or without a claim, or a figure cannot be read.
    """
    claims = claim_views(
        registry, list(verdicts.values()), [figure.name for figure in figures.figures]
    )
    views = [
        figure_view(
            source,
            registry.figures[source.drawing],
            read_picture(source.picture),
            read_csv_file(source.table, page, source.checksum),
            run_time(source.benchmarks),
            claims,
        )
        for source in figures.figures
    ]
    found = counts(claims)
    style, script = (_part(name) for name in ("style.css", "script.js"))
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "typeset": typeset, "typeset_svg": typeset_svg}
    return environment.get_template("page.html").render(
        registry=registry,
        claims=claims,
        counts=found,
        totals={count.outcome: count.number for count in found},
        figures=views,
        groups=groups(claims),
        errata=[view for view in claims if is_erratum(view.claim)],
        verdict_paths={verdict.claim: path for path, verdict in verdicts.items()},
        labels={view.name: view.text.label for view in views},
        origin=origin,
        machine=machine(),
        style=style,
        script=script,
        style_hash=_csp_hash(style),
        script_hash=_csp_hash(script),
    )


def _part(name: str) -> Markup:
    """A file that stands within the page as it is."""
    return Markup((TEMPLATES / name).read_text())


def _csp_hash(text: Markup) -> str:
    """By what the page's security policy recognises its own style or script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@click.command(help=__doc__)
@click.option("--registry", "registry_path", required=True, type=click.Path(path_type=Path))
@click.option("--figures", "figures_text", required=True, help="Figures as JSON.")
@click.option("--commit", default=UNKNOWN, help="State of the code, such as git describe prints.")
@click.option("--configuration", default="results/config.yaml", help="Path of the configuration.")
@click.option("--digest", default=UNKNOWN, help="SHA-256 of the configuration.")
@click.option("--command", default="snakemake report", help="What rebuilds the page.")
@click.option("--output", required=True, type=click.Path(path_type=Path))
@click.argument("verdicts", nargs=-1, type=click.Path(path_type=Path))
def main(
    registry_path: Path,
    figures_text: str,
    commit: str,
    configuration: str,
    digest: str,
    command: str,
    output: Path,
    verdicts: tuple[Path, ...],
) -> None:
    """Read everything, then write the page at once."""
    registry = read_registry(registry_path)
    figures = FigureSources.parse_json(figures_text, "--figures")
    require_texts(figures.figures, registry)
    origin = Origin(commit, configuration, digest, command)
    read = {path: read_verdict(path) for path in verdicts}
    write_text(output, render(registry, read, figures, origin, output))


if __name__ == "__main__":
    main()
