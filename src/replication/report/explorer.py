"""The part of a page that a study brings itself, if it has a folder `explorer/`.

* `panel.html`: the section, a Jinja template, which says something without scripts, too;
* `style.css`, if there is one: added to the page's;
* `*.js`: added to the page's in the order of their names; nothing else may be loaded;
* `data.py`: `data(settings, tables)` gives what the template is given by name.

What all explorers share stands in `templates/`, each before their own: `explorer.html` (macros),
`explorer.css` and `explorer.js` (drawing, and a player that keeps its state in the address).
"""

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment
from markupsafe import Markup

from replication.study.studies import find_studies

STYLE = Path(__file__).parent / "templates/explorer.css"
"""Style that all explorers share."""
SCRIPT = STYLE.with_suffix(".js")
"""Script that all explorers share."""


class Explorer(NamedTuple):
    """Section, style and script that a study adds to its page, all empty without an explorer."""

    panel: Markup = Markup()
    style: str = ""
    script: str = ""


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
    study: str, settings: Mapping[str, Any], tables: Mapping[str, Path], environment: Environment
) -> Explorer:
    """Return what a study adds to its page, given its settings, and its figures' tables by name."""
    if not (files := explorer_files(study)):
        return Explorer()
    (program,) = explorer_programs(study)
    read = find_studies()[study].settings.parse(settings, study)
    told = importlib.import_module(program).data(read, tables)
    texts = {".html": "", ".css": STYLE.read_text("utf-8"), ".js": SCRIPT.read_text("utf-8")}
    for path in files:
        texts[path.suffix] += path.read_text("utf-8")
    panel = Markup(environment.from_string(texts[".html"]).render(told))
    return Explorer(panel, texts[".css"], texts[".js"])
