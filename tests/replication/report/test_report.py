"""The page: what stands in it, and what it refuses."""

import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from conftest import JOBS, PAGE, ROOT, Template, counted
from markupsafe import escape
from report_folder import CLAIMS, Folder

from replication.base import project
from replication.base.project import commit_name
from replication.report.page import findings, place_in_paper
from replication.report.site import Site, folder_of
from replication.report.steps import SiteSteps


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Folder(tmp_path)


FILES = ("all-comparisons.csv", "fig1.csv", "fig1.svg", "fig6.csv", "fig6.png")


# What stands in the page


def test_same_bytes_twice(folder):
    first = folder.html()
    assert folder.html() == first
    assert "abc1234-dirty" in first
    assert str(folder.path) not in first.replace(str(folder.path / "verdicts"), "")


def test_only_files_beside_it_are_fetched_and_only_its_own_script_runs(folder):
    html = folder.html()
    links = re.findall(r'\s(?:src|href)="([^"]*)"', html)
    ids = {f"#{name}" for name in re.findall(r'\sid="([^"]*)"', html)}
    assert [
        link
        for link in links
        if link != "data:," and not (link in ids or (folder.page.parent / link).is_file())
    ] == []
    for name in ("fig1.svg", "fig6.png"):
        assert (
            f'The picture is paper/{name}, in the folder that belongs beside this page.">' in html
        )
    files = {link for link in links if link.startswith("paper/")}
    made = {f"paper/{path.name}" for path in folder.page.with_suffix("").iterdir()}
    assert files == made == {f"paper/{name}" for name in FILES}
    assert "@import" not in html
    assert "url(" not in html
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', html)
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'; img-src 'self' data:; style-src 'sha256-")
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
    assert "Figure</h3>" in html
    assert "Theorem</h3>" in html
    errata = html[html.index('<section id="errata"') :]
    assert [name for name in places if f'id="claim-{name}"' in errata] == ["E1", "B"]
    assert "What holds instead:</b> Note of E1" in errata
    assert 'alt="Figure 1. Two curves that fall. Claims: T3 replicated; T4 in part; E1' in html


def test_texts_of_figures_cite_their_own_tables(folder):
    folder.write_table("fig1", "x,y\n1,2\n3,5\n")
    spoil("registry.yaml", b"Of eta_Y.", b"Up to {{ table.y.max() }} of eta_Y.")(folder)
    spoil("registry.yaml", b"Two curves", b"With {{ table | length | words }} curves")(folder)
    html = folder.html()
    assert '<p class="caption">Up to 5 of η<sub>Y</sub>.' in html
    assert '<p class="caption">Up to 4 of η<sub>Y</sub>.' in html
    assert 'alt="Figure 1. With two curves that fall.' in html


def test_a_claim_is_told_in_the_same_words_everywhere(folder):
    path = folder.path / "registry.yaml"
    registry = yaml.safe_load(path.read_text())
    (told,) = (each for each in registry["claims"] if each["id"] == "T2b")
    told |= {"headline": "In short", "statement": "At length"}
    path.write_text(yaml.safe_dump(registry))
    html = folder.html()
    assert html.count("In short") == 3
    assert html.count("At length") == 1
    assert "needed at least \u22121.1 and at most \u22120.9: entropy in nats." in html


def test_a_search_knows_words_that_mean_the_same(folder):
    path = folder.path / "registry.yaml"
    path.write_text(path.read_text() + "synonyms: [[entropy, sparsity], [T9, nothing else]]\n")
    html = folder.html()
    assert html.count("entropy sparsity") == len([name for name, test, *_ in CLAIMS if test])
    assert "nothing else" not in html


def test_figures_stand_in_the_order_of_the_paper():
    labels = ["Votes", "Figure S.2", "Table 1", "Figure 10", "Figure 2b", "Tables 2 and 9",
              "Table S.3", "Figure 2a", "Bounds", "Figure S.1"]  # fmt: skip
    assert sorted(labels, key=place_in_paper) == [
        "Figure 2a", "Figure 2b", "Figure 10", "Table 1", "Tables 2 and 9",
        "Figure S.1", "Figure S.2", "Table S.3", "Votes", "Bounds",
    ]  # fmt: skip


