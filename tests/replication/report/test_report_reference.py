"""The site from references: nothing is computed, and nothing but the site is written."""

import hashlib
import json
import re
import shutil
from types import SimpleNamespace

import pytest
import yaml
from click.testing import CliRunner
from conftest import JOBS, ROOT
from markupsafe import escape
from report_folder import SVG

from replication.base.storage import read_csv
from replication.bundle.bundle import find_references, read_verdicts, reference_folder
from replication.judge.abstract import (
    REST_OPEN,
    count_marks,
    decided_sentences,
    sentences_by_version,
)
from replication.report import command
from replication.report.command import main
from replication.report.site import page_environment, registry_of
from replication.report.views import beside_paper, overlay
from replication.study.registry import Registry
from replication.study.studies import find_studies

STUDY = "example"
LARGEST = 2_000_000
"""Bytes of a page, without its pictures."""


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
    beside = [page.with_suffix("") / f"{name}.{kind}"
              for name in ("scorecard", "fig1", "fig2") for kind in ("csv", "svg")]  # fmt: skip
    beside.append(page.with_suffix("") / "all-comparisons.csv")
    made = [page.parent, page.parent / "index.html", page, page.with_suffix(""), *beside]
    assert sorted(project.rglob("*")) == sorted([*before, *made])
    html = page.read_text()
    verdicts = json.loads((reference_folder(project, STUDY) / "verdicts.json").read_text())
    for verdict in verdicts["verdicts"]:
        assert re.search(rf'id="claim-{verdict["claim"]}"[^>]*"{verdict["verdict"]}"', html)
    assert html.count('src="example/') == 3
    assert "python -m replication report --reference example" in html
    assert build(project, STUDY).exit_code == 0
    assert page.read_text() == html


def draw_nothing(drawings):
    """Pictures without content, at once."""
    for each in drawings:
        picture = ROOT / "docs/gallery/fig6.png"
        content = picture.read_bytes() if each.file.suffix == ".png" else SVG.encode()
        each.file.parent.mkdir(exist_ok=True)
        each.file.write_bytes(content)


