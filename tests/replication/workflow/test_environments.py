"""Every environment installs exactly a lock."""

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import distributions, packages_distributions
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from conftest import PRODUCT, copy_code

from replication.new import environment
from replication.new.command import render
from replication.new.environment import FILES, entries

ROOT = Path(__file__).parents[3]
LOCKS = ("requirements.lock", "requirements-cluster.lock", "requirements-dev.lock")
"""To compute, with plugins for clusters, and with what tests need; each has all of the last one."""
ENCODERS = "requirements-encoders.lock"
"""What studies of pretrained encoders need: all of the first, and a part of the last."""
OURS = ["--no-deps", "--no-build-isolation", "-e", "."]
SILENT = {"--quiet", "--disable-pip-version-check", "--no-cache-dir"}
WITH_OTHERS = {"cycler", "pydantic-core", "snakemake-interface-logger-plugins"}
"""Packages that come with others: Matplotlib, pydantic and Snakemake."""


def pins(lock: str = LOCKS[-1]) -> dict[str, str]:
    lines = (ROOT / lock).read_text().splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def pip_installs(text: str) -> list[list[str]]:
    """Arguments of every `pip install` of a script, in their order, besides how it tells of it."""
    calls = re.findall(r"-m pip install (.*?)(?: && \\|; \\|$)", text, flags=re.MULTILINE)
    return [[word for word in shlex.split(call) if word not in SILENT] for call in calls]


@pytest.mark.parametrize("recipe", ["Dockerfile", "apptainer.def"])
def test_containers_install_exactly_the_locks_of_all_studies_and_of_clusters(recipe):
    installs = pip_installs((ROOT / recipe).read_text())
    assert installs == [["-r", LOCKS[1], "-r", ENCODERS], OURS]


