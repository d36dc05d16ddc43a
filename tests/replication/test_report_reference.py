"""Pages from references: nothing is computed, and nothing but the page is written."""

import json
import re
import shutil

import pytest
from click.testing import CliRunner
from conftest import ROOT

from replication.report.__main__ import main
from replication.verification.reference import reference_folder

STUDY = "example"


def build(root, *arguments):
    return CliRunner().invoke(
        main, ["--reference", "--root", str(root), "--output", str(root / "pages"), *arguments]
    )


@pytest.fixture
def project(tmp_path):
    """A project's folder with nothing but a reference."""
    shutil.copytree(reference_folder(ROOT, STUDY), reference_folder(tmp_path, STUDY))
    return tmp_path


def test_a_page_needs_nothing_but_the_reference(project):
    before = sorted(project.rglob("*"))
    result = build(project, STUDY)
    assert result.exit_code == 0, result.output
    page = project / "pages/example.html"
    assert sorted(project.rglob("*")) == sorted([*before, page.parent, page])
    html = page.read_text()
    verdicts = json.loads((reference_folder(project, STUDY) / "verdicts.json").read_text())
    for verdict in verdicts["verdicts"]:
        assert re.search(rf'id="claim-{verdict["claim"]}"[^>]*"{verdict["verdict"]}"', html)
    assert html.count('src="data:image/svg+xml;base64,') == 2
    assert "python -m replication.report --reference example" in html
    assert build(project, STUDY).exit_code == 0
    assert page.read_text() == html


def test_a_figure_without_a_fitting_table_is_left_out_and_named(project):
    folder = reference_folder(project, STUDY)
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["files"]["figures/fig2.csv"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "figures/fig2.csv").unlink()
    result = build(project, STUDY)
    assert result.exit_code == 0
    assert "has no table of figure fig2; `snakemake reference --config study=exam" in result.output
    html = (project / "pages/example.html").read_text()
    assert 'id="figure-fig1"' in html
    assert 'id="figure-fig2"' not in html


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        (lambda folder: None, ["exmaple"], "unknown study 'exmaple'; did you mean 'example'?"),
        (
            lambda folder: (folder / "figures/fig1.csv").write_text("variance\n0\n"),
            [STUDY],
            "figures/fig1.csv changed after it was made; restore it with git",
        ),
        (shutil.rmtree, [STUDY], "manifest.json: cannot be read"),
    ],
)
def test_what_cannot_be_shown_is_named(project, change, arguments, message):
    change(reference_folder(project, STUDY))
    result = build(project, *arguments)
    assert result.exit_code == 1
    assert message in result.output
    assert not (project / "pages").exists()
