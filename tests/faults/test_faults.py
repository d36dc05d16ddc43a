"""A few of the faults of `make faults`, on the small DAG: none may cost a finished result."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest
from click.testing import CliRunner

from faults import disks, signals, users
from replication.plan import recover


@pytest.mark.campaign
@pytest.mark.parametrize(
    ("fault", "options"),
    [
        pytest.param(signals.killed, {"times": 2, "quick": True}, id="SIGKILL"),
        pytest.param(disks.disk_full, {"shares": (0.5,)}, id="disk full"),
        pytest.param(users.two_users, {"times": 1}, id="two users"),
    ],
)
def test_a_fault_costs_no_finished_result(project, fault, options):
    outcome = fault(project, **options)
    assert outcome.injected == options.get("times", 1)
    assert (outcome.lost, outcome.duplicated, outcome.corrupt) == (0, 0, 0), outcome


@pytest.mark.usefixtures("warm_python")
def test_recovery_removes_the_lock_and_temporary_files_and_leaves_the_future(tmp_path):
    folder = tmp_path / "results/scan_and_snap/runs/syn_medium"
    folder.mkdir(parents=True)
    names = [".1.npz.0a1b2c3d", ".1.npz.0a1b2c3", ".gitkeep", "1.npz"]
    now = time.time()
    for number, name in enumerate(names):
        (folder / name).touch()
        os.utime(folder / name, (now + 1000 + number,) * 2)
    locks = tmp_path / ".snakemake/locks"
    locks.mkdir(parents=True)
    (locks / "0.output.lock").write_text("figures/fig6.pdf\n")
    done = CliRunner().invoke(recover.main, [str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "Unlocked; 1 temporary files removed, 3 times in the future" in done.output
    times = [(folder / name).stat().st_mtime for name in names[1:]]
    assert np.diff(times) == pytest.approx([1, 1])
    assert now <= max(times) <= time.time()
    assert sorted(path.name for path in folder.iterdir()) == [".1.npz.0a1b2c3", ".gitkeep", "1.npz"]
    assert not locks.exists() or not list(locks.iterdir())


def test_recovery_refuses_while_something_runs(tmp_path):
    words = [sys.executable, "-c", "import time; time.sleep(100)", "replication.run.program"]
    with subprocess.Popen(words, cwd=tmp_path) as process:
        try:
            done = CliRunner().invoke(recover.main, [str(tmp_path)])
        finally:
            process.kill()
    assert done.exit_code == 1
    assert f"{tmp_path}: still in use by process {process.pid}; wait for it" in done.output
    assert not (tmp_path / ".snakemake").exists()
