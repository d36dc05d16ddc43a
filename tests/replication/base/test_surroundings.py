"""Jobs in hostile surroundings: a user's shell, home and working folder change no byte."""

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import EXAMPLE, FIGURE, STUDIES, Template
from fontTools.ttLib import TTFont
from matplotlib import get_data_path
from tiers import quick_first

from replication.base.process import (
    ARITHMETIC,
    FLAGS,
    KEPT_OUT,
    SHELL,
    arithmetic_variables,
    lack_of_memory,
    python_command,
    shell_variables,
)
from replication.base.project import commit_name
from replication.bundle.computed import own_processor, processor
from replication.figures.style import set_style
from replication.plan.configuration import configure
from replication.plan.jobs import Jobs
from replication.plan.steps import STEPS

STUDY = Path(EXAMPLE).name
ONE = {STUDY: STUDIES[STUDY]}
TEMPLATE = Jobs.of(configure({}, ONE), ONE)
TABLE = Path(FIGURE).with_suffix(".csv")
STYLE = "font.family: serif\naxes.grid: True\nsavefig.transparent: True\nsvg.fonttype: none\n"
BROKEN = "raise SystemExit('this is not the module that was meant')"
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
NOTEBOOK = "module://matplotlib_inline.backend_inline"
COMPILED_ANEW = "no assertions and no docstrings"
"""Name of those in which a job compiles all that it imports."""
SURROUNDINGS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    # By name: variables, and texts by file of the working folder or of the home.
    "a locale without letters": (ASCII, {}),
    "a locale that is not there": ({"LC_ALL": "de_DE.ISO-8859-1", "LANG": "xx_YY"}, {}),
    "another encoding of streams": ({"PYTHONIOENCODING": "ascii:strict"}, {}),
    "the backend of a notebook": ({"MPLBACKEND": NOTEBOOK}, {}),
    "the backend of a screen": ({"MPLBACKEND": "TkAgg", "DISPLAY": ":77"}, {}),
    "a style in the working folder": ({}, {"matplotlibrc": STYLE}),
    "a style in the home": ({}, {"home/.config/matplotlib/matplotlibrc": STYLE}),
    "a style that is named": ({"MATPLOTLIBRC": "named.rc"}, {"named.rc": STYLE}),
    "a broken style that is named": ({"MATPLOTLIBRC": "broken.rc"}, {"broken.rc": "\xe4: :\n"}),
    "no configuration of Matplotlib": ({"MPLCONFIGDIR": "/dev/null/none"}, {}),
    "a font named Arial": ({}, {}),
    "modules in the working folder": ({}, dict.fromkeys(
        ("random.py", "numpy.py", "torch.py", "json/__init__.py", "sitecustomize.py", "click.py"),
        BROKEN)),
    "modules of the user's own": ({"PYTHONNOUSERSITE": ""}, {
        f"home/.local/lib/python3.{sys.version_info[1]}/site-packages/usercustomize.py": BROKEN}),
    "warnings as errors": ({"PYTHONWARNINGS": "error"}, {}),
    COMPILED_ANEW: ({"PYTHONOPTIMIZE": "2"}, {}),
    "a Python for developers": ({"PYTHONDEVMODE": "1", "PYTHONVERBOSE": "1"}, {}),
    "a Python that stays": ({"PYTHONINSPECT": "1"}, {}),
    "another seed of hashes": ({"PYTHONHASHSEED": "7"}, {}),
    "another place on Earth": ({"TZ": "Asia/Kathmandu", "SOURCE_DATE_EPOCH": "0"}, {}),
    "a narrow terminal": ({"COLUMNS": "1", "TERM": "dumb", "FORCE_COLOR": "1"}, {}),
    "libraries that will be otherwise": (
        {"PANDAS_FUTURE_INFER_STRING": "0", "SCIPY_ARRAY_API": "1"}, {}),
    "many threads": (dict.fromkeys(
        ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "8"), {}),
    "talkative libraries": ({"MKL_VERBOSE": "1", "ONEDNN_VERBOSE": "1", "TORCH_LOGS": "+all"}, {}),
    "a repository at hand": ({"GIT_DIR": "/dev/null/none", "GIT_INDEX_FILE": "index"}, {}),
    "a shell of its own": ({"IFS": "/", "CDPATH": "/", "BASH_ENV": "/dev/null", "ENV": "x"}, {}),
}  # fmt: skip