@pytest.fixture
def nothing_is_drawn(monkeypatch):
    monkeypatch.setattr(command, "draw_all", draw_nothing)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The pages of all references, to be read: no study is named."""
    folder = tmp_path_factory.mktemp("site")
    told = ["--reference", "--root", str(ROOT), "--output", str(folder)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "draw_all", draw_nothing)
        made = CliRunner().invoke(main, told)
    assert made.exit_code == 0, made.output
    return folder


def test_no_link_of_the_site_is_dead_and_no_page_is_large(site):
    pages = {path.name: path.read_text() for path in site.glob("*.html")}
    assert {*pages} == {"index.html", *(f"{name}.html" for name in find_references(ROOT))}
    places = {name: {*re.findall(r'\sid="([^"]+)"', html)} for name, html in pages.items()}
    headers = set()
    for name, html in pages.items():
        assert len(html.encode()) < LARGEST
        header = html[html.index('<header class="site">') : html.index("</header>")]
        headers.add(header.replace(' aria-current="page"', ""))
        for link in re.findall(r'\s(?:src|href)="(?!https?:|data:)([^"]*)"', html):
            file, _, place = link.partition("#")
            assert (site / (file or name)).is_file(), f"{name}: {link}"
            assert not place or place in places[file or name], f"{name}: {link}"
        for file in set(pages) - {name}:
            assert f'href="{file}"' in header
    assert len(headers) == 1


def test_the_index_tells_the_mark_of_every_sentence_and_counts_them(site):
    html = (site / "index.html").read_text()
    registries = {name: registry_of(name) for name in find_studies()}
    verdicts = {name: read_verdicts(reference_folder(ROOT, name)) for name in find_references(ROOT)}
    elsewhere = decided_sentences((registries[name], verdicts[name]) for name in verdicts)
    for name, registry in registries.items():
        assert f'<a href="{name}.html">' in html
        if f'<li id="{name}">' in html:  # the second study of a paper
            continue
        section = re.search(rf'<section class="paper" id="{name}".*?</section>', html, re.DOTALL)[0]
        assert str(escape(registry.title)) in section
        assert f'src="{name}/scorecard.svg"' in section
        found = [
            (int(number), mark)
            for number, mark in re.findall(r'tallied">(\d+) .*?</span> ([\w ]+)</span>', section)
        ]
        assert found == [
            (number, mark)
            for counts in count_marks(registry, verdicts[name], elsewhere).values()
            for mark, number in counts.items()
            if number and mark != "no empirical statement"
        ]
        marked = sentences_by_version(registry, verdicts[name], elsewhere)
        shown = r"</span> ([\w ]+)</span>(, [\w ]+)?(?: <b class=\"plain\">(.*?)</b>)?</li>"
        assert re.findall(shown, section) == [
            (each.mark, REST_OPEN * each.is_rest_open, str(escape(each.plain)))
            for sentences in marked.values()
            for each in sentences
        ]


def test_the_index_of_one_page_tells_the_commands_of_the_others(project, nothing_is_drawn):
    assert build(project, STUDY).exit_code == 0
    html = (project / "pages/index.html").read_text()
    assert '<a href="example.html">Claims, figures and evidence</a>' in html
    assert "<code>python -m replication report --reference lp_ft</code>" in html
    assert 'href="lp_ft.html"' not in html
    assert 'href="index.html#lp_ft"' in (project / "pages/example.html").read_text()


def test_a_folder_that_has_other_files_is_not_replaced(project, monkeypatch):
    monkeypatch.setattr(command, "draw_all", refuse_to_draw)
    notes = project / "pages/example/notes.txt"
    notes.parent.mkdir(parents=True)
    notes.touch()
    result = build(project, STUDY)
    assert result.exit_code == 1
    assert "notes.txt: is not part of a page, and" in result.output
    assert notes.exists()


def unjudge(folder, claim):
    """A reference that is whole, but without a verdict."""
    verdicts = json.loads((folder / "verdicts.json").read_text())
    kept = [verdict for verdict in verdicts["verdicts"] if verdict["claim"] != claim]
    assert len(kept) == len(verdicts["verdicts"]) - 1
    (folder / "verdicts.json").write_text(json.dumps({"verdicts": kept}))
    manifest = json.loads((folder / "manifest.json").read_text())
    digest = hashlib.sha256((folder / "verdicts.json").read_bytes()).hexdigest()
    manifest["files"]["verdicts.json"] = digest
    (folder / "manifest.json").write_text(json.dumps(manifest))


def writing(name, content):
    return lambda folder: (folder / name).write_bytes(content)


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        (lambda folder: None, ["exmaple"], "unknown study 'exmaple'; did you mean 'example'?"),
        (
            lambda folder: (folder / "figures/fig1.csv").write_text("variance\n0\n"),
            [STUDY],
            "figures/fig1.csv changed after it was made; restore it with git",
        ),
        (shutil.rmtree, [STUDY], "reference/example: is damaged"),
        (writing("manifest.json", b"{}"), [STUDY], "reference/example: is damaged"),
        (
            lambda folder: unjudge(folder, "C2"),
            [STUDY],
            "has nothing of C2; restore it with git, or `snakemake reference --config study=",
        ),
        (writing("verdicts.json", b"[]"), [STUDY], "reference/example: is damaged"),
        (writing("evidence.csv", b"a,b\n1,2\n"), [STUDY], "reference/example: is damaged"),
        (writing("figures/fig1.csv", b""), [STUDY], "reference/example: is damaged"),
    ],
)
def test_what_cannot_be_shown_is_named(project, change, arguments, message):
    change(reference_folder(project, STUDY))
    result = build(project, *arguments)
    assert result.exit_code == 1
    assert message in result.output
    assert not (project / "pages").exists()
    if arguments == [STUDY]:
        assert re.search(rf"restore (it|.* --config study={STUDY}`)", result.output)


def refuse_to_draw(*_):
    raise AssertionError("nothing is drawn before everything is checked")


def test_all_pages_are_written_or_none(project, monkeypatch):
    """What is wrong with the last is found before the first is drawn."""
    monkeypatch.setattr(command, "draw_all", refuse_to_draw)
    result = build(project, STUDY, "scan_and_snap")
    assert result.exit_code == 1
    assert "reference/scan_and_snap: is damaged" in result.output
    assert not (project / "pages").exists()


def test_an_overlay_has_a_figure_and_its_experiments_and_no_more():
    study = JOBS.studies[STUDY]
    settings = study.settings.model_dump(mode="json")
    told = yaml.safe_load(overlay(study, "fig2", settings))[STUDY]
    assert told["figures"] == {"fig2": settings["figures"]["fig2"]}
    named = settings["figures"]["fig2"]["experiment"]
    assert told["experiments"] == {named: settings["experiments"][named]}
    assert told.keys() == {"experiments", "figures"}


def test_published_numbers_stand_beside_ours(tmp_path):
    def beside(ours, papers, columns):
        (tmp_path / "published").mkdir(exist_ok=True)
        (tmp_path / "published/f.csv").write_text(papers)
        (tmp_path / "ours.csv").write_text(ours)
        figure = SimpleNamespace(published="f.csv", published_columns=columns)
        study = SimpleNamespace(
            figures={"f": figure}, unlike_published={}, study=SimpleNamespace(folder=tmp_path)
        )
        return beside_paper(study, "f", read_csv(tmp_path / "ours.csv", ()))

    ours, columns = "k,rate,mean,n\n1,0.5,2.0,9\n1,1,3.0,9\n2,0.5,5.0,9\n", ("k", "rate", "mean")
    found = beside(ours, "k,rate,mean\n1,0.5,2.25\n1,1.0,2.5\n", columns)
    assert found.table.to_dict("list") == {
        "k": [1, 1], "rate": [0.5, 1], "mean, ours": [2, 3], "mean, the paper's": [2.25, 2.5],
        "mean, difference": [-0.25, 0.5],
    }  # fmt: skip
    assert found.largest == {"mean": 0.5}
    assert beside(ours, "k,rate,mean\n7,0.5,2.25\n", columns) is None
    # A figure that shows both has columns of its own.
    assert beside(ours, "table,rate,mean\n1,0.5,2.25\n", ("table", "rate", "mean")) is None


def paper(
    authors: str, venue: str = "Somewhere 2023", url: str = "https://arxiv.org/abs/2301.00001"
) -> Registry:
    told = {
        "title": "On Falling", "authors": authors, "venue": venue, "url": url, "figures": {},
        "claims": [], "methods": [],
    }  # fmt: skip
    return Registry.parse(told, "registry.yaml")


def test_a_paper_and_its_replication_can_be_cited():
    template = page_environment().get_template("citation.bib")
    study = SimpleNamespace(study=SimpleNamespace(name="falling"))
    project = {"title": "tool", "version": 1.0, "doi": "10.5/x", "authors": [{"name": "Us"}]}
    registry = paper("Ann Lee, Bo Ek, and C. Do")
    told = template.render(study=study, registry=registry, project=project)
    assert told.startswith("@misc{falling,\n  title = {{On Falling}},\n")
    assert "  author = {Ann Lee and Bo Ek and C. Do},\n" in told
    assert "@software{replication,\n  title = {{tool}},\n  author = {{Us}},\n" in told
    assert told.count("{") == told.count("}")
    assert "@software" not in template.render(study=study, registry=registry, project={})
