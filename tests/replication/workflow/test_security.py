"""Nothing that is read is executed: no pickles, no shell in settings."""

import ast
import copy
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from conftest import DEFAULTS, ROOT, STUDIES, Project
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from replication.base.errors import InputError
from replication.base.storage import read_arrays
from replication.plan.configuration import configuration_type
from replication.plan.jobs import Jobs
from replication.study.datasets import Archive, Download, Url
from replication.study.studies import find_studies

UNSAFE_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
UNSAFE_CALLS = {
    "eval", "exec", "compile", "os.system", "os.popen", "pd.read_pickle", "pandas.read_pickle",
    "yaml.full_load", "yaml.unsafe_load",
}  # fmt: skip
REQUIRED = {
    "np.load": ("allow_pickle", False),
    "np.savez": ("allow_pickle", False),
    "np.savez_compressed": ("allow_pickle", False),
    "torch.load": ("weights_only", True),
    "jinja2.Environment": ("autoescape", True),
    "yaml.load": ("Loader", "Loader"),
}
"""Arguments without which a call may execute, or let a page execute, what it reads."""
SAFE_LOADERS = {"SafeLoader", "CSafeLoader"}
"""What may be imported as `Loader`."""


def unsafe(source: str) -> Iterator[str]:
    """What in a program could execute what it reads."""
    tree = ast.parse(source)
    own = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    stricter = {node.name for node in own if list(map(ast.unparse, node.bases)) == ["Loader"]}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = {alias.name.partition(".")[0] for alias in node.names}
            yield from names & UNSAFE_MODULES
        elif isinstance(node, ast.ImportFrom):
            yield from {(node.module or "").partition(".")[0]} & UNSAFE_MODULES
            loaders = {alias.name for alias in node.names if alias.asname == "Loader"}
            yield from loaders - SAFE_LOADERS
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            given = {word.arg: ast.unparse(word.value) for word in node.keywords}
            if name in UNSAFE_CALLS or given.get("shell", "False") != "False":
                yield name
            argument, value = REQUIRED.get(name, ("", None))
            if name == "yaml.load" and given.get("Loader") in stricter:
                continue
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
        "import yaml\nyaml.load(text, Loader=yaml.Loader)",
        "from yaml import FullLoader as Loader",
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
        read_arrays(file, "")
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
        found: Any = read_arrays(file, "")["z"]
    except InputError:
        found = b""
    assert isinstance(found, bytes)
    assert not canary.exists()


WORDS = st.text(
    st.sampled_from("$(){}`'\"\\;|&<>*?!#~ -=%aA0\t\né"), min_size=1, max_size=20
).filter(lambda text: not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 -]*", text))
"""No plain labels: some keys may be one, with spaces and hyphens."""
FREE = {
    "scan_and_snap": {
        "sensitivity.variants.*.title": "words in a table",
    },
    "scan_and_snap_text": {
        "corpora.*.folder": "a path",
        "corpora.*.*.name": "the name of a file",
        "figures.fig10.panels.*": "words in a figure",
        "variants.*.title": "words in a table",
    },
}
"""Settings that may be any text; every other one is a number, a choice or a plain name."""
OF_FILES = {"a path", "the name of a file"}
"""Those that Snakemake reads, which takes braces for wildcards."""


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


def freedom(place: tuple) -> str | None:
    """What a setting is that may be any text."""
    study, *keys = map(str, place)
    for free, what in FREE.get(study, {}).items():
        if re.fullmatch(free.replace(".", r"\.").replace("*", r"\w+"), ".".join(keys)):
            return what
    return None


DEFAULT = DEFAULTS.model_dump(mode="json")
# What numbers read off the paper are called is free, and names no file.
PLACES = sorted(
    (place for place in places(DEFAULT) if "read_off_the_paper" not in place[0]), key=str
)


