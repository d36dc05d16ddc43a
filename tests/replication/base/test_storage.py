"""Intermediates are whole or absent, reproducible, and refused if not what they claim."""

import hashlib
import importlib
import io
import os
import subprocess
import sys
from functools import wraps
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import DEFAULTS, JOBS

from replication.base.errors import InputError
from replication.base.provenance import digest, provenance, recipe
from replication.base.storage import (
    make_record,
    read_arrays,
    read_own_arrays,
    write_arrays,
    write_atomically,
)
from replication.base.tables import read_csv, read_table, write_csv, write_table
from replication.plan.orders import DocumentFile, Orders
from replication.run.stages import STAGES, make_output
from replication.run.work import Given, Work, refuse_changed_table

PROGRAM = "transformer_dynamics.example.data"
SETTINGS = {"samples": 10, "noise": 0.5}
SEEDS, READS = [2], ["0123456789abcdef"]
RECIPE = recipe(PROGRAM, digest(SETTINGS), READS)
PROVENANCE = provenance(PROGRAM, SETTINGS, SEEDS, READS)
ARRAYS = {"a/x": np.arange(1000.0).reshape(10, 100), "a/y": np.ones(3, dtype=np.uint16)}
TABLE = pd.DataFrame({"seed": [1, 2], "entropy": [0.1, 0.2], "name": ["a", "b"]})


def test_arrays_come_back(tmp_path):
    write_arrays(tmp_path / "a.npz", ARRAYS, PROVENANCE)
    found = read_arrays(tmp_path / "a.npz", RECIPE, SEEDS)
    assert found.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype


def test_table_comes_back(tmp_path):
    write_table(tmp_path / "t.parquet", TABLE, PROVENANCE)
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.parquet", RECIPE, SEEDS), TABLE)


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
        read_arrays(path, RECIPE, SEEDS)


def test_flipped_byte_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    write_arrays(path, ARRAYS, PROVENANCE)
    whole = path.read_bytes()
    for place in range(30, len(whole) - 400, 61):
        content = bytearray(whole)
        content[place] ^= 255
        path.write_bytes(content)
        try:
            found = read_arrays(path, RECIPE, SEEDS)
        except InputError:
            continue
        # A byte that carries nothing, such as a zip entry's date.
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(found[name], array)


def test_a_flipped_bit_of_any_byte_of_a_table_is_refused(tmp_path):
    path = tmp_path / "t.parquet"
    # A short record, as every byte takes a reading.
    write_table(path, TABLE, PROVENANCE | {"code": {}, "packages": {}})
    recipe = RECIPE.model_copy(update={"code": digest({}), "packages": {}})
    assert read_table(path, recipe, SEEDS).equals(TABLE)
    whole = path.read_bytes()
    for place in range(len(whole)):
        content = bytearray(whole)
        content[place] ^= 1 << place % 8
        path.write_bytes(content)
        with pytest.raises(InputError):
            read_table(path, recipe, SEEDS)


def test_tables_of_earlier_versions_are_read(tmp_path):
    """Their record has the digest of the pages alone, without the footer in which it stands."""
    path, whole = tmp_path / "t.parquet", io.BytesIO()
    plain = pa.Table.from_pandas(TABLE, preserve_index=False).replace_schema_metadata()
    with pq.ParquetWriter(whole, plain.schema) as writer:
        writer.write_table(plain)
        pages = whole.getvalue()
        record = make_record(PROVENANCE, hashlib.sha256(pages).hexdigest())
        writer.add_key_value_metadata({"provenance": record})
    path.write_bytes(whole.getvalue())
    assert read_table(path, RECIPE, SEEDS).equals(TABLE)
    place = len(pages) - 9
    path.write_bytes(pages[:place] + b"?" + whole.getvalue()[place + 1 :])
    with pytest.raises(InputError):
        read_table(path, RECIPE, SEEDS)


def test_pickles_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", provenance=np.array([object()]), allow_pickle=True)
    with pytest.raises(InputError, match="not made by this project"):
        read_arrays(tmp_path / "a.npz", RECIPE, SEEDS)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"seed,entropy\n1,2\n"])
def test_broken_table_is_refused(tmp_path, content):
    (tmp_path / "t.parquet").write_bytes(content)
    with pytest.raises(InputError, match=r"t\.parquet: truncated"):
        read_table(tmp_path / "t.parquet", RECIPE, SEEDS)


