"""The page: what stands in it, and what it refuses."""

import re
import subprocess

import pytest
from conftest import ROOT, Project
from report_folder import CLAIMS, Folder

from transformer_dynamics.generate import DEFAULTS
from transformer_dynamics.registry import read_registry
from transformer_dynamics.report import sources
from transformer_dynamics.report.commit import commit
from transformer_dynamics.report.sources import require_texts


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Folder(tmp_path)


# What stands in the page


def test_same_bytes_twice(folder):
    first = folder.html()
    assert folder.html() == first
    assert "abc1234-dirty" in first
    assert str(folder.path) not in first.replace(str(folder.path / "verdicts"), "")


def test_nothing_is_fetched_and_only_its_own_script_runs(folder):
    html = folder.html()
    links = re.findall(r'\s(?:src|href)="([^"]*)"', html)
    assert {re.match(r"data:|#", link) is not None for link in links} == {True}
    assert "@import" not in html
    assert "url(" not in html
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', html)
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'sha256-")
    assert not re.search(r"\sstyle=|\son\w+=", re.sub("&lt;.*?&gt;", "", html))


def test_hostile_text_stays_text(folder):
    html = folder.html()
    assert html.count("<script") == 1
    assert "<img src=x" not in html
    assert "&lt;script&gt;alert('η<sub>Y" in html
    assert "A &lt;b&gt;Paper&lt;/b&gt;" in html


def test_every_claim_has_its_place(folder):
    html = folder.html()
    places = {
        name: re.findall(rf'id="claim-{name}".*?data-figure="(\w+)"', html)
        for name, *_ in CLAIMS
    }  # fmt: skip
    assert places == {
        "T1": ["none"], "T2a": ["fig6"], "T2b": ["fig6"], "T2c": ["fig6"], "T3": ["fig1"],
        "T4": ["fig1"], "T5": ["none"], "E1": ["fig1"], "B": ["none"],
    }  # fmt: skip
    assert "Figures that are not drawn here</h3>" in html
    assert "Theorems</h3>" in html
    errata = html[html.index('<section id="errata"') :]
    assert [name for name in places if f'id="claim-{name}"' in errata] == ["E1", "B"]
    assert "What holds instead:</b> Note of E1" in errata
    assert 'alt="Figure 1. Two curves that fall. Claims: T3 replicated; T4 replicated; E1' in html


def test_texts_are_there_for_every_drawing():
    registry = read_registry(ROOT / "papers/scan_and_snap.yaml")
    for name, figure in DEFAULTS.scan_and_snap.figures.items():
        source = {"name": name, "drawing": figure.drawing, "picture": "a.svg", "table": "a.csv"}
        require_texts([sources.FigureSource.parse(source | {"command": "c"}, name)], registry)


def test_large_table_is_linked(folder, monkeypatch):
    monkeypatch.setattr(sources, "EMBEDDED", 10)
    assert '<a href="../../fig6.csv">fig6.csv</a>,\n2 rows' in folder.html()


def test_cost_is_told_if_every_job_was_measured(folder):
    folder.figures[1]["benchmarks"] = [{"pattern": "runs/{}.tsv", "names": ["1", "2"]}]
    (folder.path / "runs").mkdir()
    (folder.path / "runs/1.tsv").write_text("s\th:m:s\n12.345\t0:00:12\n")
    assert "<dt>Cost</dt>" not in folder.html()
    (folder.path / "runs/2.tsv").write_text("s\th:m:s\n1.2\t0:00:01\n")
    assert "<dd>14 s on one core" in folder.html()
    (folder.path / "runs/2.tsv").write_text("s\th:m:s\n")
    assert "runs/2.tsv: truncated" in folder.build().output


def spoil(path, old, new):
    def change(folder):
        content = (folder.path / path).read_bytes()
        assert old in content
        (folder.path / path).write_bytes(content.replace(old, new))

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder: (folder.path / "verdicts/T1.json").unlink(), "no verdict of claim(s) T1;"),
        (lambda folder: folder.write_verdict("T5", "verified", []), "registry has no claim(s) T5"),
        (spoil("verdicts/T2a.json", b'"T2a"', b'"T2b"'), "two verdicts are of the same claim"),
        (spoil("verdicts/T1.json", b'"seeds"', b'"seed'), "verdicts/T1.json: truncated, damaged"),
        (spoil("verdicts/T1.json", b'"verified"', b'"true"'), "T1.json: verdict: Input should be"),
        (spoil("fig6.png", b"IEND", b"I"), "fig6.png: truncated, damaged"),
        (spoil("fig6.png", b"IHDR", b"IHDX"), "fig6.png: truncated, damaged"),
        (lambda folder: (folder.path / "fig6.png").unlink(), "fig6.png: there is no such file"),
        (spoil("fig1.svg", b"</svg>", b""), "fig1.svg: truncated, damaged"),
        (spoil("fig1.svg", b"300pt", b"wide"), "its size, 'wide', is not a length"),
        (spoil("fig1.csv", b"3,4", b"3"), "fig1.csv: truncated, damaged"),
        (spoil("fig1.csv", b"1,2\n3,4\n", b""), "fig1.csv: truncated, damaged"),
        (
            lambda folder: folder.figures[1].update(drawing="fig66"),
            "says nothing of the drawing 'fig66'",
        ),
        (spoil("registry.yaml", b"caption:", b"captoin:"), "did you mean 'caption'?"),
        (spoil("registry.yaml", b"venue:", b"venues:"), "did you mean 'venue'?"),
    ],
)
def test_what_cannot_be_shown_is_named(folder, change, message):
    before = folder.html()
    change(folder)
    result = folder.build()
    assert result.exit_code == 1
    assert result.output.startswith("Error: ")
    assert message in result.output
    assert "Traceback" not in result.output
    assert folder.page.read_text() == before
    assert list(folder.page.parent.iterdir()) == [folder.page]


# In the workflow


def test_the_page_is_a_target_and_depends_on_its_templates(project: Project):
    graph = project.run("report", "--filegraph")
    for name in ("page.html", "claim.html", "plot.html", "style.css", "script.js", "fails.svg"):
        assert f"src/transformer_dynamics/report/templates/{name}" in graph
    assert "results/report/index.html" in graph
    assert "results/verdicts/T1.json" in graph
    assert "papers/scan_and_snap.yaml" in graph


def test_commit_is_that_of_the_project_alone(tmp_path):
    assert commit(tmp_path) == "unknown"
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", *identity, *command], cwd=tmp_path, check=True)
    assert re.fullmatch("[0-9a-f]{7,}", commit(tmp_path))
    (tmp_path / "inner").mkdir()
    assert commit(tmp_path / "inner") == "unknown"