def planned(data: dict[str, Any], study: str) -> Jobs:
    """The jobs of one study of a whole configuration."""
    studies = {study: find_studies()[study]} if study in find_studies() else find_studies()
    others = find_studies().keys() - studies.keys()
    wanted = {key: value for key, value in data.items() if key not in others}
    return Jobs.of(configuration_type(studies).parse(wanted, "configuration"), studies)


@settings(max_examples=15 * settings.default.max_examples)
@given(place=st.sampled_from(PLACES), text=WORDS)
@example(place=(("scan_and_snap", "figures", "fig6"), True), text="fig6\n")
@example(place=(("scan_and_snap", "experiments", "syn_medium"), True), text="a;touch b")
@example(place=(("scan_and_snap_text", "corpora", "wikitext2"), True), text="$(touch b)")
@example(place=(("scan_and_snap_text", "corpora", "wikitext2", "folder"), False), text="{a")
@example(place=(("scan_and_snap_text", "corpora", "wikitext2", "folder"), False), text="a $b")
@example(place=(("scan_and_snap_text", "corpora", "wikitext2", "train", "name"), False), text="\n")
@example(place=(("example", "experiments", "printed"), True), text="../../printed")
@example(place=(("example", "figures", "fig1"), True), text="a b")
@example(place=(("example", "figures", "fig1"), True), text="-")
@example(place=(("example", "experiments", "printed"), True), text="-")  # claims name `printed`
def test_hostile_text_is_refused_wherever_it_is_not_free(place, text):
    """Of a study that is not listed, settings may be free, but no names of its files."""
    where, is_key = place
    data = with_text(where, is_key, text)
    what = None if is_key else freedom(where)
    if what == "the name of a file":
        # Without a folder of one's own no file is read under this name.
        study, corpora, corpus, *_ = where
        data[study][corpora][corpus]["folder"] = "texts"
    if what in OF_FILES and (set("{}") & set(text) or not text.isprintable()):
        with pytest.raises(InputError, match="characters that mean something else to Snakemake"):
            planned(data, where[0])
    elif what:
        planned(data, where[0])
    elif is_key or where[0] in FREE or where[0] == "computation":
        with pytest.raises(InputError, match=r"^configuration|did the configuration remove it"):
            planned(data, text if len(where) == 1 else where[0])


def test_every_free_setting_is_one():
    for study, settings_of_study in FREE.items():
        for free in settings_of_study:
            path = f"{study}.{free}".replace(".", r"\.").replace("*", r"\w+")
            assert any(
                re.fullmatch(path, ".".join(map(str, place))) and not is_key
                for place, is_key in PLACES
            ), free


def test_every_value_in_a_shell_command_is_quoted():
    found = set()
    for path in [*(ROOT / "workflow/rules").glob("*.smk"), *(ROOT / "src").rglob("*.smk")]:
        commands = r"shell:\n((?:\s*f?(?:\".*\"|'.*')\n?)+)"
        for text in re.findall(commands, path.read_text()):
            # What stands in an f-string has its braces twice.
            command = (
                text.replace("{{", "{")
                .replace("}}", "}")
                .replace("{LOGGED}", "")
                .replace("{SHOWN}", "")
            )
            fields = re.findall(r"(?<!\{)\{([\w.]+)(:\w+)?\}(?!\})", command)
            assert fields
            found |= {name for name, quoted in fields if quoted != ":q"}
    assert found == set()


PATHS = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["a/", "a b/", "$(a)/"]),
    WORDS,
    st.sampled_from(["", "1-10,12", ","]),
    st.sampled_from(["", ".npz", ".csv; a"]),
)


HOSTILE = [
    "a b'; touch canary; echo '",
    '$(touch canary)"`touch canary`',
    "-x & touch canary | %s \\",
]
ALL_AT_ONCE = "".join(reversed(HOSTILE))
TEXTS = [
    pytest.param(ALL_AT_ONCE, id="all at once"),
    *(pytest.param(text, marks=pytest.mark.thorough) for text in HOSTILE),
]
TARGETS = ("figures/fig6.png", "figures/sensitivity.csv", "figures/fig10.png")


