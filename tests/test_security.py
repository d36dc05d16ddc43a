"""Nothing that is read is executed: no pickles, no shell in settings."""

import ast
import copy
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from conftest import ROOT, Project
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from transformer_dynamics.config import Configuration
from transformer_dynamics.datasets import Archive, ArchiveUrl
from transformer_dynamics.errors import InputError
from transformer_dynamics.generate import DEFAULTS
from transformer_dynamics.storage import read_arrays

UNSAFE_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
UNSAFE_CALLS = {
    "eval", "exec", "compile", "os.system", "os.popen", "pd.read_pickle", "pandas.read_pickle",
    "yaml.load", "yaml.full_load", "yaml.unsafe_load",
}  # fmt: skip
REQUIRED = {
    "np.load": ("allow_pickle", False),
    "np.savez": ("allow_pickle", False),
    "np.savez_compressed": ("allow_pickle", False),
    "torch.load": ("weights_only", True),
    "jinja2.Environment": ("autoescape", True),
}
"""Arguments without which a call may execute, or let a page execute, what it reads."""


def unsafe(source: str) -> Iterator[str]:
    """What in a program could execute what it reads."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = {alias.name.partition(".")[0] for alias in node.names}
            yield from names & UNSAFE_MODULES
        elif isinstance(node, ast.ImportFrom):
            yield from {(node.module or "").partition(".")[0]} & UNSAFE_MODULES
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            given = {word.arg: ast.unparse(word.value) for word in node.keywords}
            if name in UNSAFE_CALLS or given.get("shell", "False") != "False":
                yield name
            argument, value = REQUIRED.get(name, ("", None))
            if argument and given.get(argument) != str(value):
                yield f"{name} without {argument}={value}"


SOURCES = sorted((ROOT / "src").rglob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_no_program_executes_what_it_reads(path):
    assert list(unsafe(path.read_text())) == []


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from joblib import load",
        "import numpy as np\nnp.load('a.npy')",
        "import numpy as np\nnp.load('a.npy', allow_pickle=True)",
        "import torch\ntorch.load('a.pt')",
        "import torch\ntorch.load('a.pt', weights_only=False)",
        "import pandas as pd\npd.read_pickle('a')",
        "import yaml\nyaml.load(text, yaml.Loader)",
        "import subprocess\nsubprocess.run(text, shell=True)",
        "import subprocess\nsubprocess.run(text, shell=flag)",
        "import os\nos.system(text)",
        "eval(text)",
        "import jinja2\njinja2.Environment()",
    ],
)
def test_unsafe_programs_are_found(source):
    assert list(unsafe(source))


class Bomb:
    """Makes a file when it is loaded from a pickle."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_a_pickle_within_an_intermediate_is_refused_and_not_executed(tmp_path):
    canary, file = tmp_path / "canary", tmp_path / "run.npz"
    bomb = np.array([Bomb(canary)], dtype=object)
    np.savez(file, provenance=np.array("{}"), z=bomb, allow_pickle=True)
    with pytest.raises(InputError, match="truncated, damaged or not made by this project"):
        read_arrays(file, {})
    assert not canary.exists()
    with np.load(file, allow_pickle=True) as archive:
        archive["z"]
    assert canary.exists(), "the file does not do what this test is about"


@pytest.mark.parametrize("member", ["provenance", "z"])
def test_a_whole_pickle_in_place_of_a_member_is_not_executed(tmp_path, member):
    """It is refused, or stays what it is: bytes."""
    import pickle
    import zipfile

    canary, file = tmp_path / "canary", tmp_path / "run.npz"
    np.savez(file, **{name: np.array("{}") for name in {"provenance", "z"} - {member}})
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr(f"{member}.npy", pickle.dumps(Bomb(canary)))
    try:
        found: Any = read_arrays(file, {})["z"]
    except InputError:
        found = b""
    assert isinstance(found, bytes)
    assert not canary.exists()


WORDS = st.text(
    st.sampled_from("$(){}`'\"\\;|&<>*?!#~ -=%aA0\t\né"), min_size=1, max_size=20
).filter(lambda text: not re.fullmatch(r"[A-Za-z0-9]+", text))
FREE = {
    "scan_and_snap.figures.fig6.published": "a path",
    "scan_and_snap.sensitivity.variants.*.title": "words in a table",
    "wikitext.corpora.*.folder": "a path",
    "wikitext.corpora.*.*.name": "the name of a file",
    "wikitext.figures.fig10.panels.*": "words in a figure",
}
"""Settings that may be any text; every other one is a number, a choice or a plain name."""


