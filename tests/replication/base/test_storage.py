"""Intermediates are whole or absent, reproducible, and refused if not what they claim."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from conftest import JOBS
from stored import ARRAYS, FILE_KEY, PROGRAM, PROVENANCE, TABLE

from replication.base.errors import InputError
from replication.base.keys import FORMAT, KEY, differences
from replication.base.storage import (
    read_arrays,
    read_table,
    refuse_changed_table,
    update_text,
    write_arrays,
    write_atomically,
    write_csv,
    write_table,
)
from replication.plan.steps import StepsFile


def test_arrays_come_back(tmp_path):
    write_arrays(tmp_path / "a.npz", ARRAYS, PROVENANCE)
    found = read_arrays(tmp_path / "a.npz", FILE_KEY)
    assert found.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype


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
    with pytest.raises(InputError, match=r"npz: truncated.*`snakemake --force .*npz` makes it"):
        read_arrays(path, FILE_KEY)


def test_flipped_byte_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    write_arrays(path, ARRAYS, PROVENANCE)
    whole = path.read_bytes()
    for place in range(30, len(whole) - 400, 61):
        content = bytearray(whole)
        content[place] ^= 255
        path.write_bytes(content)
        try:
            found = read_arrays(path, FILE_KEY)
        except InputError:
            continue
        # A byte that carries nothing, such as a zip entry's date.
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(found[name], array)


def test_pickles_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", provenance=np.array([object()]), allow_pickle=True)
    with pytest.raises(InputError, match="not made by this project"):
        read_arrays(tmp_path / "a.npz", FILE_KEY)


def test_a_file_of_another_key_is_refused(tmp_path):
    said = r": made by another configuration or another version of the code; `snakemake --force "
    write_table(tmp_path / "t.parquet", TABLE, PROVENANCE | {KEY: "0" * 16})
    with pytest.raises(InputError, match=rf"t\.parquet{said}"):
        read_table(tmp_path / "t.parquet", FILE_KEY)
    write_arrays(tmp_path / "a.npz", ARRAYS, PROVENANCE | {KEY: "0" * 16})
    with pytest.raises(InputError, match=rf"a\.npz{said}"):
        read_arrays(tmp_path / "a.npz", FILE_KEY)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 1}, "files have another format"),
        ({"packages": {"numpy": "0.1"}}, "the packages numpy changed"),
        ({"code": {PROGRAM: "0" * 12}}, f"the code {PROGRAM} changed"),
        ({"given": {"fig1.csv": "0" * 12}}, "the file fig1.csv changed"),
    ],
)
def test_a_difference_of_provenance_is_told_in_words(changes, message):
    planned = {"format": FORMAT, "code": {PROGRAM: "1" * 12}, "packages": {"numpy": "2.4"}}
    assert [*differences(planned, planned)] == []
    assert [*differences(planned | changes, planned)] == [message]


def test_other_values_with_the_right_provenance_are_refused(tmp_path):
    arrays, table = tmp_path / "a.npz", tmp_path / "t.parquet"
    write_arrays(arrays, ARRAYS, PROVENANCE)
    with np.load(arrays) as archive:
        whole = dict(archive)
    np.savez_compressed(arrays, allow_pickle=False, **whole)
    assert read_arrays(arrays, FILE_KEY).keys() == ARRAYS.keys()
    others = (
        {"a/x": np.nextafter(whole["a/x"], 2000)},
        {"a/x": whole["a/x"].T},
        {"a/y": whole["a/y"].view(np.int16)},
    )
    for other in others:
        np.savez_compressed(arrays, allow_pickle=False, **{**whole, **other})
        with pytest.raises(InputError, match=r"a\.npz was changed after it was made; `snakemake"):
            read_arrays(arrays, FILE_KEY)

    write_table(table, TABLE, PROVENANCE)
    record = pq.read_metadata(table).metadata
    plain = pq.read_table(table).replace_schema_metadata({"provenance": record[b"provenance"]})
    for column, values in (("entropy", [0.1, 0.3]), ("seed", [2, 1]), ("name", ["a", "c"])):
        position = plain.column_names.index(column)
        pq.write_table(plain.set_column(position, column, [values]), table)
        with pytest.raises(InputError, match=r"t\.parquet was changed after it was made"):
            read_table(table, FILE_KEY)


def test_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"a\.npz: there is no such file"):
        read_arrays(tmp_path / "a.npz", FILE_KEY)


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


def test_full_disk_gives_one_sentence_and_leaves_nothing(small_disk: Path, tmp_path: Path):
    path = next(path for path in JOBS.steps if path.startswith("results/example/data/"))
    order = JOBS.ready(path, [str(small_disk / "2.npz")])
    job = str(StepsFile([order], tmp_path))
    command = [sys.executable, "-m", "replication.run.program", job]
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


def test_a_small_file_that_is_damaged_is_written_anew(tmp_path):
    configuration = tmp_path / "config.yaml"
    configuration.write_bytes(b"\xff\x00")
    update_text(configuration, "a: 1\n")
    assert configuration.read_text() == "a: 1\n"
    told = StepsFile([], tmp_path)
    Path(str(told)).write_bytes(b"\xff\x00")
    assert Path(str(told)).read_text() == "[]"


def test_a_file_that_holds_the_same_is_left_alone(tmp_path):
    path = tmp_path / "config.yaml"
    update_text(path, "a: 1\n")
    before = path.stat()
    update_text(path, "a: 1\n")
    # Not the whole answer: reading a file may change when it was last read.
    after = path.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_damaged_checksum_is_one_sentence(tmp_path):
    write_csv(tmp_path / "t.csv", TABLE)
    (tmp_path / "t.sha256").write_bytes(b"\xff\x00")
    with pytest.raises(InputError, match=r"t\.csv was changed after it was made; give the same"):
        refuse_changed_table(tmp_path / "t.csv", tmp_path / "t.sha256")