def test_table_without_provenance_is_refused(tmp_path):
    TABLE.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match="not made by this project"):
        read_table(tmp_path / "t.parquet", RECIPE, SEEDS)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"settings": {**SETTINGS, "noise": 1.0}}, "other settings"),
        ({"seeds": [2, 3]}, r"seeds are \[2, 3\], expected \[2\]"),
        ({"reads": ["f" * 16]}, "what it was made from was made otherwise"),
        ({"program": "another"}, f"program: 'another', expected '{PROGRAM}'"),
        ({"packages": {"numpy": "0.1"}}, r"packages: \{'numpy': '0\.1'\}, expected"),
        ({"format": 1}, "format: 1, expected 2"),
        ({"code": PROVENANCE["code"] | {PROGRAM: "0" * 12}}, rf"other code of {PROGRAM}\)"),
    ],
)
def test_what_was_made_otherwise_is_refused(tmp_path, changes, message):
    write_table(tmp_path / "t.parquet", TABLE, PROVENANCE | changes)
    with pytest.raises(InputError, match=rf"t\.parquet: made by another .*{message}.*delete"):
        read_table(tmp_path / "t.parquet", RECIPE, SEEDS)
    write_arrays(tmp_path / "a.npz", ARRAYS, PROVENANCE | changes)
    with pytest.raises(InputError, match=rf"a\.npz: made by another .*{message}.*delete"):
        read_arrays(tmp_path / "a.npz", RECIPE, SEEDS)


def test_other_values_with_the_right_provenance_are_refused(tmp_path):
    arrays, table = tmp_path / "a.npz", tmp_path / "t.parquet"
    write_arrays(arrays, ARRAYS, PROVENANCE)
    with np.load(arrays) as archive:
        whole = dict(archive)
    np.savez_compressed(arrays, allow_pickle=False, **whole)
    assert read_arrays(arrays, RECIPE, SEEDS).keys() == ARRAYS.keys()
    others = (
        {"a/x": np.nextafter(whole["a/x"], 2000)},
        {"a/x": whole["a/x"].T},
        {"a/y": whole["a/y"].view(np.int16)},
    )
    for other in others:
        np.savez_compressed(arrays, allow_pickle=False, **{**whole, **other})
        with pytest.raises(InputError, match=r"a\.npz was changed after it was made; delete it"):
            read_arrays(arrays, RECIPE, SEEDS)

    write_table(table, TABLE, PROVENANCE)
    record = pq.read_metadata(table).metadata
    plain = pq.read_table(table).replace_schema_metadata({"provenance": record[b"provenance"]})
    for column, values in (("entropy", [0.1, 0.3]), ("seed", [2, 1]), ("name", ["a", "c"])):
        position = plain.column_names.index(column)
        pq.write_table(plain.set_column(position, column, [values]), table)
        with pytest.raises(InputError, match=r"t\.parquet was changed after it was made"):
            read_table(table, RECIPE, SEEDS)


def test_seeds_may_be_left_open(tmp_path):
    write_arrays(tmp_path / "a.npz", ARRAYS, PROVENANCE | {"seeds": [7]})
    assert read_arrays(tmp_path / "a.npz", RECIPE, None).keys() == ARRAYS.keys()


def test_what_a_run_kept_for_itself_is_its_own(tmp_path):
    write_arrays(tmp_path / "a.checkpoint", ARRAYS, PROVENANCE)
    assert read_own_arrays(tmp_path / "a.checkpoint", PROVENANCE).keys() == ARRAYS.keys()
    with pytest.raises(InputError, match=r"a\.checkpoint: made by another configuration"):
        read_own_arrays(tmp_path / "a.checkpoint", PROVENANCE | {"seeds": [3]})


def run_of_the_example():
    """One of its runs, whose data are made in the current folder."""
    path = "results/example/runs/printed/1-5.npz"
    (data,) = JOBS.tasks[path].reads
    make_output(Work(JOBS.order(data), [], Path(data), None))
    given = Given(Path(data), "data", JOBS.recipe(data), list(JOBS.tasks[data].seeds), None)
    return Work(JOBS.order(path), [given], Path(path), None)


def set_train(monkeypatch, work, train):
    """Have the example train otherwise; `train` is given its own function first."""
    program = importlib.import_module(work.order.program)
    own = program.train
    monkeypatch.setattr(program, "train", wraps(own)(lambda *given: train(own, *given)))


def with_gap(own, job, seeds, data, checkpoint):
    """Weights that are not finite any more, of the third seed."""
    weights = own(job, seeds, data, checkpoint)["weights"]
    weights[2, -1, 0] = np.nan
    return {"weights": weights}


