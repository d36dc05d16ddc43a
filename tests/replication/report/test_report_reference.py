"""Pages from references: nothing is computed, and nothing but the page is written."""

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

from replication.base.errors import InputError
from replication.report import from_reference as reference
from replication.report.citing import read_citation
from replication.report.command import main
from replication.report.details import compare_with_paper, overlay
from replication.report.pictures import FIGURES_PER_PROCESS, Drawing, draw_all
from replication.run.work import checksum
from replication.study.claims import GROUPS
from replication.study.registry import Registry, read_registry
from replication.study.studies import find_studies
from replication.verify.history import VERDICT_COLUMNS
from replication.verify.reference import read_verdicts, reference_folder

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
    assert html.count('src="data:image/svg+xml;base64,') == 3
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
    assert html.count('src="data:image/svg+xml;base64,') == 2


def test_a_page_tells_of_the_verdicts_on_other_pages(project):
    """Of the same paper beside its own, and of all others in a list; a search finds them."""
    for name in ("scan_and_snap", "scan_and_snap_text"):
        shutil.copytree(reference_folder(ROOT, name), reference_folder(project, name))
    studies = find_studies()
    registries = {name: reference._registry(study) for name, study in studies.items()}
    found = {
        name: reference._other_page(
            project, name, told, Path(f"{name}.html") if name == STUDY else None
        )
        for name, told in registries.items()
    }
    text = found["scan_and_snap_text"]
    assert text.command == "python -m replication report --reference scan_and_snap_text"
    verdicts = read_verdicts(reference_folder(project, "scan_and_snap"))
    assert found["scan_and_snap"].n_claims >= len(verdicts)
    assert [(item.id, item.verdict) for item in text.contested] == [
        (claim.id, verdict.verdict)
        for claim in read_registry(studies["scan_and_snap_text"].folder / "registry.yaml").claims
        if claim.group in GROUPS[:2]
        and (
            verdict := read_verdicts(reference_folder(project, "scan_and_snap_text")).get(claim.id)
        )
        and verdict.verdict in {"in part", "does not hold", "open"}
    ]
    assert "figure 7 " in text.search
    assert found["lp_ft"].counts == {}
    assert found[STUDY].page == "example.html"
    assert build(project, STUDY).exit_code == 0
    html = (project / "pages/example.html").read_text()
    assert all(f"> {item.id}<" in html or f"{item.id}</span>" in html for item in text.contested)
    assert "Something like that is on the page of" in html


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


@pytest.mark.parametrize(
    "content",
    [
        b"", b"\0\xff\x1f\x8b", b"<!doctype html>\n<p>Not found</p>\n",
        f"{','.join(VERDICT_COLUMNS)}\n".encode(),
        f"{','.join(VERDICT_COLUMNS)}\n{','.join(VERDICT_COLUMNS)}\n".encode(),
    ],
    ids=["empty", "binary", "a page", "no rows", "nonsense"],
)  # fmt: skip
def test_a_history_that_is_none_is_named(project, monkeypatch, content):
    monkeypatch.setattr(reference, "draw_all", refuse_to_draw)
    history = project / "history.csv"
    history.write_bytes(content)
    result = build(project, STUDY, "--history", str(history))
    assert result.exit_code == 1
    assert re.fullmatch(r"Error: .*history\.csv: .*or leave out --history\n", result.output)
    assert not (project / "pages").exists()


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
            published = list(map(Path, JOBS.tasks[path].published))
            picture = tmp_path / f"{cores}/{index}/{name}.svg"
            picture.parent.mkdir(parents=True)
            table = folder / f"{name}.csv"
            drawings.append(Drawing(JOBS.order(path), table, checked, published, picture))
        wrong = tmp_path / "wrong.sha256"
        wrong.write_text("0")
        drawings[1] = drawings[1]._replace(checked=wrong)
        said = draw_all(drawings, cores)
        assert "fig2.csv was changed after it was made" in said[1]
        assert [*said[:1], *said[2:]] == [""] * (2 * FIGURES_PER_PROCESS - 1)
        assert not drawings[1].picture.exists()
        found[cores] = [each.picture.read_bytes() for each in drawings if each.picture.exists()]
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
    found = compare_with_paper(ours, papers, ("k", "rate", "mean"))
    assert (found.keys, found.values) == (["k", "rate"], ["mean"])
    assert found.rows == [([1, 0.5], [(2.0, 2.25, -0.25)]), ([1, 1.0], [(3.0, 2.5, 0.5)])]
    assert found.largest == {"mean": 0.5}
    papers.write_text("k,rate,mean\n7,0.5,2.25\n")
    assert compare_with_paper(ours, papers, ("k", "rate", "mean")) is None
    # A figure that shows both has columns of its own.
    papers.write_text("table,rate,mean\n1,0.5,2.25\n")
    assert compare_with_paper(ours, papers, ("table", "rate", "mean")) is None


def paper(authors: str) -> Registry:
    told = {
        "title": "On Falling", "authors": authors, "venue": "Somewhere 2023",
        "url": "https://arxiv.org/abs/2301.00001", "figures": {}, "claims": [], "methods": [],
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


@pytest.mark.parametrize("authors", [",", "and", "A. Lee,", "A. Lee,, B. Ek", "A. Lee and", "-"])
def test_a_missing_author_is_named(authors):
    with pytest.raises(InputError, match=r"^registry\.yaml: authors: a name is missing; write"):
        paper(authors)


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
