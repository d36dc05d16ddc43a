"""Fixtures that several test files share."""

import atexit
import fcntl
import gc
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Self

# There is a process of tests per processor; threads besides would wait for one another, and have
# tests take many times as long. Libraries look at this once, when they are imported.
os.environ["OMP_NUM_THREADS"] = "1"
# Hundreds of processes start here; without compiled files each would compile the project anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Tests start `make`, as a user does; one that starts tests would tell it that it is its child.
for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS"):
    os.environ.pop(name, None)
# What is imported stays: to look for garbage in it, hundreds of times, takes a tenth of the time.
gc.disable()

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from warm import Pythons, Server

from replication.plan.configuration import configure
from replication.plan.jobs import Jobs
from replication.study.studies import find_studies

# As Hypothesis has it for continuous integration: every run draws the same examples, and may take
# its time. `make test-all` draws more of them; `make explore` draws others, from the seed it names.
STEADY = settings.get_profile("ci")
settings.register_profile("quick", STEADY, max_examples=20)
settings.register_profile("thorough", STEADY, max_examples=100)
settings.register_profile("explore", STEADY, max_examples=1000, derandomize=False)
settings.load_profile("quick")
# Some examples would be constants of the modules imported so far, and so depend on earlier tests.
providers._get_local_constants = Constants


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


ROOT = Path(__file__).parents[1]
PRODUCT = ("Snakefile", "workflow", "profiles", "config", "src", "requirements-encoders.lock")
STUDIES = find_studies()
DEFAULTS = configure({}, STUDIES)
JOBS = Jobs.of(DEFAULTS, STUDIES)
"""All of a plain run."""
LONGEST = ("replication", "scan_and_snap_text")
"""Folders of tests that take minutes."""
BEING_WRITTEN = "*.pyc.*"
"""Compiled files that another process is about to rename."""
EXAMPLE = "src/transformer_dynamics/example"
"""The template, which is small: what tests of the engine compute."""
FIGURES = ("figures/example/fig1.pdf", "figures/example/fig2.pdf")
"""All of it; the first of one file of runs, the second of two."""
FIGURE = FIGURES[0]
RUNS = "results/example/runs/replication"
SEEDS = ("101-105", "106-110")
"""Of the two files of runs."""
PAGE = "results/report/example.html"
PATIENCE = 600
"""Seconds that a test waits for what has to come, on a slow machine, too."""
OF_ENCODERS = {"safetensors", "sklearn", "tokenizers", "transformers"}
"""Packages without which tests that need them are skipped; `make tools` installs them."""


def copy_code(source: Path, copy: Path, *without: str) -> None:
    """Copy a folder of the project, without files of these patterns and those being written."""
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns(*without, BEING_WRITTEN))


class Project:
    """A copy of the product in which a test may edit anything, and its Snakemake."""

    pythons: ClassVar[Pythons | None] = None
    """What starts programs that need no process of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        if not (folder / "Snakefile").exists():
            self.copy()
        python_bin = str(Path(sys.executable).parent)
        self.environment = os.environ | {
            "PYTHONPATH": str(folder / "src"),
            "PATH": f"{python_bin}{os.pathsep}{os.environ['PATH']}",
        }

    def copy(self, *without: str) -> None:
        """Fill the folder, but for what has some names."""
        for name in PRODUCT:
            source = ROOT / name
            if source.is_dir():
                copy_code(source, self.folder / name, *without)
            else:
                shutil.copy(source, self.folder / name)

    def copied(self, folder: Path) -> Self:
        """A project with all that this one has and has made."""
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        return type(self)(folder)

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
        return self._started("snakemake", self.options(*arguments, quick=quick), succeed)

    def verify(self, *arguments: str, succeed: bool = True) -> str:
        """What the verification prints."""
        return self._started("replication.verify.command", [*arguments], succeed)

    def _started(self, module: str, words: list[str], succeed: bool) -> str:
        if self.pythons is None:
            Project.pythons = server = Server()
            atexit.register(server.end)
        code, output = self.pythons.run([module, *words], self.folder, self.environment)
        assert (code == 0) == succeed, output
        return output

    def planned(self, *arguments: str) -> dict[str, int]:
        """Rule name to number of jobs that a dry run plans."""
        return counted(self.run(*arguments, "--dry-run", "--printshellcmds"))

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


class Template(Project):
    """A copy of the product whose only study is the template.

    The engine does the same for one study as for all, but starts in a third of the time.
    """

    def copy(self, *without: str) -> None:
        """The quick configuration is about the other studies."""
        others = STUDIES.keys() - {Path(EXAMPLE).name}
        super().copy(*without, *others, "quick.yaml")

    def options(self, *arguments: str, quick: bool = True) -> list[str]:
        return super().options(
            *arguments, quick=quick and (self.folder / "config/quick.yaml").is_file()
        )


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


def pytest_configure(config: pytest.Config) -> None:
    """Before a test is there. Processes of tests share a server, which imports much."""
    # What tests start heeds signals that a shell has had ignored here, as behind `nohup`.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(config, "workerinput"):
        Project.pythons = Pythons(Path(config.workerinput["pythons"]))
    else:
        Project.pythons = server = Server()
        config.add_cleanup(server.end)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a process of tests where the server is."""
    node.workerinput["pythons"] = str(Project.pythons.folder)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest first, so that no process is left with one of them when others have ended."""
    items.sort(key=lambda item: not {*item.path.parts} & {*LONGEST})


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


@pytest.fixture
def warm_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test starts as `sys.executable -m ...` needs no process of its own."""
    assert Project.pythons
    monkeypatch.setattr(sys, "executable", str(Project.pythons.python))


@pytest.fixture
def template(tmp_path: Path) -> Template:
    return Template(tmp_path)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """All of the template: figures, verdicts, page, reference. Processes of tests share it."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with (folder / "finished.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = folder / "finished"
        if (folder / "whole").exists():
            return Template(folder)
        shutil.rmtree(folder, ignore_errors=True)
        project = Template(folder)
        project.run(*FIGURES, PAGE)
        project.run("reference", "--config", "study=example")
        (folder / "whole").touch()
        return project


@pytest.fixture
def finished_project(finished: Template, tmp_path: Path) -> Template:
    """A copy of it, in which a test may edit anything."""
    return finished.copied(tmp_path)


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
    """Open the page at the module's `address`; at the end nothing may have gone wrong.

    A page loads nothing except files of its own folder.
    """
    opened, trouble = [], []

    def visit(fragment="", **options):
        page = browser.new_page(reduced_motion=motion, **options)
        page.set_default_timeout(1000 * PATIENCE)
        opened.append(page)
        page.on("console", lambda message: trouble.append(message.text))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("dialog", lambda dialog: trouble.append(dialog.message))
        page.on("request", lambda request: trouble.append(request.url))
        page.goto(address + fragment)
        trouble.remove(address)
        return page

    yield visit
    for page in opened:
        page.close()
    beside = ("data:", f"{address.removesuffix('.html')}/")
    assert [what for what in trouble if not what.startswith(beside)] == []


@pytest.fixture(scope="module")
def rows():
    """Jobs whose memory is measured at their true sizes, which are shown in the end."""
    from sizes_of_jobs import show

    found = []
    yield found
    show(found)