def overlaid(folder: Path, text: str) -> Project:
    """A project of the studies with free settings, and the files that a text in each names."""
    project = Project(folder)
    for other in STUDIES.keys() - FREE.keys():
        shutil.rmtree(project.folder / "src/transformer_dynamics" / other)
    data = yaml.safe_load((ROOT / "config/quick.yaml").read_text())
    data = {study: data[study] for study in FREE}
    folder = project.folder / text
    folder.mkdir()
    for name in ("train", "valid"):
        (folder / f"{name}{text}").write_text("")
    published = project.folder / "src/transformer_dynamics/scan_and_snap/published"
    (published / f"{text}.csv").write_text((published / "fig6.csv").read_text())
    paper, training_on_text = data["scan_and_snap"], data["scan_and_snap_text"]
    paper["figures"]["fig6"] = {"published": f"{text}.csv"}
    paper["sensitivity"]["variants"]["length_512"] = {"title": text}
    files = {name: {"name": f"{name}{text}"} for name in ("train", "valid")}
    training_on_text["corpora"] = {"wikitext2": {"folder": text, **files}}
    training_on_text["figures"]["fig10"] = {"panels": {"wikitext2": text}}
    (project.folder / "config/quick.yaml").write_text(yaml.safe_dump(data))
    return project


def commands(output: str) -> set[tuple[str, ...]]:
    """Words of every shell command that Snakemake prints, as a shell would see them."""
    lines = re.findall(r"Shell command: (.*)", output)
    split = (shlex.shlex(line, posix=True, punctuation_chars=True) for line in lines)
    found = set()
    for parts in split:
        parts.commenters = ""
        found.add(tuple(parts))
    return found


def planned_commands(folder: Path, text: str) -> set[tuple[str, ...]]:
    """The commands with every occurrence of a text called TEXT, plain or within JSON."""
    import json

    project = overlaid(folder, text)
    output = project.run(*TARGETS, "--dry-run", "--printshellcmds")
    forms = sorted({text, json.dumps(text)[1:-1]}, key=len, reverse=True)

    def neutral(word: str) -> str:
        for form in forms:
            word = word.replace(form, "TEXT")
        # What is read was made with the text among its settings.
        return re.sub(r"\b[0-9a-f]{16}\b", "DIGEST", word)

    return {tuple(map(neutral, command)) for command in commands(output)}


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The commands of a text in which nothing has a meaning."""
    return planned_commands(tmp_path_factory.mktemp("plain"), "plain")


@pytest.mark.parametrize("text", TEXTS)
def test_hostile_text_is_one_word_of_every_command(tmp_path, expected, text):
    assert len(expected) > 20
    assert not any("TEXT" in word for command in expected for word in command)
    assert planned_commands(tmp_path, text) == expected


@pytest.mark.parametrize("text", TEXTS)
def test_hostile_text_is_not_executed(tmp_path, text):
    project = overlaid(tmp_path, text)
    project.run("figures/fig6.png")
    assert (project.folder / "figures/fig6.png").is_file()
    refused = project.run("results/scan_and_snap_text/data/wikitext2.npz", succeed=False)
    assert "Traceback" not in refused
    assert not list(project.folder.rglob("canary"))


def test_braces_in_a_path_are_refused(tmp_path):
    """Snakemake takes them for wildcards."""
    project = overlaid(tmp_path, "{input}")
    said = project.run("figures/fig6.png", succeed=False)
    assert "has characters that mean something else to Snakemake; rename" in said
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
        TypeAdapter(Url).validate_python(url)


@pytest.mark.parametrize(("kind", "own"), [(Archive, {"files": {"train": "a"}}), (Download, {})])
def test_a_download_without_a_digest_is_refused(kind, own):
    fields = {"url": "https://example.org/a.zip", "bytes": 1, **own}
    kind.model_validate({**fields, "sha256": "0" * 64})
    for digest in ({}, {"sha256": None}, {"sha256": "0" * 63}, {"sha256": "X" * 64}):
        with pytest.raises(ValidationError):
            kind.model_validate({**fields, **digest})
