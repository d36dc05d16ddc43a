"""Tables are whole, and refused if they are not what they claim."""

import importlib
from dataclasses import replace
from functools import wraps
from pathlib import Path

import pandas as pd
import pytest
from conftest import JOBS
from stored import FILE_KEY, PROVENANCE, TABLE

from replication.base.errors import WRONG_TABLE, InputError
from replication.base.storage import read_csv, read_table, write_table
from replication.judge.comparisons import UNMEASURED
from replication.run.stages import make_output


def test_table_comes_back(tmp_path):
    write_table(tmp_path / "t.parquet", TABLE, PROVENANCE)
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.parquet", FILE_KEY), TABLE)


def test_a_flipped_bit_of_any_byte_of_a_table_is_refused(tmp_path):
    path = tmp_path / "t.parquet"
    # A short record, as every byte takes a reading.
    write_table(path, TABLE, PROVENANCE | {"code": {}, "packages": {}})
    assert read_table(path, FILE_KEY).equals(TABLE)
    whole = path.read_bytes()
    for place in range(len(whole)):
        content = bytearray(whole)
        content[place] ^= 1 << place % 8
        path.write_bytes(content)
        with pytest.raises(InputError):
            read_table(path, FILE_KEY)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"seed,entropy\n1,2\n"])
def test_broken_table_is_refused(tmp_path, content):
    (tmp_path / "t.parquet").write_bytes(content)
    with pytest.raises(InputError, match=r"t\.parquet: truncated"):
        read_table(tmp_path / "t.parquet", FILE_KEY)


def test_table_without_provenance_is_refused(tmp_path):
    TABLE.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match="not made by this project"):
        read_table(tmp_path / "t.parquet", FILE_KEY)


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


def without_inputs(path, output):
    """Return the step of a file of the example that reads nothing."""
    return replace(JOBS.ready(path, [str(output)]), inputs=())


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (
            "results/example/metrics/printed/error.parquet",
            "transformer_dynamics.example.metrics.measure: the table of the metric error lacks the"
            " column(s) seed; it has entropy, name; mend the"
            " function that returns it",
        ),
        (
            "figures/example/fig2.csv",
            "transformer_dynamics.example.figures.fig2.table: the table of the figure fig2 lacks"
            " the column(s) seed, variance, half_life, theory; it has entropy, name; mend the"
            " function that returns it",
        ),
    ],
)
def test_a_table_without_a_column_is_refused_where_it_is_made(tmp_path, monkeypatch, path, said):
    output = tmp_path / Path(path).name
    order = without_inputs(path, output)
    program = importlib.import_module(order.program)
    wrong = wraps(getattr(program, order.function))(lambda *_: TABLE[["entropy", "name"]])
    monkeypatch.setattr(program, order.function, wrong)
    with pytest.raises(InputError) as error:
        make_output(order)
    assert error.value.message == said
    assert not output.exists()


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (
            [1, 2],
            "returns list for the {}, but a pandas table is needed, with the column(s) {}",
        ),
        (
            pd.DataFrame({"seed": [1, 2], "cell": ["a", "b"], "value": [1, "x"]}),
            "the table of the {} cannot be kept (",
        ),
    ],
)
@pytest.mark.parametrize(
    ("path", "made", "columns"),
    [
        ("results/example/metrics/printed/error.parquet", "metric error", "seed"),
        ("results/example/evidence/C2.parquet", "claim C2", "cell, value"),
    ],
)
def test_a_wrong_table_is_told_with_its_function(
    tmp_path, monkeypatch, path, made, columns, returned, said
):
    """A claim is then not tested, so that the others of its job are."""
    order = without_inputs(path, tmp_path / Path(path).name)
    program = importlib.import_module(order.program)
    wrong = wraps(getattr(program, order.function))(lambda *_: returned)
    monkeypatch.setattr(program, order.function, wrong)
    told = f"{order.program}.{order.function}: {said.format(made, columns)}"
    if order.stage == "metrics":
        with pytest.raises(InputError) as error:
            make_output(order)
        assert error.value.message.startswith(told)
        assert not order.file.exists()
    else:
        make_output(order)
        reason = pd.read_parquet(order.file)[UNMEASURED].item()
        assert reason.startswith(told)
        assert reason.endswith(WRONG_TABLE)


def test_a_name_that_looks_like_a_missing_number_is_a_name(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("experiment,value\nNA,1\nNone,\n")
    table = read_csv(path, ["experiment", "value"])
    assert [*table["experiment"]] == ["NA", "None"]
    assert table["value"].isna().tolist() == [False, True]
