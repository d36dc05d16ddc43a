"""Write pages without computing anything: `python -m replication report --reference`.

They are those of all studies that have a reference, or of the studies that are named. From what a
run has computed `snakemake report` makes the same pages.
"""

import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from tqdm import tqdm

from replication.base.errors import InputError
from replication.base.project import commit_name
from replication.base.storage import checksum, write_csv, write_text
from replication.bundle.bundle import Bundle, figure_path, reference_folder
from replication.bundle.judged import read_judged_reference, with_paper_scale
from replication.judge.abstract import decided_sentences
from replication.judge.scorecard_figure import table_of_verdicts
from replication.plan.configuration import configure
from replication.plan.costs import Costs
from replication.plan.jobs import Jobs
from replication.plan.steps import Step
from replication.report.page import refuse_other_files, render, write_page
from replication.report.site import INDEX, Site, registry_of, render_index
from replication.report.views import Shown, picture_path
from replication.run.stages import make_output
from replication.study.registry import SCORECARD
from replication.study.studies import find_studies

COMMAND = "python -m replication report --reference {}"


@click.command(help=__doc__)
@click.option("--reference", is_flag=True, required=True, help="From results/reference/, in git.")
@click.option(
    "--root", type=click.Path(path_type=Path, exists=True, file_okay=False), default=Path(),
    help="Project's folder.",
)  # fmt: skip
@click.option(
    "--output", type=click.Path(path_type=Path), default=Path("results/pages"),
    show_default=True, help="Folder of the pages.",
)  # fmt: skip
@click.argument("studies", nargs=-1)
def main(reference: bool, root: Path, output: Path, studies: tuple[str, ...]) -> None:
    """Write the pages, and print their paths."""
    known = [*find_studies()]
    kept = [name for name in known if reference_folder(root, name).is_dir()]
    # Without any reference the first study's page says so.
    for page in write_site(root, [*studies] or kept or known, output):
        click.echo(page)


def write_site(root: Path, studies: list[str], output: Path) -> list[Path]:
    """Write the pages of studies from their references, and the index; return the pages' paths.

    All pages are written, or none. Raises an `InputError` if a study is unknown, a reference is
    missing, changed, or lacks a figure or a claim, or a folder has files that no page wrote.
    """
    jobs = Jobs.of(configure({}, find_studies()), find_studies(), with_paper_scale(root))
    names = jobs.selected_studies(studies)
    bundles = _read_references(root, jobs, names)
    pages = {name: output / f"{name}.html" for name in names}
    for page in pages.values():
        refuse_other_files(page)
    site, costs, texts = Site(names, INDEX, COMMAND), Costs(jobs), {}
    origin = {
        "commit": commit_name(root),
        "configuration": "the study's defaults",
        "digest": jobs.configuration.digest,
    }
    with TemporaryDirectory() as folder:
        shown = {n: Shown(jobs.studies[n], bundles[n], Path(folder)) for n in names}
        draw_all([one for each in shown.values() for one in _drawings(jobs, each)])
        for name, each in shown.items():
            made = origin | {"command": COMMAND.format(name)}
            texts[name] = render(each, costs.in_words(name), site, made, root)
        for name, page in pages.items():
            write_page(page, shown[name], texts[name])
    verdicts = {name: bundle.verdicts for name, bundle in bundles.items()}
    write_text(output / INDEX, render_index(root, jobs, site, verdicts))
    return [*pages.values()]


def _read_references(root: Path, jobs: Jobs, names: Sequence[str]) -> dict[str, Bundle]:
    """Return the references of studies, with tables of scorecards, which follow from verdicts."""
    bundles = {name: read_judged_reference(root, jobs.studies[name]) for name in names}
    for name, bundle in bundles.items():
        files = jobs.studies[name].files
        missing = [claim for claim in files.verdicts if claim not in bundle.verdicts]
        missing += [each for each in files.tables if figure_path(each) not in bundle.tables]
        if missing:
            raise InputError(
                f"{reference_folder(root, name)}: has nothing of {', '.join(missing)}; restore it"
                f" with git, or `snakemake reference --config study={name}` renews it"
            )
    # Without departures of jobs from the paper's settings.
    registries = {
        name: registry_of(name).model_copy(
            update={"at_paper_scale": jobs.studies[name].registry.at_paper_scale}
        )
        for name in names
    }
    decided = decided_sentences((registries[name], bundles[name].verdicts) for name in names)
    for name, bundle in bundles.items():
        if SCORECARD in jobs.studies[name].figures:
            made = table_of_verdicts(registries[name], bundle.verdicts, decided)
            bundle.tables[figure_path(SCORECARD)] = made
    return bundles


def _drawings(jobs: Jobs, shown: Shown) -> list[Step]:
    """Put the tables of a reference into a folder, as a run does; return what draws them there."""
    study, drawings = shown.study, []
    for figure in study.figures:
        table = shown.folder / study.table(figure)
        checked = table.with_suffix(".sha256")
        write_csv(table, shown.bundle.tables[figure_path(figure)])
        write_text(checked, checksum(table))
        job = study.table(figure).removesuffix(".csv")
        published = [each.path for each in jobs.steps[job].of_role("published")]
        picture = shown.folder / picture_path(study, figure)
        drawings.append(jobs.ready(job, [str(picture)], [str(table), str(checked), *published]))
    return drawings


def draw_all(drawings: Sequence[Step]) -> None:
    """Draw figures, on as many cores as there are."""
    # Processes are started anew: one with threads, as NumPy has, cannot be forked safely.
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        drawn = pool.map(make_output, drawings)
        list(tqdm(drawn, total=len(drawings), unit="figure", file=sys.stderr, disable=None))