def test_findings_are_shown_if_a_study_tells_them(tmp_path):
    readme = tmp_path / "README.md"
    assert findings(readme, set()) == []
    readme.write_text(
        "# Paper\n\nIts question.\n\n## What holds\n\n![Card](a.png)\n\n"
        "Of eta_Y, **all** of [it](docs/claims.md#T1) *holds*\nhere.\n\n"
        "<!-- hidden -->\n[Web](https://a.org/b) [file](../x.md) <script>[bad](javascript:x)\n\n"
        "Sentences by mark:\n\n| a |\n| --- |\n\nAt the scale <sup>1</sup>.\n\n## Cost\n\nMuch.\n"
    )
    assert findings(readme, {"T1"}) == [
        'Of η<sub>Y</sub>, <strong>all</strong> of <a href="#claim-T1">it</a> <em>holds</em> here.',
        '<a href="https://a.org/b">Web</a> file &lt;script&gt;bad',
    ]


def test_nothing_stale_stays_in_the_folder_of_a_page_and_nothing_else_is_removed(folder):
    folder.html()
    beside = folder.page.with_suffix("")
    (beside / "fig7.svg").touch()
    folder.html()
    assert sorted(path.name for path in beside.iterdir()) == sorted(FILES)
    (beside / "notes.txt").touch()
    assert "notes.txt: is not part of a page, and" in folder.build().output
    assert (beside / "notes.txt").exists()


def test_a_table_that_was_changed_after_it_was_made_is_refused(folder):
    spoil("fig6.csv", b"4", b"5")(folder)
    assert "fig6.csv was changed after it was made" in folder.build().output


def spoil(path, old, new):
    def change(folder):
        file = folder.file(path)
        content = file.read_bytes()
        assert old in content
        file.write_bytes(content.replace(old, new))

    return change


def add_unknown_kind(folder):
    folder.copy_figure("fig1", "other")
    folder.figures["other"] = {"kind": "fig66"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder: folder.file("verdicts/T1.json").unlink(), "T1.json: there is no such file"),
        (spoil("verdicts/T2a.json", b'"T2a"', b'"T2b"'), "verdicts/T2a.json was changed after it"),
        (
            lambda folder: shutil.copy(
                folder.file("verdicts/T1.json"), folder.file("verdicts/T2a.json")
            ),
            "verdicts/T2a.json is the verdict on T1; give the same command again",
        ),
        (spoil("verdicts/T1.json", b'"seeds"', b'"seed'), "verdicts/T1.json: truncated, damaged"),
        (
            spoil("verdicts/T1.json", b'"verified"', b'"true"'),
            "T1.json was changed after it was made",
        ),
        (spoil("fig1.csv", b"3,4", b"3,4,5"), "fig1.csv: truncated, damaged"),
        (spoil("fig1.csv", b"1,2\n3,4\n", b""), "fig1.csv: has no rows"),
        (add_unknown_kind, "says nothing of the kind 'fig66'"),
        (
            spoil("registry.yaml", b"Of eta_Y.", b"Of {{ table.z.max() }}."),
            "fig1: caption: cannot be cited: 'pandas.DataFrame object' has no attribute 'z'",
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
    assert sorted(folder.page.parent.iterdir()) == [folder.page.with_suffix(""), folder.page]


# In the workflow


def test_the_page_of_a_study_tells_its_commands_and_costs(finished: Template):
    html = (finished.folder / PAGE).read_text()
    for target in (PAGE, "figures/example/fig1.pdf", "results/example/verdicts/C1.json"):
        assert f'data-copy="snakemake {target}"' in html
    assert "Everything, from nothing: " in html


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("src/replication/report/views.py", "\nMOST_MARKS = ", "\nMOST_MARKS = 1 + "),
        ("src/replication/report/templates/plot.html", "Evidence: ", "Proof: "),
        ("src/transformer_dynamics/example/registry.yaml", "e: invented", "e: found"),
    ],
)
def test_the_page_depends_on_its_templates_code_and_texts(
    finished_project: Template, path: str, old: str, new: str
):
    finished_project.edit(path, old, new)
    output = finished_project.run(PAGE, "--dry-run", "--printshellcmds")
    assert counted(output) == {"page": 1}
    assert f"{PAGE}: something that it shows, or the code that writes it, changed" in output


def test_the_page_depends_on_the_receipts_of_others(finished_project: Template):
    """As far as there are any; the reference, which is there, is no reason."""
    receipts = finished_project.folder / "reproductions/example"
    receipts.mkdir(parents=True)
    assert finished_project.planned(PAGE) == {}
    (receipts / "one.json").write_text("{}")
    assert finished_project.planned(PAGE) == {"page": 1}


