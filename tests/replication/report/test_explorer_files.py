"""Files that an explorer of a study may leave out."""

from types import SimpleNamespace

import pytest
from jinja2 import Environment

from replication.report import explorer


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The explorer's folder of a study, whose data are one number."""
    settings = SimpleNamespace(parse=lambda given, name: given)
    study = SimpleNamespace(folder=tmp_path, package="of_study", settings=settings)
    monkeypatch.setattr(explorer, "find_studies", lambda: {"of_study": study})
    program = SimpleNamespace(data=lambda settings, tables: {"told": 3})
    monkeypatch.setattr(explorer.importlib, "import_module", lambda name: program)
    (tmp_path / "explorer").mkdir()
    return tmp_path / "explorer"


def added():
    return explorer.explorer("of_study", {}, {}, Environment(autoescape=True))


def test_a_panel_needs_no_style_and_no_script(folder):
    (folder / "panel.html").write_text("<p>{{ told }}</p>")
    found = added()
    assert found.panel == "<p>3</p>"
    assert found.style == explorer.STYLE.read_text()
    assert found.script == explorer.SCRIPT.read_text()


def test_own_style_and_scripts_come_last_by_name(folder):
    for name, text in {"panel.html": "", "b.js": "2", "a.js": "1", "style.css": "own"}.items():
        (folder / name).write_text(text)
    found = added()
    assert found.style.endswith("own")
    assert found.script.endswith("12")


def test_a_study_without_a_panel_adds_nothing(folder):
    folder.rmdir()
    assert added() == explorer.Explorer()
