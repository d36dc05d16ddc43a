"""Runs that diverged, and checkpoints: refused, left or taken."""

import dataclasses
import importlib
from functools import wraps

import numpy as np
import pytest
from conftest import JOBS

from replication.base.errors import InputError
from replication.base.keys import KEY
from replication.base.storage import read_arrays, write_arrays
from replication.run.checkpoint import Checkpoint
from replication.run.stages import make_output

ARRAYS = {"a/x": np.arange(1000.0).reshape(10, 100)}
"""Arrays of a checkpoint, which are not those of the example."""


def run_of_the_example():
    """One of its runs, whose data are made in the current folder."""
    path = "results/example/runs/printed/1-5.npz"
    (data,) = JOBS.steps[path].reads
    make_output(JOBS.ready(data))
    return JOBS.ready(path)


def set_train(monkeypatch, order, train):
    """Have the example train otherwise; `train` is given its own function first."""
    program = importlib.import_module(order.program)
    own = program.train
    monkeypatch.setattr(program, "train", wraps(own)(lambda *given: train(own, *given)))


def with_gap(own, job, seeds, data, checkpoint):
    """Weights that are not finite any more, of the third seed."""
    weights = own(job, seeds, data, checkpoint)["weights"]
    weights[2, -1, 0] = np.nan
    return {"weights": weights}


def test_a_run_that_is_not_finite_is_told_unless_the_study_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    order = run_of_the_example()
    set_train(monkeypatch, order, with_gap)
    make_output(order)
    assert capsys.readouterr().err == (
        f"{order.file}: has numbers of seed 3 that are not finite, in the array(s) weights, as"
        " after a training that diverged; no claim takes them\n"
    )
    make_output(dataclasses.replace(order, gaps=("w*",)))
    assert np.isnan(np.load(order.file)["weights"]).sum() == 1
    assert capsys.readouterr().err == ""


def test_a_run_of_no_seed_that_is_not_finite_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    order = run_of_the_example()
    set_train(monkeypatch, order, lambda *_: {"weights": np.full(3, np.nan)})
    with pytest.raises(InputError, match="that diverged; lower its learning rate"):
        make_output(dataclasses.replace(order, seeds=()))
    assert not order.file.exists()


def test_all_arrays_that_are_not_finite_are_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    order = run_of_the_example()
    both = np.zeros((2, 5))
    both[:, 2] = both[1, 4] = np.nan
    set_train(monkeypatch, order, lambda *_: {"b": both[0], "c": np.zeros(5), "a": both[1]})
    make_output(order)
    assert "of seed 3,5 that are not finite, in the array(s) b, a, as" in capsys.readouterr().err


def test_a_training_that_diverges_is_told(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    order = run_of_the_example()
    settings = order.settings | {"learning_rate": 1e300}
    diverging = dataclasses.replace(order, settings=settings)
    with np.errstate(all="ignore"):
        make_output(diverging)
    assert "numbers of seed 1-5 that are not finite" in capsys.readouterr().err


def test_data_that_are_not_finite_are_refused(tmp_path, monkeypatch):
    path = "results/example/data/printed/1-5.npz"
    program = importlib.import_module(JOBS.ready(path).program)
    infinite = wraps(program.sample)(lambda *_: {"inputs": np.full((5, 2), np.inf)})
    monkeypatch.setattr(program, "sample", infinite)
    with pytest.raises(InputError, match=r"not finite, in the array\(s\) inputs; correct"):
        make_output(JOBS.ready(path, [str(tmp_path / "1-5.npz")]))
    assert list(tmp_path.iterdir()) == []


def test_what_is_refused_makes_nothing_anew():
    order = JOBS.ready("results/example/runs/printed/1-5.npz")
    path = str(order.file)
    allowed = {**JOBS.steps, path: dataclasses.replace(JOBS.steps[path], gaps=("*",))}
    other = dataclasses.replace(JOBS, steps=allowed, _recipes={}, _keys={})
    assert other.key(path) == order.key
    assert other.ready(path) != order


def test_neither_a_run_nor_its_checkpoint_is_taken_for_the_other(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    order = run_of_the_example()
    output = order.file
    program = importlib.import_module(order.program)
    train, found = program.train, []

    @wraps(train)
    def keeping(job, seeds, data, checkpoint):
        found.append(checkpoint.read())
        checkpoint.write(ARRAYS)
        found.append(checkpoint.read())
        with pytest.raises(InputError, match="made by another configuration"):
            read_arrays(output.with_suffix(".checkpoint"), order.key)
        return train(job, seeds, data, checkpoint)

    monkeypatch.setattr(program, "train", keeping)
    for _ in range(2):
        make_output(order)
        kept = output.with_suffix(".checkpoint")
        assert not kept.exists()
        kept.write_bytes(output.read_bytes())
    assert [each and each.keys() for each in found] == [None, ARRAYS.keys()] * 2
    assert f"starting anew: {kept}: made by another" in capsys.readouterr().err


def test_a_checkpoint_of_another_key_is_left(tmp_path, monkeypatch, capsys):
    """As when a file of the data was exchanged."""
    monkeypatch.chdir(tmp_path)
    order = run_of_the_example()
    found = []

    def interrupted(job, seeds, data, checkpoint):
        found.append(checkpoint.read())
        checkpoint.write(ARRAYS)
        raise KeyboardInterrupt

    program = importlib.import_module(order.program)
    monkeypatch.setattr(program, "train", wraps(program.train)(interrupted))
    other = dataclasses.replace(order, key="0" * 16)
    for each in (order, order, other):
        with pytest.raises(KeyboardInterrupt):
            make_output(each)
    assert [each is None for each in found] == [True, False, True]
    assert "starting anew: " in capsys.readouterr().err


def test_a_checkpoint_is_stored_and_a_result_is_compressed(tmp_path):
    own = {KEY: "0" * 16}
    arrays = {"x": np.zeros(10_000)}
    checkpoint = Checkpoint(tmp_path / "kept", own)
    checkpoint.write(arrays)
    found = checkpoint.read()
    assert found is not None
    assert np.array_equal(found["x"], arrays["x"])
    write_arrays(tmp_path / "result", arrays, own)
    assert (tmp_path / "kept").stat().st_size > arrays["x"].nbytes
    assert (tmp_path / "result").stat().st_size < arrays["x"].nbytes / 10
