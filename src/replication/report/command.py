"""Write pages without computing anything: `python -m replication report --reference`.

They are those of all studies that have a reference, or of the studies that are named. From what a
run has computed `snakemake report` makes the same pages.
"""

from pathlib import Path

import click

from replication.base.errors import InputError
from replication.base.strict import unknown_key
from replication.study.studies import find_studies


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
    from replication.bundle.bundle import reference_folder
    from replication.report.from_reference import write_pages

    known = find_studies()
    for name in studies:
        if name not in known:
            raise InputError(unknown_key(name, list(known), "study", "studies"))
    kept = [name for name in known if reference_folder(root, name).is_dir()]
    # Without any reference the first study's page says so.
    names = [*studies] or kept or [*known]
    made = write_pages(root, known, list(dict.fromkeys(names)), output)
    for page in made:
        click.echo(page)
    if missing := [f"{page}: {why}" for page, each in made.items() for why in each.values()]:
        raise InputError(f"{len(missing)} figure(s) could not be drawn: {'; '.join(missing)}")
