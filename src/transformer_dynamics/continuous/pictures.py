"""Draw the locked numbers of two checkouts of this project, old beside new, on one page.

Nothing is computed: a figure is a function of its table, and the tables are in the lock. Each
checkout draws with its own code and configuration.
"""

import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import click
import jinja2

from transformer_dynamics.errors import InputError
from transformer_dynamics.scan_and_snap.parts import PARTS
from transformer_dynamics.storage import write_atomically, write_text

DRAWING = {"synthetic": "figure", "wikitext": "text_figure"}
"""The rule that draws, by part: nothing else may run, as the tables are given."""

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
<p>{{ pairs | selectattr("changed") | list | length }} of {{ pairs | length }} figures changed.</p>
{% for pair in pairs | sort(attribute="changed", reverse=true) %}
<h2 id="{{ pair.name }}">{{ pair.name }}: {{ "changed" if pair.changed else "the same" }}</h2>
<div class="pair">
{% for side, path in (("before", pair.before), ("after", pair.after)) %}
<figure>
<figcaption>{{ side }}</figcaption>
{% if path %}<img src="{{ path }}" alt="{{ pair.name }} {{ side }}">{% else %}none{% endif %}
</figure>
{% endfor %}
</div>
{% endfor %}
"""


class Pair(NamedTuple):
    """One figure, old and new."""

    name: str
    """What the configuration calls it."""
    before: str | None
    """Path of the old picture from the page; none if there was no such figure."""
    after: str | None
    """Path of the new picture from the page; none if there is no such figure."""
    changed: bool
    """Whether a byte of the picture differs."""


def draw_locked(root: Path, folder: Path) -> dict[str, Path]:
    """Draw every figure of a checkout's lock.

    Args:
        root: folder of the Snakefile.
        folder: where to draw; an empty one.

    Returns:
        Pictures by name of the figure.

    Raises:
        InputError: if there is nothing to draw, or Snakemake fails; it has said why.
    """
    pictures: dict[str, Path] = {}
    for name, part in PARTS.items():
        tables = sorted((root / part.lock / "figures").glob("*.csv"))
        if tables:
            overlay = part.overlay and root / part.overlay
            pictures |= _draw(tables, root, folder, ["--allowed-rules", DRAWING[name]], overlay)
    if not pictures:
        raise InputError(f"{root}: has no locked tables of figures; lock the results first")
    return pictures


def pairs(before: dict[str, Path], after: dict[str, Path], folder: Path) -> list[Pair]:
    """Old and new picture of every figure, by its name.

    Args:
        before: old pictures by name.
        after: new pictures by name.
        folder: where the page is to be.
    """
    return [
        Pair(
            name,
            _link(before.get(name), folder),
            _link(after.get(name), folder),
            _content(before.get(name)) != _content(after.get(name)),
        )
        for name in sorted(before.keys() | after.keys())
    ]


@click.command(help=__doc__)
@click.option("--before", required=True, type=click.Path(path_type=Path), help="A checkout.")
@click.option("--after", required=True, type=click.Path(path_type=Path), help="A checkout.")
@click.option("--output", required=True, type=click.Path(path_type=Path), help="A new folder.")
def main(before: Path, after: Path, output: Path) -> None:
    """Write `index.html` and the pictures that it shows."""
    if output.exists():
        raise InputError(f"{output}: is there already; delete it or name another folder")
    old, new = draw_locked(before, output / "before"), draw_locked(after, output / "after")
    page = jinja2.Environment(autoescape=True).from_string(_PAGE)
    write_text(output / "index.html", page.render(pairs=pairs(old, new, output)))


def _draw(
    tables: list[Path], root: Path, folder: Path, options: list[str], overlay: Path | None
) -> dict[str, Path]:
    for table in tables:
        content = table.read_bytes()
        line = f"{sha256(content).hexdigest()}  figures/{table.name}\n"
        _write(folder / "figures" / table.name, content)
        _write(folder / f"results/scan_and_snap/tables/{table.stem}.sha256", line.encode())
    pictures = {table.stem: folder / f"figures/{table.stem}.png" for table in tables}
    targets = [str(path.relative_to(folder)) for path in pictures.values()]
    command = [sys.executable, "-m", "snakemake", *targets, "--directory", str(folder)]
    command += ["--snakefile", str(root.resolve() / "Snakefile"), "--cores", "all"]
    command += ["--quiet", "progress", *options]
    command += ["--configfile", str(overlay.resolve())] if overlay else []
    environment = os.environ | {"PYTHONPATH": str(root.resolve() / "src")}
    if subprocess.run(command, env=environment, check=False).returncode:
        raise InputError(f"{root}: its figures cannot be drawn, see above")
    return pictures


def _write(path: Path, content: bytes) -> None:
    write_atomically(path, lambda stream: stream.write(content))


def _link(path: Path | None, folder: Path) -> str | None:
    return path.relative_to(folder).as_posix() if path else None


def _content(path: Path | None) -> bytes | None:
    return path.read_bytes() if path else None


if __name__ == "__main__":
    main()