@pytest.fixture(scope="module")
def orders(finished):
    """The words of one job that makes a figure, a verdict and all that they need."""
    wanted = [
        str(TABLE),
        str(TABLE.with_suffix("")),
        *TEMPLATE.studies[STUDY].files.verdicts.values(),
    ]
    needed = {path for path, _ in TEMPLATE.closure(wanted)}
    paths = [path for path in TEMPLATE.steps if path in needed]
    outputs = [path if Path(path).suffix else f"{path}.pdf" for path in paths]
    more = {path: TEMPLATE.steps[path].outputs[1:] for path in paths}
    orders = [
        TEMPLATE.ready(path, [output, *more[path]])
        for path, output in zip(paths, outputs, strict=True)
    ]
    return STEPS.dump_json(orders).decode(), ["told.json"], outputs


def surround(project: Template, name: str) -> dict[str, str]:
    """Variables of one of the surroundings, its files written."""
    variables, files = SURROUNDINGS[name]
    for file, text in files.items():
        path = project.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("latin-1"))
    if "Arial" in name:
        named_arial(project.folder / "home/.fonts/arial.ttf")
    home = {"HOME": str(project.folder / "home"), "XDG_CONFIG_HOME": ""}
    return project.environment | home | variables


def named_arial(path: Path) -> None:
    """A serif font under that name."""
    font = TTFont(f"{get_data_path()}/fonts/ttf/DejaVuSerif.ttf")
    for record in font["name"].names:
        record.string = record.toUnicode().replace("DejaVu Serif", "Arial")
    path.parent.mkdir(parents=True)
    font.save(path)


