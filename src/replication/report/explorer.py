"""The part of a page that a study brings itself, if it has a folder `explorer/`.

* `panel.html`: the section, a Jinja template, which says something without scripts, too;
* `style.css`: added to the page's;
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

from replication.study.contract import find_studies

STYLE = Path(__file__).parent / "templates" / "explorer.css"
"""What all of them look like."""
SCRIPT = STYLE.with_suffix(".js")
"""What all of them do."""


class Explorer(NamedTuple):
    """What is added to a page, all empty where a study has none."""

    panel: Markup = Markup()
    """The section."""
    style: str = ""
    """Its style."""
    script: str = ""
    """Its script."""


def explorer_files(study: str) -> list[Path]:
    """Its files besides the program, none for a study that has none."""
    if (found := find_studies().get(study)) is None:
        return []
    folder = found.folder / "explorer"
    return [path for kind in ("html", "css", "js") for path in sorted(folder.glob(f"*.{kind}"))]


def explorer_programs(study: str) -> list[str]:
    """Full name of the module with its `data`."""
    return [f"{find_studies()[study].package}.explorer.data"] if explorer_files(study) else []


def explorer(
    study: str,
    settings: Mapping[str, Any],
    tables: Mapping[str, Path],
    environment: Environment,
) -> Explorer:
    """What a study adds to its page.

    Args:
        study: its name.
        settings: its section of the configuration.
        tables: the numbers that its figures draw, by name of the figure.
        environment: with the page's filters.

    Raises:
        InputError: if the settings are none, or a table cannot be read.
    """
    if not (files := explorer_files(study)):
        return Explorer()
    (program,) = explorer_programs(study)
    read = find_studies()[study].settings.parse(settings, study)
    data = importlib.import_module(program).data(read, tables)
    panel, style, *scripts = (path.read_text(encoding="utf-8") for path in files)
    html = Markup(environment.from_string(panel).render(data))
    return Explorer(
        html,
        STYLE.read_text(encoding="utf-8") + style,
        "".join([SCRIPT.read_text(encoding="utf-8"), *scripts]),
    )
