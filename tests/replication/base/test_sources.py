"""Code that runs is the code of which the digest is told, whatever the times of files are."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

START = """
import replication.base.places
from replication.base.code_digest import reach
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one module."""
    (tmp_path / "Snakefile").touch()
    package = tmp_path / "src/paper"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "training.py").write_text("RATE = 1\n")
    return package / "training.py"


def run(module: Path, script: str) -> str:
    source = module.parents[1]
    environment = os.environ | {"PYTHONPATH": str(source), "MODULE": str(module)}
    command = [sys.executable, "-c", START + script]
    return subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True
    ).stdout.strip()


def test_an_edit_that_keeps_size_and_time_is_loaded(project: Path):
    assert run(project, "import paper.training as t; print(t.RATE)") == "1"
    before = project.stat()
    project.write_text("RATE = 2\n")
    os.utime(project, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert run(project, "import paper.training as t; print(t.RATE)") == "2"
    compiled = list(project.parent.glob("__pycache__/training.*.pyc"))
    assert len(compiled) == 1
    times = compiled[0].stat().st_mtime_ns
    assert run(project, "import paper.training as t; print(t.RATE)") == "2"
    assert compiled[0].stat().st_mtime_ns == times, "compiled again for nothing"


EDIT = """
import os
path = os.environ["MODULE"]
def edit():
    with open(path, "w") as stream:
        stream.write("RATE = 2\\n")
"""


@pytest.mark.parametrize(
    "script",
    [
        "digest = reach('paper.training').modules; edit(); import paper.training as t",
        "import paper.training as t; edit(); digest = reach('paper.training').modules",
    ],
)
def test_a_process_loads_and_digests_one_content(project: Path, script: str):
    """Whichever comes first, and whatever an editor does between them."""
    plain = run(project, "print(reach('paper.training').modules)")
    assert run(project, f"{EDIT}{script}; print(t.RATE, digest)") == f"1 {plain}"
    assert run(project, "print(reach('paper.training').modules)") != plain
