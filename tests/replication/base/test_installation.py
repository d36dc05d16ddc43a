"""A project, the Python that runs it, and what a user's shell adds."""

import getpass
import json
import os
import pwd
import re
import shutil
import subprocess
import sys
import sysconfig

import pytest
from click.testing import CliRunner
from conftest import EXAMPLE, FIGURE, ROOT

from replication.__main__ import main
from replication.base import places
from replication.base.errors import InputError

STRANGER = "12345"
"""Number of a user that no machine names."""


@pytest.fixture
def other(tmp_path):
    """Another clone."""
    (tmp_path / "src").mkdir()
    shutil.copy(ROOT / "Snakefile", tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", ["verify", "report", "generate", "quick", "targets"])
@pytest.mark.parametrize("below", [".", "results/deep"])
def test_a_command_in_one_clone_with_the_environment_of_another_is_refused(
    other, monkeypatch, command, below
):
    (other / below).mkdir(parents=True, exist_ok=True)
    before = sorted(other.rglob("*"))
    monkeypatch.chdir(other / below)
    done = CliRunner().invoke(main, [command])
    assert done.exit_code == 1
    assert (
        f"Error: {other / 'src'}: is not installed for {sys.executable}: run `make" in done.output
    )
    assert sorted(other.rglob("*")) == before


def test_a_workflow_that_uses_a_project_as_a_module_is_nobodys_clone(tmp_path, monkeypatch):
    (tmp_path / "src").mkdir()
    (tmp_path / "Snakefile").write_text('module td:\n    snakefile: "/papers/Snakefile"\n')
    assert places.project_around(tmp_path / "src") is None
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(main, ["settings", "--help"]).exit_code == 0


def test_the_project_of_this_python_is_not_refused():
    assert places.project_around(ROOT / EXAMPLE) == ROOT
    places.refuse_other_installation(ROOT)


def test_packages_of_the_shell_in_the_place_of_installed_ones_are_refused(tmp_path, monkeypatch):
    own = sysconfig.get_path("purelib")
    given = ["", str(tmp_path), str(tmp_path / "absent"), str(ROOT / "src"), own]
    (tmp_path / "mine").mkdir()
    (tmp_path / "numpy").mkdir()
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(given))
    places.refuse_foreign_packages()
    (tmp_path / "numpy/__init__.py").touch()
    with pytest.raises(InputError, match=rf"^PYTHONPATH: {tmp_path} has numpy in the place of"):
        places.refuse_foreign_packages()


def test_a_copy_of_the_projects_own_package_is_refused(tmp_path, monkeypatch):
    """Its registry would be planned with."""
    (tmp_path / "transformer_dynamics").mkdir()
    (tmp_path / "transformer_dynamics/__init__.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(InputError, match="has transformer_dynamics in the place of"):
        places.refuse_foreign_packages()


def test_a_command_refuses_them(tmp_path, monkeypatch):
    (tmp_path / "six.py").touch()
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), str(tmp_path)]))
    done = CliRunner().invoke(main, ["targets"])
    assert (done.exit_code, done.output.count("has six.py in the place")) == (1, 1)
    assert CliRunner().invoke(main, ["new", "--help"]).exit_code == 0


def test_a_user_without_a_name_gets_a_number(monkeypatch):
    def unknown(number):
        raise KeyError(f"getpwuid(): uid not found: {number}")

    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "")
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    places.name_user()
    assert getpass.getuser() == str(os.getuid())
    monkeypatch.setenv("LOGNAME", "me")
    places.name_user()
    assert getpass.getuser() == "me"


@pytest.mark.thorough
def test_a_container_runs_as_a_number_that_has_no_name(tmp_path):
    """As docs/environments.md says it, with what the Dockerfile sets."""
    recipe = (ROOT / "Dockerfile").read_text()
    (line,) = re.findall("^ENV (.*)$", recipe, re.MULTILINE)
    variables = [*line.split(), "PATH=/usr/bin:/bin"]
    assert variables[0] == "HOME=/tmp"
    variables[0] = f"HOME={tmp_path / 'home'}"
    (tmp_path / "home").mkdir()
    stranger = ["unshare", "--user", f"--map-user={STRANGER}", f"--map-group={STRANGER}"]
    if subprocess.run([*stranger, "true"], capture_output=True, check=False).returncode:
        pytest.skip("unshare is not installed, or may map no users")
    entry = json.loads(re.findall("^ENTRYPOINT (.*)$", recipe, re.MULTILINE)[0])
    words = [part.replace("/opt/transformer-dynamics", str(ROOT)) for part in entry]
    snakemake = [sys.executable, "-m", *words, "--dry-run", FIGURE]
    done = subprocess.run(
        [*stranger, "env", "-i", *variables, *snakemake],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "This was a dry-run" in done.stdout + done.stderr
