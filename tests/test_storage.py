"""Intermediates are whole or absent, reproducible, and refused if not what they claim."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from transformer_dynamics.errors import InputError
from transformer_dynamics.frames import read_csv, read_table, write_csv, write_table
from transformer_dynamics.scan_and_snap.paper_settings import PAPER
from transformer_dynamics.storage import read_arrays, write_arrays, write_atomically

JOB = PAPER.train_job("syn_small_sgd", "cpu")
PROVENANCE = JOB.provenance([2])
ARRAYS = {"a/x": np.arange(1000.0).reshape(10, 100), "a/y": np.ones(3, dtype=np.uint16)}
TABLE = pd.DataFrame({"seed": [1, 2], "entropy": [0.1, 0.2], "name": ["a", "b"]})


def test_arrays_come_back(tmp_path):
    write_arrays(tmp_path / "a.npz", ARRAYS, PROVENANCE)
    found = read_arrays(tmp_path / "a.npz", PROVENANCE)
    assert found.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype


def test_table_comes_back(tmp_path):
    write_table(tmp_path / "t.parquet", TABLE, PROVENANCE)
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.parquet", PROVENANCE), TABLE)


def test_files_are_the_same_every_time(tmp_path):
    for name in ("1", "2"):
        write_arrays(tmp_path / f"{name}.npz", ARRAYS, PROVENANCE)
        write_table(tmp_path / f"{name}.parquet", TABLE, PROVENANCE)
        write_csv(tmp_path / f"{name}.csv", TABLE)
    for kind in ("npz", "parquet", "csv"):
        assert (tmp_path / f"1.{kind}").read_bytes() == (tmp_path / f"2.{kind}").read_bytes()


@pytest.mark.parametrize("length", [0, 10, 500, -1])
def test_truncated_arrays_are_refused(tmp_path, length):
    path = tmp_path / "a.npz"
    write_arrays(path, ARRAYS, PROVENANCE)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(InputError, match=r"a\.npz: truncated.*delete the file and run again"):
        read_arrays(path, PROVENANCE)


def test_flipped_byte_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    write_arrays(path, ARRAYS, PROVENANCE)
    whole = path.read_bytes()
    for place in range(30, len(whole) - 400, 61):
        content = bytearray(whole)
        content[place] ^= 255
        path.write_bytes(content)
        try:
            found = read_arrays(path, PROVENANCE)
        except InputError:
            continue
        # A byte that carries nothing, such as a zip entry's date.
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(found[name], array)


def test_pickles_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", provenance=np.array([object()]), allow_pickle=True)
    with pytest.raises(InputError, match="not made by this project"):
        read_arrays(tmp_path / "a.npz", PROVENANCE)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"seed,entropy\n1,2\n"])
def test_broken_table_is_refused(tmp_path, content):
    (tmp_path / "t.parquet").write_bytes(content)
    with pytest.raises(InputError, match=r"t\.parquet: truncated"):
        read_table(tmp_path / "t.parquet", PROVENANCE)


def test_table_without_provenance_is_refused(tmp_path):
    TABLE.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match="not made by this project"):
        read_table(tmp_path / "t.parquet", PROVENANCE)


def test_table_of_another_configuration_is_refused(tmp_path):
    training = JOB.training.model_copy(update={"eta_z": [1.1]})
    other = JOB.model_copy(update={"training": training})
    write_table(tmp_path / "t.parquet", TABLE, other.provenance([2]))
    with pytest.raises(
        InputError, match=r"settings\.training\.eta_z is \[1\.1\], expected \[1\.0\]"
    ):
        read_table(tmp_path / "t.parquet", PROVENANCE)


def test_file_of_other_code_is_refused(tmp_path):
    module = "scan_and_snap.model"
    code = PROVENANCE["code"] | {module: "0" * 12}
    write_arrays(tmp_path / "a.npz", ARRAYS, PROVENANCE | {"code": code})
    with pytest.raises(InputError, match=rf"code\.{module} is '000000000000'"):
        read_arrays(tmp_path / "a.npz", PROVENANCE)


def test_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"a\.npz: there is no such file"):
        read_arrays(tmp_path / "a.npz", PROVENANCE)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("seed\n1\n", "lacks the column"),
        ("seed,entropy\n", "no rows"),
        ("", "truncated"),
        ("seed,entropy\n1,n/k\n", "text among the numbers of entropy"),
    ],
)
def test_wrong_csv_is_refused(tmp_path, content, message):
    (tmp_path / "f.csv").write_text(content)
    with pytest.raises(InputError, match=message):
        read_csv(tmp_path / "f.csv", ["seed", "entropy"], numbers=["entropy"])


def test_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "f"
    path.write_text("old")

    def fail(stream):
        stream.write(b"new")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_atomically(path, fail)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small tmpfs needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_full_disk_gives_one_sentence_and_leaves_nothing(small_disk: Path):
    job = PAPER.train_job("syn_small_sgd", "cpu").sample_job
    command = [sys.executable, "-m", job.stage, "--settings", job.model_dump_json()]
    command += ["--seeds", "2", "--output", str(small_disk / "2.npz")]
    failed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert failed.returncode == 1
    assert "2.npz: cannot be written (No space left on device); make room" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert list(small_disk.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_folder_gives_one_sentence(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="Permission denied"):
        write_csv(tmp_path / "f.csv", TABLE)
