"""The site from references: nothing is computed, and nothing but the site is written."""

import hashlib
import json
import os
import re
import shutil
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from conftest import JOBS, ROOT
from markupsafe import escape
from report_folder import SVG

from replication.base.tables import read_csv
from replication.bundle.bundle import find_references, read_verdicts, reference_folder
from replication.judge.abstract import (
    REST_OPEN,
    count_marks,
    decided_sentences,
    sentences_by_version,
)
from replication.plan.keys_in_files import checksum
from replication.report import from_reference as reference
from replication.report.citing import read_citation
from replication.report.command import main
from replication.report.details import compare_with_paper, overlay
from replication.report.pictures import FIGURES_PER_PROCESS, draw_all
from replication.report.shown import Site
from replication.report.site import registry_of, related_pages
from replication.study.claims import GROUPS
from replication.study.registry import Registry, read_registry
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
    assert "example: 3 figures drawn, after " in result.stderr
    html = page.read_text()
    verdicts = json.loads((reference_folder(project, STUDY) / "verdicts.json").read_text())
    for verdict in verdicts["verdicts"]:
        assert re.search(rf'id="claim-{verdict["claim"]}"[^>]*"{verdict["verdict"]}"', html)
    assert html.count('src="example/') == 3
    assert "python -m replication report --reference example" in html
    assert build(project, STUDY).exit_code == 0
    assert page.read_text() == html


def test_a_figure_without_a_fitting_table_is_named_in_its_place(project):
    folder = reference_folder(project, STUDY)
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["files"]["figures/fig2.csv"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "figures/fig2.csv").unlink()
    result = build(project, STUDY)
    assert result.exit_code == 1
    reason = "has no table of figure fig2; `snakemake reference --config study=example`"
    assert f"Error: 1 figure(s) could not be drawn: {project}" in result.output
    assert reason in result.output
    html = (project / "pages/example.html").read_text()
    place = html[html.index('id="figure-fig2"') :]
    assert "This figure could not be drawn.</b>" in place
    assert reason in place
    assert html.count('src="example/') == 2


def draw_nothing(drawings, cores=None):
    """Pictures without content, at once."""
    for each in drawings:
        picture = ROOT / "docs/gallery/fig6.png"
        content = picture.read_bytes() if each.file.suffix == ".png" else SVG.encode()
        each.file.parent.mkdir(exist_ok=True)
        each.file.write_bytes(content)
        yield ""