@pytest.mark.parametrize(
    ("target", "lock"),
    [
        ("environment", LOCKS[0]),
        ("cluster", LOCKS[1]),
        ("encoders", ENCODERS),
        ("tools", LOCKS[2]),
        ("figures/fig6.pdf", LOCKS[0]),
    ],
)
def test_make_installs_exactly_the_lock(target, lock):
    """By a Python that knows nothing of the user's own packages."""
    done = subprocess.run(
        ["make", "--dry-run", "PYTHON=python3", target],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    program = "src/replication/new/environment.py"
    (words,) = re.findall(rf'"\$python" -I {program} (.*)', done.stdout)
    assert words.split()[0] == lock
    assert '--hashes "requirements.hashes"' in words


def test_what_is_installed_has_hashes():
    """All of a lock except torch."""
    text = entries((ROOT / "requirements.hashes").read_text(), (ROOT / LOCKS[0]).read_text())
    found = re.findall(
        r"^(\S+==\S+) \\\n(?: +--hash=sha256:[0-9a-f]{64}(?: \\)?\n)+", text, re.MULTILINE
    )
    assert {*found} == {
        f"{name}=={version}" for name, version in pins(LOCKS[0]).items() if name != "torch"
    }


def test_what_make_imports_before_an_environment_is_ready_can_be_imported():
    words = re.findall(r"--imports (.*)", (ROOT / "Makefile").read_text())
    modules = words[0].split()
    assert {"torch", "snakemake.cli", "transformer_dynamics"} <= {*modules}
    assert all(map(find_spec, modules))


def test_every_locked_package_has_hashes_and_no_other():
    text = (ROOT / "requirements.hashes").read_text()
    known = re.findall("^[^ ]+==[^ ]+", text, re.MULTILINE)
    wanted = {f"{name}=={version}" for name, version in (pins() | pins(LOCKS[1])).items()}
    assert sorted(wanted - {f"torch=={pins()['torch']}"}) == known


def test_every_lock_has_all_of_the_one_before():
    fewer, more, most = map(pins, LOCKS)
    assert fewer.items() < more.items() < most.items()
    assert fewer.items() < pins(ENCODERS).items() < most.items()
    read = {"onnx", "transformers", "tokenizers", "safetensors"}
    assert read <= pins(ENCODERS).keys() - fewer.keys()


def test_a_figure_needs_no_tools():
    """Who draws a figure waits for nothing that tests and linters need."""
    assert not {"mypy", "pytest", "playwright", "statsmodels", "kubernetes"} & {*pins(LOCKS[0])}


@pytest.fixture
def clone(tmp_path):
    """What `make` needs before anything is installed, below a path with a space."""
    folder = tmp_path / "my papers"
    program = folder / "src/replication/new/environment.py"
    program.parent.mkdir(parents=True)
    for name in ("Makefile", *FILES, str(program.relative_to(folder))):
        shutil.copy(ROOT / name, folder / name)
    return folder


def make(clone: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", *words, "environment"], cwd=clone, env={"PATH": os.environ["PATH"], **variables},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_without_a_suitable_python_one_sentence_says_so(clone, tmp_path):
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("sh", "make"):
        (tools / name).symlink_to(str(shutil.which(name)))
    (tools / "python3").write_text("#!/bin/sh\nexit 1\n")
    (tools / "python3").chmod(0o755)
    done = make(clone, PATH=str(tools))
    assert done.returncode == 2
    assert done.stderr.startswith("Python 3.11, 3.12 or 3.13 is needed; install one, or name it:")
    assert not (clone / ".venv").exists()


@pytest.mark.parametrize("of", ["ours", "new"])
def test_the_first_python_that_suits_is_taken(clone, tmp_path, of):
    """Here and in a repository that `new` makes; it is told nothing of the user's own packages."""
    if of == "new":
        render(tmp_path / "new", "mypaper", torch=False)
        shutil.copy(tmp_path / "new/Makefile", clone)
    for name, code in (("python3", 1), ("python3.13", 0)):
        script = f'#!/bin/sh\n[ "$2" = -c ] && exit {code}\necho "$0 $*, $PYTHONPATH$PIP_USER"\n'
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = make(clone, PATH=path, PYTHONPATH="/modules", PYTHONHOME="/none", PIP_USER="1")
    assert done.returncode == 0, done.stderr
    assert re.match(r".*/python3\.13 -I .*environment\.py requirements\.lock .*, \n$", done.stdout)


def test_an_interrupted_installation_never_looks_whole(clone, monkeypatch):
    """Neither the first one, nor one for another lock that is put back afterwards."""
    ready, called = clone / ".venv/.ready", clone / "called"
    # `venv` is cut off before it has cleared or made anything, together with make.
    (clone / "cut.py").write_text(
        "import os, runpy, signal, subprocess, sys\n"
        "def cut(*words, **options):\n"
        f"    open({str(called)!r}, 'a').write('x')\n"
        "    os.killpg(0, signal.SIGKILL)\n"
        "subprocess.run = cut\n"
        "sys.argv = sys.argv[2:]\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    python = clone / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{clone}/cut.py" "$@"\n')
    python.chmod(0o755)

    def starts() -> int:
        """Number of installations that began, after another `make`."""
        words = ["make", f"PYTHON={python}", "environment"]
        subprocess.run(words, cwd=clone, check=False, capture_output=True, start_new_session=True)
        return len(called.read_text()) if called.exists() else 0

    assert (starts(), starts(), ready.exists()) == (1, 2, False)
    (clone / ".venv/bin").mkdir(parents=True)
    (clone / ".venv/bin/python").symlink_to(sys.executable)
    monkeypatch.chdir(clone)
    monkeypatch.setattr(environment, "run", lambda *_: None)
    (clone / ".venv/.ready").write_text(
        json.dumps(
            {
                "origin": [str(clone / ".venv"), *map(environment.digest, FILES)],
                "locks": {},
                "packages": {},
            }
        )
    )
    environment.update(Path(".venv"), Path("requirements.lock"), "", [])
    assert starts() == 2
    lock = clone / "requirements.lock"
    before = lock.read_text()
    lock.write_text(f"{before}\n")
    assert (starts(), ready.exists()) == (3, False)
    lock.write_text(before)
    assert starts() == 4


def test_conda_installs_python_and_the_lock():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    *packages, pip = environment["dependencies"]
    assert packages == ["python=3.11", "pip"]
    assert pip == {"pip": ["-r requirements.lock", "-e ."]}


def test_containers_have_the_python_of_the_other_environments():
    assert "FROM python:3.11-" in (ROOT / "Dockerfile").read_text()
    assert "From: python:3.11-" in (ROOT / "apptainer.def").read_text()


def test_the_apptainer_image_has_every_folder_that_the_workflow_reads():
    files = (ROOT / "apptainer.def").read_text().split("%files")[1].split("%post")[0]
    copied = [line.split() for line in files.splitlines() if line.strip()]
    assert {*PRODUCT, "results/reference", "pyproject.toml"} <= {source for source, _ in copied}
    for source, target in copied:
        assert (ROOT / source).exists()
        assert target == f"/opt/transformer-dynamics/{source}"


def test_the_docker_image_has_every_folder_that_the_workflow_reads():
    """What .dockerignore leaves out, by its own patterns."""
    patterns = (ROOT / ".dockerignore").read_text().splitlines()
    assert not {*PRODUCT, "pyproject.toml", "README.md", "LICENSE"} & set(patterns)
    assert "!results/reference" in patterns


@pytest.mark.parametrize("lock", [*LOCKS, ENCODERS])
def test_a_lock_pins_every_package_once(lock):
    lines = (ROOT / lock).read_text().splitlines()
    packages = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[a-z0-9._-]+==[\w.]+", line) for line in packages)
    assert len(pins(lock)) == len(packages)


def test_the_lock_is_closed_under_dependencies():
    """Installed as locked, nothing is missing and nothing conflicts."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", "check"],
        capture_output=True,
        text=True,
        check=False,
    )
    ours = [line for line in done.stdout.splitlines() if line.split()[0].lower() in pins()]
    assert not ours, done.stdout


def test_installed_packages_are_the_locked_ones():
    installed = {
        re.sub(r"[-_.]+", "-", found.metadata["Name"]).lower(): found.version.split("+")[0]
        for found in distributions()
    }
    wrong = {
        name: installed.get(name) for name, pin in pins().items() if installed.get(name) != pin
    }
    assert not wrong


def test_a_package_has_everything_that_a_study_reads(tmp_path):
    """What is installed other than by `-e` lacks what no pattern of pyproject.toml names."""
    copy_code(ROOT / "src", tmp_path / "src")
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    build = ["pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run(
        [sys.executable, "-m", *build, "--wheel-dir", tmp_path, tmp_path],
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        packed = set(opened.namelist())
    known = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    kept = subprocess.run(
        [*known, "src", "workflow", "profiles"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    paths = {name for name in kept.stdout.split() if (ROOT / name).is_file()}
    engine = ("workflow/", "profiles/")
    files = {
        f"replication/{name}" if name.startswith(engine) else name.removeprefix("src/")
        for name in paths - {"workflow/Snakefile"}
    }
    assert files <= packed


@pytest.mark.parametrize(
    ("place", "link"), [(".", "src/replication/workflow"), ("engine", "replication")]
)
def test_a_copy_whose_links_became_texts_is_not_installed(tmp_path, place, link):
    """As zipfile leaves them, and git where the system has no links."""
    (tmp_path / link).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / link).write_text(os.readlink(ROOT / place / link))
    shutil.copy(ROOT / place / "setup.py", tmp_path)
    words = [sys.executable, "setup.py", "--name"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    (told,) = done.stderr.splitlines()
    rules = "replication/workflow/engine.smk: is not there, as this copy of the project has no sym"
    assert told.removeprefix("src/").startswith(rules)


@pytest.mark.parametrize("of", ["the project", "new"])
def test_uv_leaves_the_packages_of_the_environment_as_they_are(tmp_path, of):
    folder = ROOT
    if of == "new":
        folder = tmp_path
        render(folder, "mypaper", torch=False)
    text = (folder / "pyproject.toml").read_text()
    assert tomllib.loads(text)["tool"]["uv"] == {"managed": False}


def test_the_engine_depends_on_what_its_modules_import():
    project = tomllib.loads((ROOT / "engine/pyproject.toml").read_text())["project"]
    extras = [each for extra in project["optional-dependencies"].values() for each in extra]
    told = {re.split("[<>=]", each)[0] for each in (*project["dependencies"], *extras)}
    imported = {
        name.split(".")[0]
        for path in (ROOT / "src/replication").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        for name in (
            [alias.name for alias in node.names] if isinstance(node, ast.Import)
            else [str(node.module)] if isinstance(node, ast.ImportFrom)
            else []
        )
    }  # fmt: skip
    packages = packages_distributions()
    needed = {
        re.sub("[-_.]+", "-", packages[name][0]).lower()
        for name in imported - sys.stdlib_module_names - {"replication"}
    }
    assert told - {"pytest"} == needed - WITH_OTHERS