def test_a_run_that_is_not_finite_is_refused_unless_the_study_says_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    work = run_of_the_example()
    set_train(monkeypatch, work, with_gap)
    with pytest.raises(InputError) as error:
        make_output(work)
    assert error.value.message == (
        f"{work.output}: weights of seed 3 is not finite, as after a training that diverged;"
        " lower its learning rate"
    )
    assert not work.output.exists()
    make_output(work._replace(order=work.order.model_copy(update={"gaps": ["w*"]})))
    assert np.isnan(np.load(work.output)["weights"]).sum() == 1


def test_a_training_that_diverges_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    work = run_of_the_example()
    settings = work.order.settings | {"learning_rate": 1e300}
    diverging = work._replace(order=work.order.model_copy(update={"settings": settings}))
    with np.errstate(all="ignore"), pytest.raises(InputError, match="weights of seed 1-5 is not"):
        make_output(diverging)


def test_data_that_are_not_finite_are_refused(tmp_path, monkeypatch):
    path = "results/example/data/printed/1-5.npz"
    program = importlib.import_module(JOBS.order(path).program)
    infinite = wraps(program.sample)(lambda *_: {"inputs": np.full((5, 2), np.inf)})
    monkeypatch.setattr(program, "sample", infinite)
    with pytest.raises(InputError, match="inputs has numbers that are not finite; correct what"):
        make_output(Work(JOBS.order(path), [], tmp_path / "1-5.npz", None))
    assert list(tmp_path.iterdir()) == []


def test_what_is_refused_makes_nothing_anew():
    order = JOBS.order("results/example/runs/printed/1-5.npz")
    both = [Orders(orders=[order.model_copy(update={"gaps": gaps})]) for gaps in ([], ["*"])]
    assert both[0].to_record() == both[1].to_record() == both[0].to_json()
    assert both[0].to_json() != both[1].to_json()


def test_a_folder_in_the_place_of_a_checkpoint_is_named_before_training(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    work = run_of_the_example()
    set_train(monkeypatch, work, lambda *_: pytest.fail("trains"))
    work.output.with_suffix(".checkpoint").mkdir(parents=True)
    with pytest.raises(InputError, match=r"1-5\.checkpoint: is a folder, .*; remove it and run"):
        make_output(work)


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        ({"other": np.zeros(3)}, "what was kept does not suffice ('state')"),
        ({"state": np.zeros(2)}, "what was kept does not suffice (operands could not be broad"),
        ({"state": np.array([0, np.nan, 0])}, "state of what was kept is not finite"),
    ],
)
def test_a_checkpoint_that_does_not_suffice_is_left(tmp_path, monkeypatch, capsys, kept, said):
    """Its digest is right, as the program itself has written it."""
    monkeypatch.chdir(tmp_path)
    work = run_of_the_example()
    make_output(work)
    whole = work.output.read_bytes()

    def interrupted(own, job, seeds, data, checkpoint):
        checkpoint.write(kept)
        raise KeyboardInterrupt

    def resuming(own, job, seeds, data, checkpoint):
        found = checkpoint.read()
        state = np.zeros(3) if found is None else found["state"] + np.zeros(3)
        checkpoint.is_due()
        arrays = own(job, seeds, data, checkpoint)
        return {"weights": arrays["weights"] + state.sum()}

    work.output.unlink()
    with monkeypatch.context() as once:
        set_train(once, work, interrupted)
        with pytest.raises(KeyboardInterrupt):
            make_output(work)
    set_train(monkeypatch, work, resuming)
    make_output(work)
    assert f"starting anew: {said}" in capsys.readouterr().err
    assert work.output.read_bytes() == whole
    assert not work.output.with_suffix(".checkpoint").exists()


def test_what_fails_after_a_step_from_a_checkpoint_is_no_fault_of_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    work = run_of_the_example()

    def failing(own, job, seeds, data, checkpoint):
        if checkpoint.read() is None:
            checkpoint.write({"state": np.zeros(3)})
            raise KeyboardInterrupt
        checkpoint.is_due()
        raise KeyError("later")

    set_train(monkeypatch, work, failing)
    for error in (KeyboardInterrupt, KeyError):
        with pytest.raises(error):
            make_output(work)
    assert work.output.with_suffix(".checkpoint").exists()


