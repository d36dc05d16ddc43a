"""Draw the references of two checkouts of this project, old beside new, on one page.

Nothing is computed: a figure is a function of its table, and the tables are in the reference. Each
checkout draws with its own code and configuration.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import click
import jinja2

from replication.base.errors import InputError
from replication.base.storage import write_text
from replication.bundle.bundle import find_references, reference_folder
from replication.plan.stale_files import checksum, checksum_file
from replication.verify.changed_numbers import CHECKOUT

_PRINT_FIGURE_FOLDERS = """
import json
from replication.study.studies import find_studies
print(json.dumps({name: study.figures for name, study in find_studies().items()}))
"""
"""Program that prints the folder of figures of every study of a checkout."""

_PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Figures before and after</title>
<style>
body { font: 15px sans-serif; margin: 2em; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 1em; align-items: start; }
img { width: 100%; border: 1px solid #ccc; }
</style>
<h1>Figures before and after</h1>
<p>{{ pairs | selectattr("differs") | list | length }} of {{ pairs | length }} figures changed.</p>
{% for pair in pairs | sort(attribute="differs", reverse=true) %}
<h2 id="{{ pair.name }}">{{ pair.name }}: {{ "changed" if pair.differs else "the same" }}</h2>
<div class="pair">
{% for side, path in (("before", pair.before), ("after", pair.after)) %}
<figure>
<figcaption>{{ side }}</figcaption>
{% if path %}
<img src="{{ path.relative_to(folder) }}" alt="{{ pair.name }} {{ side }}">
{% else %}none{% endif %}
</figure>
{% endfor %}
</div>
{% endfor %}
"""


class Pair(NamedTuple):
    """One figure, old and new."""

    name: str
    """Path of the figure below `figures/`, without ending."""
    before: Path | None
    """Path of the old picture; none if there was no such figure."""
    after: Path | None
    """Path of the new picture; none if there is no such figure."""

    @property
    def differs(self) -> bool:
        """True if a byte of the picture differs."""
        before, after = (path and path.read_bytes() for path in (self.before, self.after))
        return before != after


def draw_references(root: Path, folder: Path) -> dict[str, Path]:
    """Draw every figure of a checkout's references.

    Args:
        root: folder of the Snakefile.
        folder: where to draw; an empty one.

    Returns:
        Pictures by path below `figures/`, without ending.

    Raises:
        InputError: if there is nothing to draw, or Snakemake fails; it has said why.
    """
    names = find_references(root)
    if not names:
        raise InputError(f"{root}: has no reference; run `snakemake reference` there first")
    folders = json.loads(_run_python(root, "-c", _PRINT_FIGURE_FOLDERS, stdout=subprocess.PIPE))
    tables = {
        f"{folders[name]}/{table.stem}": table
        for name in names
        if name in folders
        for table in sorted((reference_folder(root, name) / "figures").glob("*.csv"))
    }
    for figure, table in tables.items():
        copy = folder / f"{figure}.csv"
        write_text(copy, table.read_text(encoding="utf-8"))
        write_text(folder / checksum_file(Path(f"{figure}.csv")), checksum(copy))
    # The tables are given: nothing but what draws them may run.
    _run_python(
        root, "-m", "snakemake", *(f"{figure}.png" for figure in tables),
        "--directory", str(folder), "--snakefile", str(root.resolve() / "Snakefile"),
        "--cores", "all", "--quiet", "progress", "--allowed-rules", "figure",
    )  # fmt: skip
    return {figure.removeprefix("figures/"): folder / f"{figure}.png" for figure in tables}


@click.command(help=__doc__)
@click.option("--before", required=True, type=CHECKOUT, help="Old checkout.")
@click.option("--after", required=True, type=CHECKOUT, help="New checkout.")
@click.option("--output", required=True, type=click.Path(path_type=Path), help="New folder.")
def main(before: Path, after: Path, output: Path) -> None:
    """Write `index.html` and the pictures that it shows."""
    if output.exists():
        raise InputError(f"{output}: is there already; delete it or name another folder")
    old, new = draw_references(before, output / "before"), draw_references(after, output / "after")
    pairs = [Pair(name, old.get(name), new.get(name)) for name in sorted(old | new)]
    page = jinja2.Environment(autoescape=True).from_string(_PAGE)
    write_text(output / "index.html", page.render(pairs=pairs, folder=output))


def _run_python(root: Path, *arguments: str, stdout: int | None = None) -> str:
    """Run Python with a checkout's own code, and return its output if `stdout` is a pipe."""
    environment = os.environ | {"PYTHONPATH": str(root.resolve() / "src")}
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, stdout=stdout, encoding="utf-8", check=False
    )
    if done.returncode:
        raise InputError(f"{root}: its figures cannot be drawn, see above")
    return done.stdout
