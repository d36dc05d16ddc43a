"""The engine and each paper have rooms: imports point one way, and docstrings name their thing."""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest
from conftest import ROOT

SOURCE = ROOT / "src"
ENGINE = (
    "base", "figures", "study", "judge", "plan", "run", "bundle", "verify", "documents", "report",
    "testing", "new",
)  # fmt: skip
"""Each may import from itself and from those before it."""
PAPER = ("settings", "theory", "data", "training", "metrics", "claims", "figures")
"""Rooms of a study, in the same sense."""
VAGUE = {
    "As", "At", "Both", "By", "For", "From", "How", "If", "In", "It", "Its", "Of", "On", "Same",
    "Some", "That", "They", "Those", "Under", "What", "When", "Where", "Whether", "Which", "Who",
    "Whose", "Why", "With", "Without",
}  # fmt: skip
"""Words with which no docstring begins, nor does one with "The same": the thing comes first."""
VERBS = frozenset({
    "Add", "Append", "Apply", "Ask", "Build", "Cancel", "Check", "Choose", "Cite", "Collect",
    "Compare", "Compute", "Copy", "Correct", "Count", "Cut", "Descend", "Digest", "Divide",
    "Download", "Draw", "Embed", "Empty", "Encode", "Fetch", "Fill", "Find", "Fit", "Fix", "Follow",
    "Freeze", "Generate", "Give", "Group", "Import", "Integrate", "Join", "Keep", "Lay", "Leave",
    "Let", "Load", "Make", "Measure", "Merge", "Minimise", "Move", "Multiply", "Pivot", "Prepare",
    "Print", "Put", "Read", "Record", "Refuse", "Remove", "Rename", "Repeat", "Replace", "Return",
    "Round", "Run", "Say", "Scale", "Set", "Shade", "Shift", "Shorten", "Shuffle", "Simulate",
    "Smooth", "Solve", "Sort", "Split", "Stack", "Start", "Subtract", "Take", "Tell", "Test",
    "Tokenise", "Train", "Try", "Turn", "Unlock", "Update", "Verify", "Wait", "Write", "Yield",
})  # fmt: skip
"""Verbs with which the docstring of a function begins."""


@cache
def parsed(path: Path) -> ast.Module:
    """Syntax tree of a file, which several tests look at."""
    return ast.parse(path.read_text("utf-8"))


def modules(package: str) -> dict[str, ast.Module]:
    """Syntax tree of every module of a package, by its full name."""
    return {
        ".".join(path.relative_to(SOURCE).with_suffix("").parts): parsed(path)
        for path in SOURCE.joinpath(*package.split(".")).rglob("*.py")
        if path.name != "__init__.py"
    }


def imported(tree: ast.Module) -> Iterator[str]:
    """Modules that a module may import, those within functions, too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def arrows(package: str) -> dict[str, set[str]]:
    """Modules of the package that each of its modules imports."""
    trees = modules(package)
    return {name: {*imported(tree)} & trees.keys() for name, tree in trees.items()}


def upward(package: str, rooms: tuple[str, ...]) -> list[str]:
    """Imports from a later room, as `a -> b`."""
    level = {f"{package}.{room}": at for at, room in enumerate(rooms)}

    def height(module: str) -> int:
        # The contract of a study, and a command, stand above all rooms.
        return next(
            (at for name, at in level.items() if f"{module}.".startswith(f"{name}.")), len(rooms)
        )

    return [
        f"{name} -> {other}"
        for name, others in arrows(package).items()
        for other in others
        if height(other) > height(name)
    ]


def studies() -> list[str]:
    return [f"transformer_dynamics.{path.parent.name}" for path in SOURCE.glob("*/*/study.py")]


def test_every_module_of_the_engine_is_in_a_room():
    rooms = {name.split(".")[1] for name in modules("replication") if name.count(".") > 1}
    flat = {name for name in modules("replication") if name.count(".") == 1}
    assert rooms == {*ENGINE}
    assert flat == {"replication.__main__"}


@pytest.mark.parametrize("package", ["replication", *studies()])
def test_imports_point_one_way(package):
    assert upward(package, ENGINE if package == "replication" else PAPER) == []
    assert [*TopologicalSorter(arrows(package)).static_order()]


def test_an_arrow_back_is_seen(monkeypatch):
    trees = {"replication.base.a": ast.parse("from replication.judge.b import c"),
             "replication.judge.b": ast.parse("")}  # fmt: skip
    monkeypatch.setitem(globals(), "modules", lambda _: trees)
    assert upward("replication", ENGINE) == ["replication.base.a -> replication.judge.b"]


@pytest.mark.parametrize("room", ENGINE)
def test_a_room_says_what_it_is_for(room):
    assert len(str(import_module(f"replication.{room}").__doc__).splitlines()) >= 3


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and text of every docstring, those below attributes and constants, too."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for child in body if isinstance(body, list) else []:
            if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                yield child.lineno, str(child.value.value)


@pytest.mark.parametrize("package", ["replication", "transformer_dynamics"])
def test_a_docstring_names_its_thing_first(package):
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text.splitlines()[0]}"
        for path in sorted((SOURCE / package).rglob("*.py"))
        for line, text in texts(parsed(path))
        if VAGUE & {*words(text)[:1]} or words(text)[:2] == ["The", "same"]
    ]
    assert found == []


def words(text: str) -> list[str]:
    """Words of a text, without the marks after them."""
    return [word.rstrip(",.:;") for word in text.split()]


def functions(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and docstring of every function but properties, fixtures and dunder methods."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("__"):
            decorators = " ".join(map(ast.unparse, node.decorator_list))
            if "property" not in decorators and "fixture" not in decorators:
                yield node.lineno, ast.get_docstring(node) or "Return"


@pytest.mark.parametrize("package", ["replication", "transformer_dynamics"])
def test_a_function_begins_with_a_verb(package):
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text.splitlines()[0]}"
        for path in sorted((SOURCE / package).rglob("*.py"))
        for line, text in functions(parsed(path))
        if words(text)[0] not in VERBS or words(text)[1:2] == ["of"]
    ]
    assert found == []