def test_neither_a_run_nor_its_checkpoint_is_taken_for_the_other(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    work = run_of_the_example()
    output = work.output
    program = importlib.import_module(work.order.program)
    train, found = program.train, []

    @wraps(train)
    def keeping(job, seeds, data, checkpoint):
        found.append(checkpoint.read())
        checkpoint.write(ARRAYS)
        found.append(checkpoint.read())
        with pytest.raises(InputError, match="under way"):
            read_arrays(output.with_suffix(".checkpoint"), JOBS.recipe(str(output)), None)
        return train(job, seeds, data, checkpoint)

    monkeypatch.setattr(program, "train", keeping)
    for _ in range(2):
        make_output(work)
        kept = output.with_suffix(".checkpoint")
        assert not kept.exists()
        kept.write_bytes(output.read_bytes())
    assert [each and each.keys() for each in found] == [None, ARRAYS.keys()] * 2
    assert f"starting anew: {kept}: made by another" in capsys.readouterr().err


def test_a_checkpoint_of_other_data_is_left(tmp_path, monkeypatch, capsys):
    """As when a source file was exchanged, which no recipe says."""
    monkeypatch.chdir(tmp_path)
    work = run_of_the_example()
    found = []

    def interrupted(job, seeds, data, checkpoint):
        found.append(checkpoint.read())
        checkpoint.write(ARRAYS)
        raise KeyboardInterrupt

    program = importlib.import_module(work.order.program)
    monkeypatch.setattr(program, "train", wraps(program.train)(interrupted))

    def again():
        with pytest.raises(KeyboardInterrupt):
            make_output(work)

    again()
    again()
    (data,) = work.given
    arrays = read_arrays(data.path, data.recipe, data.seeds)
    settings = JOBS.tasks[str(data.path)].settings
    made = provenance(data.recipe.program, settings, data.seeds, data.recipe.reads)
    write_arrays(data.path, {name: values * 2 for name, values in arrays.items()}, made)
    again()
    assert [each is None for each in found] == [True, False, True]
    assert "starting anew: " in capsys.readouterr().err


def test_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"a\.npz: there is no such file"):
        read_arrays(tmp_path / "a.npz", RECIPE, SEEDS)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("seed\n1\n", "lacks the column"),
        ("seed,entropy\n", "no rows"),
        ("", "truncated"),
    ],
)
def test_wrong_csv_is_refused(tmp_path, content, message):
    (tmp_path / "f.csv").write_text(content)
    with pytest.raises(InputError, match=message):
        read_csv(tmp_path / "f.csv", ["seed", "entropy"])


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
    path = next(path for path in JOBS.tasks if path.startswith("results/example/data/"))
    job = str(DocumentFile(Orders(orders=[JOBS.order(path)]).to_json(), tmp_path))
    command = [
        sys.executable,
        "-m",
        "replication.run.program",
        "--job",
        job,
        str(small_disk / "2.npz"),
    ]
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
    DEFAULTS.write(configuration)
    assert configuration.read_text() == DEFAULTS.yaml
    told = DocumentFile("{}", tmp_path)
    Path(str(told)).write_bytes(b"\xff\x00")
    assert Path(str(told)).read_text() == "{}"


def test_a_file_that_holds_the_same_is_left_alone(tmp_path):
    path = tmp_path / "config.yaml"
    DEFAULTS.write(path)
    before = path.stat()
    DEFAULTS.write(path)
    # Not the whole answer: reading a file may change when it was last read.
    after = path.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_damaged_checksum_is_one_sentence(tmp_path):
    write_csv(tmp_path / "t.csv", TABLE)
    (tmp_path / "t.sha256").write_bytes(b"\xff\x00")
    with pytest.raises(InputError, match=r"t\.csv was changed after it was made; delete it"):
        refuse_changed_table(tmp_path / "t.csv", tmp_path / "t.sha256")


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (
            "results/example/metrics/printed/error.parquet",
            "transformer_dynamics.example.metrics.measure: the table of the metric error lacks the"
            " column(s) seed; it has entropy, name",
        ),
        (
            "figures/example/fig2.csv",
            "transformer_dynamics.example.figures.fig2.table: the table of the figure fig2 lacks"
            " the column(s) seed, variance, half_life, theory; it has entropy, name",
        ),
    ],
)
def test_a_table_without_a_column_is_refused_where_it_is_made(tmp_path, monkeypatch, path, said):
    order = JOBS.order(path)
    program = importlib.import_module(order.program)
    wrong = wraps(getattr(program, order.function))(lambda *_: TABLE[["entropy", "name"]])
    monkeypatch.setattr(program, order.function, wrong)
    output = tmp_path / Path(path).name
    with pytest.raises(InputError) as error:
        STAGES[order.stage](Work(order, [], output, None))
    assert error.value.message == said
    assert not output.exists()
