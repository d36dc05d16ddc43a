"""Digests change with code and not with prose."""

import ast
import json
import sys
from importlib.metadata import version
from importlib.util import cache_from_source
from pathlib import Path

import pytest
from conftest import JOBS

from replication.base import keys
from replication.base.code_digest import (
    WORDING,
    _parse_source,
    _read_source,
    reach,
)
from replication.base.errors import InputError
from replication.base.keys import digest_of_code, surroundings_of
from replication.base.places import read_source

EXAMPLE = "transformer_dynamics.example"
TASKS = JOBS.steps.values()
PROGRAMS = {
    stage: {task.program for task in TASKS if task.stage == stage}
    for stage in {task.stage for task in TASKS}
}
"""Of all studies, by stage."""


def digest(text: str) -> str:
    return _parse_source(ast.parse(text), "").digest


def test_prose_and_layout_do_not_count():
    plain = "def f(x):\n    return x + 1\n"
    assert digest(plain) == digest(
        '"""Doc."""\n\ndef f(x):\n    """Doc."""\n    # why\n    return (x\n + 1)\n'
    )
    assert digest(plain) != digest("def f(x):\n    return x + 2\n")


def test_all_versions_of_python_give_the_same():
    # What is empty in it (arguments, decorators, keywords, type parameters) `ast` shows otherwise.
    text = 'class C(B):\n  def f(self, *, a=None):\n    return [f"{a!r:>3}", {**a}, g(), ...]\n'
    assert digest(text) == "8007e69ff675"
    assert digest(text) != digest(text.replace("None", "0"))


def test_a_model_field_s_description_does_not_count():
    assert digest("class A:\n    x: int = 1\n") == digest(
        'class A:\n    x: int = 1\n    """X."""\n'
    )