def make(project: Template, orders, environment: dict[str, str]) -> dict[str, bytes]:
    """What the job makes, by path."""
    told, words, outputs = orders
    for folder in ("results", "figures"):
        shutil.rmtree(project.folder / folder, ignore_errors=True)
    (project.folder / "told.json").write_text(told)
    done = subprocess.run(
        [*python_command(sys.executable, environment), "-m", "replication.run.program", *words],
        cwd=project.folder, env=environment, capture_output=True, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return {path: (project.folder / path).read_bytes() for path in outputs}


@pytest.mark.thorough
@pytest.mark.parametrize("name", SURROUNDINGS)
def test_one_of_the_surroundings(name, template, finished, orders):
    made = make(template, orders, surround(template, name))
    assert made == {path: (finished.folder / path).read_bytes() for path in made}


@pytest.mark.parametrize("without", quick_first([{COMPILED_ANEW}, set()]), ids=["most", "all"])
def test_surroundings_at_once(without, template, finished, orders):
    together = {}
    for name in SURROUNDINGS.keys() - without:
        together |= surround(template, name)
    made = make(template, orders, together)
    assert made == {path: (finished.folder / path).read_bytes() for path in made}


@pytest.mark.parametrize(
    "optimised",
    # All that Snakemake imports would be compiled anew for it.
    ["", pytest.param("2", marks=pytest.mark.thorough)],
)
def test_the_workflow_starts_its_jobs_so(finished_project, optimised):
    """Also where Snakemake itself starts in such surroundings."""
    project = finished_project
    before = project.files("figures")
    shutil.rmtree(project.folder / "figures")
    for name in ("modules in the working folder", "a style in the working folder"):
        surround(project, name)
    (project.folder / "of_bash").write_text("export PYTHONHOME=/dev/null PYTHONWARNINGS=error")
    project.environment |= ASCII | {"MPLBACKEND": NOTEBOOK, "PYTHONOPTIMIZE": optimised}
    project.environment |= {
        "BASH_ENV": "of_bash",
        "SHELLOPTS": "noclobber:verbose",
        "BASH_FUNC_env%%": "() { false; }",
    }
    snakemake = str(Path(sys.executable).with_name("snakemake"))
    done = subprocess.run(
        [snakemake, FIGURE], cwd=project.folder, env=project.environment, capture_output=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    assert (project.folder / FIGURE).read_bytes() == before[FIGURE]


def test_the_shell_of_a_job_is_nobodys():
    names = [*SHELL, "BASH_FUNC_env%%"]
    assert shell_variables(dict.fromkeys(("BASH", "PATH", *names), "1")) == names


def test_words_that_start_python():
    assert python_command("/bin/python", {}) == ["/bin/python", *FLAGS]
    hostile = dict.fromkeys(KEPT_OUT, "1") | {"PYTHONPATH": "src", "OMP_NUM_THREADS": "8"}
    unset = [word for name in KEPT_OUT for word in ("-u", name)]
    assert python_command("python", hostile) == ["env", *unset, "python", *FLAGS]
    of_folder = {"PYTHONPATH": os.pathsep.join(["src", ""])}
    assert python_command("python", of_folder) == ["env", "PYTHONPATH=src", "python", *FLAGS]


@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic_counts_as_another_processor(name, monkeypatch):
    for each in ARITHMETIC:
        monkeypatch.delenv(each, raising=False)
    assert processor() == own_processor()
    monkeypatch.setenv(name, "7")
    assert arithmetic_variables() == {name: "7"}
    assert processor() == f"{own_processor()} {name}=7"


def test_style_of_the_user_and_fonts_of_the_system_do_not_count():
    import matplotlib as mpl
    from matplotlib.font_manager import findfont, fontManager

    set_style()
    before, fonts = dict(mpl.rcParams), [*fontManager.ttflist]
    mpl.rcParams.update({"axes.grid": True, "font.family": ["serif"], "lines.linewidth": 9})
    set_style()
    assert dict(mpl.rcParams) == before
    assert fonts == fontManager.ttflist
    assert findfont("Arial", fallback_to_default=True).startswith(get_data_path())


def test_commit_is_of_the_project_whatever_repository_is_at_hand(tmp_path, monkeypatch):
    def git(folder, *words):
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)

    for name in ("mine", "other"):
        (tmp_path / name).mkdir()
        git(tmp_path / name, "init", "-q")
        git(tmp_path / name, "commit", "-q", "--allow-empty", "-m", name)
    mine = commit_name(tmp_path / "mine")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other/.git"))
    assert commit_name(tmp_path / "mine") == mine


def test_nobody_else_starts_python():
    """Every rule takes its Python from the one place, and says so to Snakemake."""
    root = Path(__file__).parents[3]
    rules = [*root.glob("workflow/rules/*.smk"), *root.glob("src/*/*/*.smk")]
    texts = [path.read_text() for path in rules]
    assert sum(text.count("shell:") for text in texts) >= 3
    for text in texts:
        for command in text.split("shell:")[1:]:
            first = command.split()[0]
            assert first.strip('"f').strip("{}") == "params.python:q", command


@pytest.mark.parametrize(
    ("said", "is_lack"),
    [
        ("Error: ended by the signal KILL", True),
        ("ImportError: _imaging.so: failed to map segment from shared object", True),
        ("OSError: [Errno 12] Cannot allocate memory", True),
        ("RuntimeError: can't start new thread", True),
        ("OpenBLAS blas_thread_init: pthread_create failed for thread 1 of 2: Resource", True),
        ("OpenBLAS error: Memory allocation still failed after 10 retries, giving up.", True),
        ("numpy._core._exceptions._ArrayMemoryError: Unable to allocate 7 GiB", True),
        ("terminate called after throwing an instance of 'std::bad_alloc'", True),
        ("Error: ended by the signal TERM", False),
        ("Error: x.npz: does not fit into memory; lower the largest of its settings", False),
    ],
)
def test_a_job_that_lacked_memory_gets_the_advice_about_memory(
    tmp_path, monkeypatch, said, is_lack
):
    log, other = tmp_path / "1.log", tmp_path / "none.log"
    log.write_text(f"Traceback\n{said}\n")
    limits = (1500 << 20, resource.RLIM_INFINITY)
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    assert lack_of_memory([log, other]) == is_lack * (
        f"Memory or threads probably lacked, see {log}: raise the limit of memory, which `ulimit"
        " -v` sets to 1,500 MiB here, or run fewer jobs at once, as with `--cores 1`"
    )
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits[::-1])
    assert ": run fewer jobs at once" in lack_of_memory([log]) or not is_lack
