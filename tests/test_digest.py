"""Digests change with code and not with prose."""

import ast
from importlib.metadata import version

import pytest

from transformer_dynamics.digest import _tree_digest, installed_versions, locked_versions, reach

STAGES = "transformer_dynamics.scan_and_snap.stages"


def digest(text: str) -> str:
    return _tree_digest(ast.parse(text))


def test_prose_and_layout_do_not_count():
    plain = "def f(x):\n    return x + 1\n"
    assert digest(plain) == digest(
        '"""Doc."""\n\ndef f(x):\n    """Doc."""\n    # why\n    return (x\n + 1)\n'
    )
    assert digest(plain) != digest("def f(x):\n    return x + 2\n")


def test_a_model_field_s_description_does_not_count():
    assert digest("class A:\n    x: int = 1\n") == digest(
        'class A:\n    x: int = 1\n    """X."""\n'
    )


def test_reach_follows_imports_through_modules():
    training = reach(f"{STAGES}.train")
    assert {"scan_and_snap.model", "scan_and_snap.training", "storage"} <= training.modules.keys()
    assert "drawing" not in training.modules
    assert "torch" in training.packages
    drawing = reach("transformer_dynamics.scan_and_snap.figures.fig6")
    assert "scan_and_snap.model" not in drawing.modules
    assert {"matplotlib", "seaborn"} <= set(drawing.packages)


def test_only_what_trains_depends_on_torch():
    programs = ["sample", "train", "measure", "tabulate"]
    assert [name for name in programs if "torch" in reach(f"{STAGES}.{name}").packages] == ["train"]


def test_reach_includes_the_packages_that_an_import_runs():
    assert {"transformer_dynamics", "scan_and_snap", "scan_and_snap.stages"} <= reach(
        f"{STAGES}.sample"
    ).modules.keys()


def test_only_tables_depend_on_pandas():
    assert "pandas" not in reach(f"{STAGES}.train").packages
    assert "pandas" in reach(f"{STAGES}.measure").packages


def test_unknown_module_is_refused():
    with pytest.raises(ModuleNotFoundError, match="no module"):
        reach(f"{STAGES}.nonsense")


def test_versions_of_lock_and_installation_are_both_named(tmp_path):
    lock = tmp_path / "requirements.lock"
    lock.write_text("# comment\nnumpy==0.1\n")
    installed = version("numpy")
    assert locked_versions(lock, ("numpy",)) == {"numpy": f"0.1 (installed: {installed})"}
    lock.write_text(f"numpy=={installed}\n")
    assert (
        locked_versions(lock, ("numpy",)) == installed_versions(("numpy",)) == {"numpy": installed}
    )
