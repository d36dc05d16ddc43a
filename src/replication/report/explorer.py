"""The part of a page that a study brings itself, if it has a folder `explorer/`.

* `panel.html`: the section, a Jinja template, which says something without scripts, too;
* `style.css`, if there is one: added to the page's;
* `*.js`: added to the page's in the order of their names; nothing else may be loaded;
* `data.py`: `data(settings, tables)` gives what the template is given by name.

What all explorers share stands in `templates/`, each before their own: `explorer.html` (macros),
`explorer.css` and `explorer.js` (drawing, and a player that keeps its state in the address).
"""

import importlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment
from markupsafe import Markup

from replication.study.studies import find_studies

STYLE = Path(__file__).parent / "templates" / "explorer.css"
"""Style that all explorers share."""
SCRIPT = STYLE.with_suffix(".js")
"""Script that all explorers share."""


class Explorer(NamedTuple):
    """The additions to a page, all empty if a study has no explorer."""

    panel: Markup = Markup()
    """Section of the page."""
    style: str = ""
    """Style of the section."""
    script: str = ""
    """Script of the section."""


def explorer_files(study: str) -> list[Path]:
    """Return the files of a study's explorer, except its program; none if there is none."""
    if (found := find_studies().get(study)) is None:
        return []
    folder = found.folder / "explorer"
    return [path for kind in ("html", "css", "js") for path in sorted(folder.glob(f"*.{kind}"))]


def explorer_programs(study: str) -> list[str]:
    """Return the full name of the module with an explorer's `data`; none if there is none."""
    return [f"{find_studies()[study].package}.explorer.data"] if explorer_files(study) else []


def explorer(
    study: str,
    settings: Mapping[str, Any],
    tables: Mapping[str, Path],
    environment: Environment,
) -> Explorer:
    """Return the additions of a study to its page.

    Args:
        study: name of the study.
        settings: the study's section of the configuration.
        tables: tables that the study's figures draw, by name of the figure.
        environment: has the page's filters.

    Raises:
        InputError: if the settings are not the study's, or a table cannot be read.
    """
    if not (files := explorer_files(study)):
        return Explorer()
    (program,) = explorer_programs(study)
    read = find_studies()[study].settings.parse(settings, study)
    data = importlib.import_module(program).data(read, tables)
    panel = _read_all(files, ".html")
    return Explorer(
        Markup(environment.from_string(panel).render(data)),
        _read_all([STYLE, *files], ".css"),
        _read_all([SCRIPT, *files], ".js"),
    )


def _read_all(files: Iterable[Path], ending: str) -> str:
    """Return the texts of the files with an ending, one after the other."""
    return "".join(path.read_text(encoding="utf-8") for path in files if path.suffix == ending)
