"""A release: its version, its workflow, the forms of issues, and the bytes of text files."""

import csv
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import check_jsonschema
import jsonschema
import pytest
import yaml
from conftest import ROOT, copy_code

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("[!c]*.yml"))
VERSIONED = (
    "pyproject.toml", "engine/pyproject.toml", "CITATION.cff", "CHANGELOG.md", ".github/version",
)  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in VERSIONED:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def version(folder: Path, *tag: str) -> subprocess.CompletedProcess[str]:
    words = [folder / ".github/version", *tag]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_a_tag_names_the_version(project):
    known = version(project)
    assert known.returncode == 0, known.stderr
    assert version(project, f"v{known.stdout.strip()}").returncode == 0
    assert version(project, "main").returncode == 0
    refused = version(project, "v0.0.1")
    assert refused.returncode == 1
    assert "The tag is v0.0.1, and the version" in refused.stderr


@pytest.mark.parametrize("name", VERSIONED[1:4])
def test_a_file_that_lacks_the_version_is_named(project, name):
    path = project / name
    path.write_text(path.read_text().replace(version(project).stdout.strip(), "9.9.9"))
    refused = version(project)
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"{name}: version")


PINS = ".github/actions.csv"
DAY = "2026-11-28"
"""A day on which somebody looked at all actions: no test may depend on today's."""


def pins(folder: Path, day: str = DAY) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, folder / ".github/pins", day]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_a_day_that_is_none_is_one_sentence():
    done = pins(ROOT, "31.1.2026")
    assert (done.returncode, done.stderr) == (1, "31.1.2026: is no date, such as 2026-01-31\n")


def test_every_action_stands_in_the_table_with_a_runtime_that_github_has():
    with (ROOT / PINS).open() as stream:
        last = max(row["looked_at"] for row in csv.DictReader(stream))
    done = pins(ROOT, last)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("file", "change", "day", "message"),
    [
        (PINS, ("node24", "node20"), DAY, "runs on node20, which is retired; take a newer version"),
        (
            ".github/workflows/weekly.yml", ("actions/checkout@0", "actions/checkout@1"), DAY,
            "weekly.yml: actions/checkout@18c6903cd8c0fde910a37f88322edcfb5dd907a8 # v5.0.0 does",
        ),
        (
            ".github/workflows/weekly.yml", ("# v5.0.0", "# v4.0.0"), DAY,
            "# v4.0.0 does not stand in .github/actions.csv",
        ),
        (PINS, (DAY, DAY), "2027-06-30", f"looked at last on {DAY}; look for newer versions and"),
        (PINS, (DAY, "2026-01-31"), DAY, "looked at last on 2026-01-31; look for newer versions"),
    ],
)  # fmt: skip
def test_an_action_that_ages_is_told(tmp_path, file, change, day, message):
    copy_code(ROOT / ".github", tmp_path / ".github")
    path = tmp_path / file
    if file == PINS:
        path.write_text(re.sub(r"\d{4}-\d\d-\d\d", DAY, path.read_text()))
    assert change[0] in path.read_text()
    path.write_text(path.read_text().replace(*change))
    done = pins(tmp_path, day)
    assert done.returncode == 1
    assert message in done.stderr


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_may_read_and_names_actions_by_their_commit(path):
    text = path.read_text()
    assert yaml.safe_load(text)["permissions"] == {"contents": "read"}
    for used in actions(path):
        assert re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40} # v[\d.]+", used)


def test_an_action_has_one_commit_in_all_workflows():
    used = {tuple(each.split("@")) for path in WORKFLOWS for each in actions(path)}
    assert len(used) == len({name for name, _ in used})


def actions(path: Path) -> list[str]:
    return re.findall(r"uses: (.*)", path.read_text())


def test_a_release_is_uploaded_once_it_is_whole():
    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"]
    uploads = ["uses" in step and "upload" in step["uses"] for step in jobs["build"]["steps"]]
    assert uploads == sorted(uploads)
    assert jobs["publish"]["needs"] == "build"
    assert jobs["publish"]["if"] == "${{ github.ref_type == 'tag' }}"
    assert all("checkout" not in step.get("uses", "") for step in jobs["publish"]["steps"])


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_of_an_issue_is_valid(path):
    folder = Path(check_jsonschema.__file__).parent / "builtin_schemas/vendor"
    schema = json.loads((folder / "github-issue-forms.json").read_text())
    jsonschema.validate(yaml.safe_load(path.read_text()), schema)


def test_supported_versions_of_python_are_those_that_are_tested():
    workflow = yaml.safe_load((ROOT / ".github/workflows/pull_request.yml").read_text())
    tested = workflow["jobs"]["tests"]["strategy"]["matrix"]["python"]
    told = ", ".join(f"Python {each}" for each in tested)
    assert f"| Python | {told} |" in (ROOT / "SUPPORT.md").read_text()


def test_supported_systems_are_those_for_which_torch_has_wheels():
    """A comment among the hashes has their tags, for the version that is locked."""
    (pin,) = re.findall("^torch==.*$", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    hashes = (ROOT / "requirements.hashes").read_text()
    (tags,) = re.findall(f"^# {re.escape(pin)} has wheels for (.*)[.]$", hashes, re.MULTILINE)
    rows = re.findall(
        r"^\| (system|processor) \| (.*) \| (.*) \| (.*) \|$",
        (ROOT / "SUPPORT.md").read_text(),
        re.MULTILINE,
    )
    assert [row[0] for row in rows] == ["system", "processor"]
    (supported, may_work, never), (processor, other, _) = (row[1:] for row in rows)
    told = {
        *(f"manylinux_{each}_x86_64" for each in _versions("Linux with glibc", supported)),
        *(f"manylinux_{each}_aarch64" for each in _versions("Linux with glibc", supported)),
        *(f"macosx_{each}_0_arm64" for each in _versions("macOS", may_work)),
        # Of no use without locks of files.
        "win_amd64",
    }
    assert told == {*tags.split(", ")}
    assert processor.startswith("`x86_64`")
    assert other == "ARM64"
    assert "on ARM64" in may_work
    assert never.startswith("Linux with musl, macOS on Intel,")
    assert "Windows itself" in never


def _versions(system: str, text: str) -> list[str]:
    return [each.replace(".", "_") for each in re.findall(rf"{system} `([\d.]+)` or later", text)]


def git(*words: str, given: str = "") -> str:
    done = subprocess.run(
        ["git", *words], cwd=ROOT, capture_output=True, text=True, check=True, input=given
    )
    return done.stdout


def test_every_generated_document_is_marked_and_no_other():
    listed = git("ls-files", "*.md").split()
    marks = git("check-attr", "--stdin", "linguist-generated", given="\n".join(listed))
    marked = {line.split(":")[0] for line in marks.splitlines() if line.endswith(": set")}
    made = {name for name in listed if (ROOT / f"{name}.jinja").is_file()}
    pages = {name for name in listed if re.fullmatch(r"docs/\w+/claims.md", name)}
    pages |= {name for name in listed if re.fullmatch(r"docs/\w+/authors/\w+.md", name)}
    assert marked == made | pages


def test_git_changes_no_byte_of_a_text():
    """Digests are made of bytes: a file in git has the ends of lines that its attributes say."""
    wrong = [
        line
        for line in git("ls-files", "--eol").splitlines()
        if re.match(r"i/(crlf|mixed)", line) and "attr/-text" not in line
    ]
    assert wrong == []
