"""What every script for a paper's authors has to be: short, by itself, and true to its output."""

import ast
import subprocess
import sys
from pathlib import Path

MOST_LINES = 40
"""Largest number of lines of a script."""
ALLOWED = {"math", "numpy", "scipy", "torch"}


def printed_alone(script: Path, folder: Path) -> list[str]:
    """Run a script where nothing else can be imported, and return the lines that it prints.

    Args:
        script: its file; what it should print lies beside it.
        folder: an empty one, which it has to leave so.
    """
    found = subprocess.run(
        [sys.executable, "-I", str(script)], cwd=folder, capture_output=True, text=True, check=True
    )
    assert found.stdout == script.with_suffix(".txt").read_text(encoding="utf-8")
    assert found.stderr == ""
    assert not [*folder.iterdir()]
    lines = found.stdout.splitlines()
    assert 3 <= len(lines) <= 10
    return lines


def check_text(script: Path) -> None:
    """Hold a script to its length, a docstring of one line, and what it may import."""
    text = script.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MOST_LINES
    tree = ast.parse(text)
    docstring = ast.get_docstring(tree)
    assert docstring
    assert "\n" not in docstring
    assert {name.partition(".")[0] for name in imported(tree)} <= ALLOWED
    assert "open(" not in text


def imported(tree: ast.Module) -> set[str]:
    """Return the modules that a program imports."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or ".")
    return names
