"""Fixtures that several test files share."""

import importlib
import logging
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, Self

# There is a process of tests per processor; threads besides would wait for one another, and have
# tests take many times as long. Libraries look at this once, when they are imported.
os.environ["OMP_NUM_THREADS"] = "1"
# Hundreds of processes start here; without compiled files each would compile the project anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

import pytest
import snakemake.cli  # noqa: F401  what `forked` has at hand

from replication.configuration import configure
from replication.jobs import Jobs
from replication.study import find_studies

ROOT = Path(__file__).parents[1]
PRODUCT = ("Snakefile", "workflow", "profiles", "config", "src", "requirements-encoders.lock")
STUDIES = find_studies()
DEFAULTS = configure({}, STUDIES)
JOBS = Jobs.of(DEFAULTS, STUDIES)
"""All of a plain run."""
LONGEST = ("replication", "scan_and_snap_text")
"""Folders of tests that take minutes."""
FIGURE = "figures/example/fig1.pdf"
"""Of the template, which is small: what tests of the engine make."""
OF_ENCODERS = {"safetensors", "sklearn", "tokenizers", "transformers"}
"""Packages without which tests that need them are skipped; `make tools` installs them."""


def forked(
    module: str, words: list[str], folder: Path, environment: dict[str, str]
) -> tuple[int, str]:
    """Exit status and output of `python -m module words` in a copy of this process.

    To import Snakemake takes longer than what it does with a small project. The project's own
    modules are imported anew, from its folder.
    """
    with tempfile.TemporaryFile("w+") as stream, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads; the copy has none of them
        if not (child := os.fork()):
            _run_and_exit(module, words, folder, environment, stream.fileno())
        _, status = os.waitpid(child, 0)
        stream.seek(0)
        return os.waitstatus_to_exitcode(status), stream.read()


def _run_and_exit(
    module: str, words: list[str], folder: Path, environment: dict[str, str], stream: int
) -> NoReturn:
    code: object = 0
    try:
        os.setsid()
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        for number in (1, 2):
            os.dup2(stream, number)
        sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1) for number in (1, 2))
        sys.argv = [module, *words]
        sys.path.insert(0, str(folder / "src"))
        for name in [*sys.modules]:
            if name.partition(".")[0] in {"replication", "transformer_dynamics"}:
                del sys.modules[name]
        importlib.invalidate_caches()
        logging.getLogger().handlers.clear()
        warnings.resetwarnings()
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code
        if isinstance(code, str):
            print(code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        code = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else bool(code))


class Project:
    """A copy of the product in which a test may edit anything, and its Snakemake."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        for name in PRODUCT:
            source = ROOT / name
            copy = shutil.copytree if source.is_dir() else shutil.copy
            copy(source, folder / name)
        python_bin = str(Path(sys.executable).parent)
        self.environment = os.environ | {
            "PYTHONPATH": str(folder / "src"),
            "PATH": f"{python_bin}{os.pathsep}{os.environ['PATH']}",
        }

    def options(self, *arguments: str, quick: bool = True) -> list[str]:
        return [*arguments, *(["--configfile", "config/quick.yaml"] if quick else [])]

    def command(self, *arguments: str, quick: bool = True) -> list[str]:
        return [sys.executable, "-m", "snakemake", *self.options(*arguments, quick=quick)]

    def start(self, *arguments: str, quick: bool = True) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*arguments, quick=quick),
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: str, quick: bool = True, succeed: bool = True) -> str:
        """What Snakemake prints."""
        return self._forked("snakemake", self.options(*arguments, quick=quick), succeed)

    def verify(self, *arguments: str, succeed: bool = True) -> str:
        """What the verification prints."""
        return self._forked("replication.verify", [*arguments], succeed)

    def _forked(self, module: str, words: list[str], succeed: bool) -> str:
        code, output = forked(module, words, self.folder, self.environment)
        assert (code == 0) == succeed, output
        return output

    def planned(self, *arguments: str) -> dict[str, int]:
        """Rule name to number of jobs that a dry run plans."""
        return counted(self.run(*arguments, "--dry-run"))

    def add(self, overlay: str) -> None:
        """Add sections to the quick configuration."""
        with (self.folder / "config/quick.yaml").open("a") as stream:
            stream.write(overlay)

    def make_two_jobs(self, seeds: int = 15) -> None:
        """Give the template more seeds than it puts into one job; they count as the paper's."""
        config = "src/transformer_dynamics/example/config.yaml"
        self.edit(config, "{first: 1, count: 5}", f"{{first: 1, count: {seeds}}}")

    def one_seed_per_job(self) -> Self:
        """Give the quick configuration many jobs."""
        self.add("computation: {seeds_per_job: 1}\n")
        return self

    def edit(self, path: str, old: str, new: str) -> None:
        """Replace the one occurrence of a text in a file."""
        file = self.folder / path
        text = file.read_bytes().decode()  # as text, foreign ends of lines would be lost
        assert text.count(old) == 1, f"{path} has {text.count(old)} times: {old}"
        file.write_bytes(text.replace(old, new).encode())

    def files(self, *folders: str) -> dict[str, bytes]:
        """Relative path to content of every file below some folders, but for hidden ones.

        A killed process can leave a hidden temporary file, which nothing reads.
        """
        return {
            str(path.relative_to(self.folder)): path.read_bytes()
            for folder in folders
            for path in sorted((self.folder / folder).rglob("*"))
            if path.is_file() and not path.name.startswith(".")
        }


def counted(output: str) -> dict[str, int]:
    """Rule name to number of jobs in what a dry run prints."""
    if "Nothing to be done" in output:
        return {}
    table = output.split("Job stats:")[1].split("\n\n", maxsplit=1)[0].splitlines()[3:]
    counts = (line.split() for line in table)
    return {rule: int(count) for rule, count in counts if rule != "total"}


def changed(path: str, value: Any) -> dict[str, Any]:
    """The default configuration with one key set; dots separate keys."""
    data = DEFAULTS.model_dump(mode="json")
    *parents, last = path.split(".")
    section = data
    for key in parents:
        section = section[key]
    section[last] = value
    return data


@contextmanager
def _skipped_without_packages() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in OF_ENCODERS:
            raise
        pytest.skip(f"{error.name} is not installed; `make tools` installs it")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest first, so that no process is left with one of them when others have ended."""
    items.sort(key=lambda item: item.path.parent.name not in LONGEST)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    with _skipped_without_packages():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Iterator[None]:
    with _skipped_without_packages():
        return (yield)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture(scope="module")
def finished_project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The template's first figure, of two jobs; a test that edits it must undo the edit."""
    project = Project(tmp_path_factory.mktemp("project"))
    project.make_two_jobs()
    project.run(FIGURE)
    return project


@pytest.fixture(scope="module")
def browser():
    """A real one."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.skip("no Chromium is installed")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def motion():
    """What a reader of the page wants: `reduce`, or things that move."""
    return "no-preference"


@pytest.fixture
def visit(browser, address, motion):
    """Open the page at the module's `address`; at the end nothing may have gone wrong."""
    opened, trouble = [], []

    def visit(fragment="", **options):
        page = browser.new_page(reduced_motion=motion, **options)
        opened.append(page)
        page.on("console", lambda message: trouble.append(message.text))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("dialog", lambda dialog: trouble.append(dialog.message))
        page.on("request", lambda request: trouble.append(request.url))
        page.goto(address + fragment)
        assert trouble.pop(0) == address
        return page

    yield visit
    for page in opened:
        page.close()
    assert [what for what in trouble if not what.startswith("data:")] == []