def test_snakemake_and_the_reference_make_the_same_site(
    finished_project: Template, monkeypatch: pytest.MonkeyPatch
):
    """All but the commands that make the pages, and the configuration."""
    monkeypatch.chdir(finished_project.folder)
    finished_project.run("report", "--config", "study=example")
    told = ["report", "--reference", "--output", "pages", "example"]
    subprocess.run(
        [sys.executable, "-m", "replication", *told], env=finished_project.environment, check=True
    )
    sites = [Path("results/report"), Path("pages")]
    names = [sorted(str(path.relative_to(site)) for path in site.rglob("[!.]*")) for site in sites]
    assert names[0] == names[1]
    assert {"index.html", "example.html", "example/fig1.svg"} <= {*names[0]}
    for name in names[0]:
        if name.endswith((".html", ".svg")):
            first, second = ((site / name).read_text() for site in sites)
            if name.endswith(".html"):
                first, stamp, _ = first.rpartition("<!-- made from ")
                assert stamp
            first = first.replace("results/config.yaml, SHA", "the study&#39;s defaults, SHA")
            first, second = (
                re.sub("SHA-256 <code>.*?</code>", "", text) for text in (first, second)
            )
            first = re.sub(
                r"snakemake results/report/(\w+).html",
                r"python -m replication report --reference \1",
                first,
            )
            assert first == second, name


def test_results_are_found_where_a_storage_provider_puts_them():
    jobs = replace(JOBS, steps={**JOBS.steps})
    SiteSteps(jobs, ROOT, [], list).add(PAGE)
    planned = [each.path for each in jobs.steps[PAGE].inputs]
    assert {"figures/example/fig1.svg", "figures/example/fig1.csv"} <= {*planned}
    stored = jobs.ready(PAGE, [], [f"storage/{path}" for path in planned])
    assert folder_of(stored) == Path("storage")
    assert folder_of(jobs.ready(PAGE)) == Path()


def test_commit_is_that_of_the_project_alone(tmp_path):
    assert commit_name(tmp_path) == "unknown"
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", *identity, *command], cwd=tmp_path, check=True)
    assert re.fullmatch("[0-9a-f]{7,}", commit_name(tmp_path))
    (tmp_path / "inner").mkdir()
    assert commit_name(tmp_path / "inner") == "unknown"


REASONS = {
    "owner": ("fatal: detected dubious ownership in repository at '/x'\nTo add an exception for"
              " this directory, call:\n\n\tgit config --global --add safe.directory /x\n"),
    "no repository": "fatal: not a git repository (or any of the parent directories): .git\n",
}  # fmt: skip


@pytest.mark.parametrize("name", [*REASONS, "no git"])
def test_why_the_code_is_unknown_is_said_with_the_remedy_of_git(
    folder, tmp_path, monkeypatch, capfd, name
):
    project._say_once.cache_clear()
    reason = "git cannot be started (No such file or directory); install it"
    git = tmp_path / "bin/git"
    git.parent.mkdir()
    if name in REASONS:
        git.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{REASONS[name]}END\nexit 128\n")
        git.chmod(0o755)
        monkeypatch.setenv("PATH", f"{git.parent}:/usr/bin:/bin")
        reason = " ".join(REASONS[name].split())
    else:
        monkeypatch.setenv("PATH", str(git.parent))
    assert commit_name(tmp_path) == commit_name(tmp_path) == "unknown"
    said = f"The state of the code is unknown: {reason}\n"
    assert capfd.readouterr().err == said
    html = folder.html(commit="unknown")
    assert f"<dt>Code</dt><dd><code>unknown</code> ({escape(reason)})</dd>" in html
    assert "<dt>Code</dt><dd><code>abc1234-dirty</code></dd>" in folder.html()


def test_pages_link_to_pages_that_are_asked_for_or_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results/report").mkdir(parents=True)
    pages = ["scan_and_snap", "lp_ft"]

    def site(*targets):
        jobs = replace(JOBS, steps={**JOBS.steps})
        SiteSteps(jobs, ROOT, pages, lambda: targets).add(PAGE)
        facts = jobs.steps[PAGE].facts
        return Site(facts["pages"], facts["index"])

    def links(*targets):
        return {name: link for name, link in site(*targets).links if link}

    assert links("example") == links("results/report/example.html") == {"example": "example.html"}
    assert links("example", "lp_ft") == {"lp ft": "lp_ft.html", "example": "example.html"}
    everything = links("report")
    assert everything["scan and snap"] == "scan_and_snap.html"
    assert everything["recurrent attention"] == "index.html#recurrent_attention"
    (tmp_path / "results/report/lp_ft.html").touch()
    assert links("example") == {"lp ft": "lp_ft.html", "example": "example.html"}
    (tmp_path / "results/report/index.html").touch()
    assert links("example")["scan and snap"] == "index.html#scan_and_snap"