def places(data: Any, path: tuple = ()) -> Iterator[tuple[tuple, bool]]:
    """Every place of a configuration that can hold text, and whether it is a key."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield (*path, key), True
            yield from places(value, (*path, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from places(value, (*path, index))
    elif data is None or isinstance(data, str):
        yield path, False


def with_text(place: tuple, is_key: bool, text: str) -> dict[str, Any]:
    """The default configuration with a text in one place."""
    data = copy.deepcopy(DEFAULT)
    section = data
    for step in place[:-1]:
        section = section[step]
    section[text if is_key else place[-1]] = section.pop(place[-1]) if is_key else text
    return data


def is_free(place: tuple) -> bool:
    path = ".".join(map(str, place))
    return any(re.fullmatch(free.replace(".", r"\.").replace("*", r"\w+"), path) for free in FREE)


DEFAULT = DEFAULTS.model_dump(mode="json")
PLACES = sorted(places(DEFAULT), key=str)


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(place=st.sampled_from(PLACES), text=WORDS)
@example(place=(("scan_and_snap", "figures", "fig6"), True), text="fig6\n")
@example(place=(("scan_and_snap", "experiments", "syn_medium"), True), text="a;touch b")
@example(place=(("wikitext", "corpora", "wikitext2"), True), text="$(touch b)")
def test_hostile_text_is_refused_wherever_it_is_not_free(place, text):
    where, is_key = place
    if is_free(where) and not is_key:
        Configuration.parse(with_text(where, is_key, text), "configuration")
    else:
        with pytest.raises(InputError, match=r"^configuration"):
            Configuration.parse(with_text(where, is_key, text), "configuration")


def test_every_free_setting_is_one():
    for free in FREE:
        assert any(is_free(place) and not is_key for place, is_key in PLACES), free


UNQUOTED = {
    "params.program": "a module of this project, chosen by the code",
    "params.drawing": "a literal of the settings' types",
    "params.seed": "an integer",
    "params.runs": "a quoted folder and the numbers of seeds in braces, which the shell expands",
    "input.table": "figures/<name>.csv: names are plain",
}
"""What stands in shell commands without quotes, and why it may."""


def test_every_other_value_in_a_shell_command_is_quoted():
    found = set()
    for path in (ROOT / "workflow/rules").glob("*.smk"):
        for command in re.findall(r"shell:\n((?:\s+(?:\".*\"|'.*')\n?)+)", path.read_text()):
            fields = re.findall(r"(?<!\{)\{([\w.]+)(:\w+)?\}(?!\})", command)
            assert fields
            found |= {name for name, quoted in fields if quoted != ":q"}
    assert found == set(UNQUOTED)


HOSTILE = [
    "a b'; touch canary; echo '",
    '$(touch canary)"`touch canary`',
    "-x & touch canary | %s \\",
]
TARGETS = ("figures/fig6.png", "figures/sensitivity.csv", "figures/fig10.png")


def overlaid(project: Project, text: str) -> None:
    """The quick configuration with a text in every free setting, and the files that it names."""
    data = yaml.safe_load((ROOT / "config/quick.yaml").read_text())
    folder = project.folder / text
    folder.mkdir()
    for name in ("train", "valid"):
        (folder / f"{name}{text}").write_text("")
    (project.folder / f"{text}.csv").write_text(
        (ROOT / "papers/scan_and_snap/fig6_published.csv").read_text()
    )
    paper = data["scan_and_snap"]
    paper["figures"]["fig6"] = {"published": f"{text}.csv"}
    paper["sensitivity"]["variants"]["length_512"] = {"title": text}
    files = {name: {"name": f"{name}{text}"} for name in ("train", "valid")}
    data["wikitext"] = {
        "corpora": {"wikitext2": {"folder": text, **files}},
        "figures": {"fig10": {"panels": {"wikitext2": text}}},
    }
    (project.folder / "config/quick.yaml").write_text(yaml.safe_dump(data))


def commands(output: str) -> set[tuple[str, ...]]:
    """Words of every shell command that Snakemake prints, as a shell would see them."""
    lines = re.findall(r"Shell command: (.*)", output)
    split = (shlex.shlex(line, posix=True, punctuation_chars=True) for line in lines)
    found = set()
    for words in split:
        words.commenters = ""
        found.add(tuple(words))
    return found


def planned_commands(folder: Path, text: str) -> set[tuple[str, ...]]:
    """The commands with every occurrence of a text called TEXT, plain or within JSON."""
    import json

    project = Project(folder)
    overlaid(project, text)
    output = project.run(*TARGETS, "--dry-run", "--printshellcmds")
    forms = sorted({text, json.dumps(text)[1:-1]}, key=len, reverse=True)

    def neutral(word: str) -> str:
        for form in forms:
            word = word.replace(form, "TEXT")
        return word

    return {tuple(map(neutral, command)) for command in commands(output)}


def test_hostile_text_is_one_word_of_every_command(tmp_path):
    expected = planned_commands(tmp_path / "plain", "plain")
    assert len(expected) > 20
    assert any("TEXT" in word for command in expected for word in command)
    for number, text in enumerate(HOSTILE):
        assert planned_commands(tmp_path / str(number), text) == expected


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_not_executed(tmp_path, text):
    project = Project(tmp_path)
    overlaid(project, text)
    project.run("figures/fig6.png")
    assert (project.folder / "figures/fig6.png").is_file()
    refused = project.run("results/scan_and_snap/wikitext/tokens/wikitext2.npz", succeed=False)
    assert "Traceback" not in refused
    assert not list(project.folder.rglob("canary"))


def test_braces_in_a_path_are_refused(tmp_path):
    """Snakemake takes them for wildcards."""
    project = Project(tmp_path)
    overlaid(project, "{input}")
    assert "Wildcards in input files" in project.run("figures/fig6.png", succeed=False)
    assert not (project.folder / "results").exists()


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/a.zip",
        "ftp://example.org/a.zip",
        "file:///etc/a.zip",
        "HTTPS://example.org/a.zip",
        "//example.org/a.zip",
        "https:///a.zip",
        "https://example.org/a.zip\n",
        "https://example.org/../x y.zip",
    ],
)
def test_only_https_is_downloaded_from(url):
    with pytest.raises(ValidationError):
        TypeAdapter(ArchiveUrl).validate_python(url)


def test_a_download_without_a_digest_is_refused():
    fields = {"url": "https://example.org/a.zip", "bytes": 1}
    member = {"path": "a"}
    files = {"train": member, "valid": member, "test": member}
    Archive.model_validate({**fields, "files": files, "sha256": "0" * 64})
    for digest in ({}, {"sha256": None}, {"sha256": "0" * 63}, {"sha256": "X" * 64}):
        with pytest.raises(ValidationError):
            Archive.model_validate({**fields, "files": files, **digest})