@pytest.fixture
def record(tmp_path, monkeypatch):
    """A source file, and the record of it that is kept."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "records"))
    source = tmp_path / "a.py"
    source.write_text("import numpy\n\ndef f(x, *, y=1):\n    return x\n")
    _read_source(source)
    return source, Path(cache_from_source(source)).with_suffix(".json")


def test_a_record_says_what_the_source_says(record, monkeypatch):
    source, kept = record
    assert kept.is_file()
    by_record = _read_source(source)
    monkeypatch.setattr(ast, "parse", None)
    assert _read_source(source) == by_record
    kept.unlink()
    monkeypatch.undo()
    assert _read_source(source) == by_record


def test_a_record_of_other_content_does_not_count(record):
    source, _ = record
    before = _read_source(source)
    source.write_text(source.read_text().replace("x, *", "z, *"))
    read_source.cache_clear()
    assert _read_source(source).functions["f"].positional == ["z"]
    assert _read_source(source).digest != before.digest


@pytest.mark.parametrize("damage", [
    "", "{", "[]", "null", "3", '{"key": 1}', "[" * 200_000, '{"key": "OF"}',
    '{"key": "OF", "source": ["x", [], []]}', '{"key": "OF", "source": ["x", [], null]}',
])  # fmt: skip
def test_a_damaged_record_does_not_count(record, damage):
    source, kept = record
    before = _read_source(source)
    of = json.loads(kept.read_text())["key"]
    kept.write_text(damage.replace("OF", of))
    assert _read_source(source) == before


def test_where_no_record_can_be_written_the_source_is_read(record, monkeypatch):
    source, kept = record
    before = _read_source(source)
    kept.unlink()
    kept.mkdir()
    assert _read_source(source) == before
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]
    monkeypatch.setattr(sys, "pycache_prefix", str(source))
    assert _read_source(source) == before


def test_reach_follows_imports_through_modules():
    training = reach(f"{EXAMPLE}.training")
    assert {f"{EXAMPLE}.training", f"{EXAMPLE}.settings"} == training.modules.keys()
    assert training.packages == ("numpy",)
    drawing = reach(f"{EXAMPLE}.figures.fig1")
    assert "replication.figures.style" in drawing.modules
    assert f"{EXAMPLE}.training" not in drawing.modules
    assert {"matplotlib", "pandas"} <= set(drawing.packages)


def test_wording_counts_for_nothing():
    assert {"replication.base.errors", "replication.base.strict"} <= WORDING
    for program in PROGRAMS["runs"] | PROGRAMS["table"]:
        assert not WORDING & reach(program).modules.keys()


def test_only_what_trains_depends_on_torch():
    """And what runs trained models, or derives something: evidence, and figures of theory."""
    # Pretrained encoders are run once, before anything is trained, and PyTorch reads its own files;
    # what files of an encoder are worth is known when it is built of them.
    pretrained = {
        "transformer_dynamics.encoders.data.encoder",
        "transformer_dynamics.encoders.data.features",
        "transformer_dynamics.encoders.data.tokens",
        "transformer_dynamics.lp_ft.data.drawn_features",
        "transformer_dynamics.lp_ft.data.features_of_tests",
        "transformer_dynamics.gradient_heterogeneity.data.vocabulary",
        "transformer_dynamics.gradient_heterogeneity.data.pretrained",
    }
    of_theory = {task.program for task in TASKS if task.stage == "table" and not task.reads}
    for stage in PROGRAMS.keys() - {"runs", "evidence"}:
        found = [n for n in PROGRAMS[stage] - pretrained if "torch" in reach(n).packages]
        # Metrics that run trained models are modules of a folder of their own.
        assert [each for each in found if ".metrics." not in each and each not in of_theory] == []


def test_only_tables_depend_on_pandas():
    for stage in ("data", "runs"):
        assert [name for name in PROGRAMS[stage] if "pandas" in reach(name).packages] == []
    assert all("pandas" in reach(name).packages for name in PROGRAMS["metrics"])


def test_reach_includes_the_packages_that_an_import_runs(monkeypatch, tmp_path):
    folder = tmp_path / "a_package/below"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("RUN = True")
    (folder / "__init__.py").write_text('"""Nothing is run here."""')
    (folder / "module.py").write_text("X = 1")
    monkeypatch.setattr("replication.base.code_digest.SOURCE", tmp_path)
    assert reach("a_package.below.module").modules.keys() == {"a_package", "a_package.below.module"}


def test_unknown_module_is_refused():
    with pytest.raises(InputError, match="no module"):
        reach(f"{EXAMPLE}.nonsense")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = (", "module.py, line 1: '(' was never closed"),
        ("from . import other", "relative imports are not followed"),
    ],
)
def test_a_program_that_cannot_be_read_is_named(monkeypatch, tmp_path, text, message):
    folder = tmp_path / f"package_{len(text)}"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "module.py").write_text(text)
    monkeypatch.setattr("replication.base.code_digest.SOURCE", tmp_path)
    with pytest.raises(InputError) as error:
        reach(f"{folder.name}.module")
    assert message in error.value.message


def test_every_package_that_may_compute_counts(monkeypatch, tmp_path):
    folder = tmp_path / "package_of_packages"
    folder.mkdir()
    (folder / "__init__.py").write_text("import json, click, statsmodels.api, numpy, dateutil")
    monkeypatch.setattr("replication.base.code_digest.SOURCE", tmp_path)
    assert reach(folder.name).packages == ("numpy", "python-dateutil", "statsmodels")


def test_an_installed_version_changes_the_digest_of_what_computes_with_it(monkeypatch):
    program = (f"{EXAMPLE}.metrics",)
    before, whole = surroundings_of(program), digest_of_code.__wrapped__(program)
    assert before["packages"]["numpy"] == version("numpy")
    other = {**before["packages"], "numpy": "0.1"}
    monkeypatch.setattr(keys, "installed_versions", lambda _: other)
    assert surroundings_of(program) == before | {"packages": other}
    assert digest_of_code.__wrapped__(program) != whole