@pytest.fixture
def nothing_is_drawn(monkeypatch):
    monkeypatch.setattr(reference, "draw_all", draw_nothing)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The pages of all references, to be read: no study is named."""
    folder = tmp_path_factory.mktemp("site")
    told = ["--reference", "--root", str(ROOT), "--output", str(folder)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference, "draw_all", draw_nothing)
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
    registries = {name: registry_of(study) for name, study in find_studies().items()}
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


def test_a_page_tells_of_the_verdicts_on_the_papers_other_pages():
    site = Site(pages=["scan_and_snap"], index="index.html")
    (text,) = related_pages(ROOT, "scan_and_snap", site)
    assert (text.link, text.has_page) == ("index.html#scan_and_snap_text", False)
    verdicts = read_verdicts(reference_folder(ROOT, "scan_and_snap_text"))
    registry = read_registry(find_studies()["scan_and_snap_text"].folder / "registry.yaml")
    assert [(item.id, item.verdict) for item in text.contested] == [
        (claim.id, verdict.verdict)
        for claim in registry.claims
        if claim.group in GROUPS[:2]
        and (verdict := verdicts.get(claim.id))
        and verdict.verdict in {"in part", "does not hold", "open"}
    ]
    assert "figure 7 " in text.search
    assert related_pages(ROOT, STUDY, site) == []


def test_a_folder_that_has_other_files_is_not_replaced(project, monkeypatch):
    monkeypatch.setattr(reference, "draw_all", refuse_to_draw)
    notes = project / "pages/example/notes.txt"
    notes.parent.mkdir(parents=True)
    notes.touch()
    result = build(project, STUDY)
    assert result.exit_code == 1
    assert "notes.txt: is not part of a page, and" in result.output
    assert notes.exists()


@pytest.mark.parametrize("name", ["index.html", "example.html"])
def test_a_page_of_somebody_else_is_not_replaced(project, monkeypatch, name):
    monkeypatch.setattr(reference, "draw_all", refuse_to_draw)
    other = project / "pages" / name
    other.parent.mkdir(parents=True)
    other.write_text('<h1>My own page</h1><a href="example.html">Replication report</a>')
    result = build(project, STUDY)
    assert result.exit_code == 1
    assert f"{name}: is no page of a replication, and would be overwritten" in result.output
    assert "My own page" in other.read_text()


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
        (shutil.rmtree, [STUDY], "manifest.json: cannot be read"),
        *(
            (writing("manifest.json", content), [STUDY], f"manifest.json: is damaged ({said}")
            for content, said in [
                (b'{"settings": {', "Invalid JSON: EOF"),
                (b"{}", "settings: Fie"),
            ]
        ),
        (
            lambda folder: unjudge(folder, "C2"),
            [STUDY],
            "verdicts.json: has no verdict of claim(s) C2; restore it with git, or `snake",
        ),
        (writing("verdicts.json", b"[]"), [STUDY], "verdicts.json: is damaged"),
        (writing("evidence.csv", b"a,b\n1,2\n"), [STUDY], "evidence.csv: is damaged, or"),
        (writing("figures/fig1.csv", b""), [STUDY], "figures/fig1.csv: is damaged, or"),
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


@pytest.mark.parametrize("output", ["file", "file/pages", "closed"])
def test_an_output_that_cannot_be_written_to_is_named(project, monkeypatch, output):
    monkeypatch.setattr(reference, "draw_all", refuse_to_draw)

    def access(path, mode):
        return Path(path).name != "closed" or not mode & os.W_OK

    monkeypatch.setattr(os, "access", access)
    (project / "file").touch()
    (project / "closed").mkdir()
    result = build(project, STUDY, "--output", str(project / output))
    assert result.exit_code == 1
    assert re.fullmatch(rf"Error: {project / output}: .*choose another --output\n", result.output)


def test_all_pages_are_written_or_none(project, monkeypatch):
    """What is wrong with the last is found before the first is drawn."""
    monkeypatch.setattr(reference, "draw_all", refuse_to_draw)
    result = build(project, STUDY, "scan_and_snap")
    assert result.exit_code == 1
    assert "scan_and_snap/manifest.json: cannot be read" in result.output
    assert not (project / "pages").exists()


@pytest.mark.thorough
def test_figures_are_the_same_whoever_draws_them(tmp_path):
    """One after the other, or several processes at once; what is wrong with one stops no other."""
    folder = reference_folder(ROOT, STUDY) / "figures"
    found = {}
    for cores in (1, 2):
        drawings = []
        for index in range(2 * FIGURES_PER_PROCESS):
            name = f"fig{1 + index % 2}"
            checked = tmp_path / f"{name}.sha256"
            checked.write_text(checksum(folder / f"{name}.csv"))
            path = f"figures/example/{name}"
            published = [each.path for each in JOBS.steps[path].of_role("published")]
            picture = tmp_path / f"{cores}/{index}/{name}.svg"
            picture.parent.mkdir(parents=True)
            read = [str(folder / f"{name}.csv"), str(checked), *published]
            drawings.append(JOBS.ready(path, [str(picture)], read))
        wrong = tmp_path / "wrong.sha256"
        wrong.write_text("0")
        table, _, *published = (each.path for each in drawings[1].inputs)
        path = "figures/example/fig2"
        drawings[1] = JOBS.ready(path, drawings[1].outputs, [table, str(wrong), *published])
        said = list(draw_all(drawings, cores))
        assert "fig2.csv was changed after it was made" in said[1]
        assert [*said[:1], *said[2:]] == [""] * (2 * FIGURES_PER_PROCESS - 1)
        assert not drawings[1].file.exists()
        found[cores] = [each.file.read_bytes() for each in drawings if each.file.exists()]
    assert found[1] == found[2]
    assert len(set(found[1])) == 2


def test_an_overlay_has_what_a_figure_rests_on_and_no_more():
    settings = {
        "mixtures": {"one": {"size": 1}, "two": {"size": 2}},
        "experiments": {"a": {"mixtures": ["two"], "seeds": [1]}, "b": {"mixtures": ["one"]}},
        "bound": 3.5,
        "varied": {"experiments": ["b"], "count": 2},
        "claims": {},
        "figures": {"f": {"kind": "d"}, "g": {"kind": "varied"}},
    }
    assert yaml.safe_load(overlay("paper", settings, "f", ["a"])) == {
        "paper": {
            "mixtures": {"two": {"size": 2}},
            "experiments": {"a": {"mixtures": ["two"], "seeds": [1]}},
            "bound": 3.5,
            "varied": {"experiments": ["b"], "count": 2},
            "figures": {"f": {"kind": "d"}},
        }
    }
    of_varied = yaml.safe_load(overlay("paper", settings, "g", []))["paper"]
    assert of_varied["experiments"] == {"b": {"mixtures": ["one"]}}
    assert of_varied["mixtures"] == {"one": {"size": 1}}


def test_published_numbers_stand_beside_ours(tmp_path):
    ours, papers = tmp_path / "ours.csv", tmp_path / "papers.csv"
    ours.write_text("k,rate,mean,n\n1,0.5,2.0,9\n1,1,3.0,9\n2,0.5,5.0,9\n")
    papers.write_text("k,rate,mean\n1,0.5,2.25\n1,1.0,2.5\n")
    numbers = read_csv(ours, ())
    found = compare_with_paper(numbers, papers, ("k", "rate", "mean"))
    assert (found.keys, found.values) == (["k", "rate"], ["mean"])
    assert found.rows == [([1, 0.5], [(2.0, 2.25, -0.25)]), ([1, 1.0], [(3.0, 2.5, 0.5)])]
    assert found.largest == {"mean": 0.5}
    papers.write_text("k,rate,mean\n7,0.5,2.25\n")
    assert compare_with_paper(numbers, papers, ("k", "rate", "mean")) is None
    # A figure that shows both has columns of its own.
    papers.write_text("table,rate,mean\n1,0.5,2.25\n")
    assert compare_with_paper(numbers, papers, ("table", "rate", "mean")) is None


def paper(
    authors: str, venue: str = "Somewhere 2023", url: str = "https://arxiv.org/abs/2301.00001"
) -> Registry:
    told = {
        "title": "On Falling", "authors": authors, "venue": venue, "url": url, "figures": {},
        "claims": [], "methods": [],
    }  # fmt: skip
    return Registry.parse(told, "registry.yaml")


@pytest.mark.parametrize(
    ("authors", "key", "names"),
    [
        ("Ann Lee and Bo Ek", "lee", "Ann Lee and Bo Ek"),
        ("Ann Lee, Bo Ek, and C. Do", "lee", "Ann Lee and Bo Ek and C. Do"),
        ("Sandy Andersen", "andersen", "Sandy Andersen"),
        ("Mo O'Neil {1}", "oneil", "Mo O'Neil {1}"),
        ("S. Ben-David", "ben-david", "S. Ben-David"),
        ("van", "van", "van"),
    ],
)
def test_authors_are_told_one_by_one(tmp_path, authors, key, names):
    bibtex = read_citation(paper(authors), tmp_path).bibtex
    assert bibtex.startswith(f"@misc{{{key}2023on,\n")
    assert f"author = {{{names}}}" in bibtex


@pytest.mark.parametrize(
    ("venue", "url", "year"),
    [
        ("NeurIPS 2023, arXiv:2205.16380v4", "https://arxiv.org/abs/2205.16380", "2023"),
        ("arXiv:2305.16380v4", "https://arxiv.org/abs/2305.16380", "2023"),
        ("TMLR", "https://arxiv.org/abs/2305.16380", "2023"),
        # Numbers that begin as a year does.
        ("arXiv:2005.14165", "https://arxiv.org/abs/2005.14165", "2020"),
        ("arXiv:1911.02150", "https://arxiv.org/abs/1911.02150", "2019"),
        ("ICLR 2021, arXiv:2010.11929", "https://arxiv.org/abs/2010.11929", "2021"),
        ("a workshop", "https://example.org/2305.16", ""),
    ],
)
def test_a_paper_without_a_year_has_that_of_its_number_on_arxiv(tmp_path, venue, url, year):
    bibtex = read_citation(paper("Ann Lee", venue, url), tmp_path).bibtex
    assert bibtex.startswith(f"@misc{{lee{year}on,\n")
    assert (f"  year = {{{year}}},\n" in bibtex) == bool(year)


def test_a_paper_and_its_replication_can_be_cited(tmp_path):
    registry = paper("Ann Lee, Bo Ek")
    (tmp_path / "CITATION.cff").write_text(
        "title: tool\nversion: 1.0\ndoi: 10.5/x\nauthors: [{name: Us}]\n"
        "repository-code: javascript:alert(1)\n"
    )
    found = read_citation(registry, tmp_path)
    assert [link.name for link in found.links] == ["arXiv:2301.00001", "doi:10.5/x"]
    assert "@misc{lee2023on," in found.bibtex
    assert "author = {Ann Lee and Bo Ek}" in found.bibtex
    assert "@software{tool," in found.bibtex
