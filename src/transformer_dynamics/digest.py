"""Digests of code: what a stage's result depends on besides its settings.

Snakemake does not see that an imported module changed. So every rule carries one digest per module
that its program reaches, and every intermediate file carries the same digests.
"""

import ast
import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

PACKAGE = "transformer_dynamics"
SOURCE = Path(__file__).resolve().parent

NUMERICAL_PACKAGES = frozenset({"matplotlib", "numpy", "pandas", "scipy", "seaborn", "torch"})
"""Packages whose version can change a number or a drawing."""


class Reach(NamedTuple):
    """What one module needs, itself included."""

    modules: dict[str, str]
    """Module name, without the package's own, to the digest of its syntax tree."""
    packages: tuple[str, ...]
    """Numerical packages that one of the modules imports."""


@cache
def reach(module: str) -> Reach:
    """Every module of this package that `module` imports, directly or through others.

    Args:
        module: full dotted name of a module of this package.

    Raises:
        ModuleNotFoundError: if the package has no such module.
    """
    modules: dict[str, str] = {}
    packages: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if _short(name) in modules:
            continue
        tree = ast.parse(_source(name).read_text())
        modules[_short(name)] = _tree_digest(tree)
        # Importing a.b.c runs a and a.b first.
        waiting.extend(_parents(name))
        for imported in _imports(tree, name):
            if imported.split(".")[0] == PACKAGE:
                waiting.append(imported)
            else:
                packages.add(imported.split(".")[0])
    return Reach(dict(sorted(modules.items())), tuple(sorted(packages & NUMERICAL_PACKAGES)))


def installed_versions(packages: tuple[str, ...]) -> dict[str, str]:
    """Installed version of each package, without a build's local suffix such as `+cpu`."""
    return {name: version(name).split("+")[0] for name in packages}


def locked_versions(lock: Path, packages: tuple[str, ...]) -> dict[str, str]:
    """Version of each package in a lock file of `name==version` lines.

    Where another version than the locked one is installed, both are named, so that neither a new
    lock nor a new installation goes unnoticed.
    """
    pins = dict(
        line.split(";")[0].strip().split("==")
        for line in lock.read_text().splitlines()
        if "==" in line and not line.lstrip().startswith(("#", "-"))
    )
    versions = {}
    for name, installed in installed_versions(packages).items():
        locked = pins.get(name, "unpinned")
        versions[name] = locked if locked == installed else f"{locked} (installed: {installed})"
    return versions


def _parents(module: str) -> list[str]:
    parts = module.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts))]


def _short(module: str) -> str:
    return module.removeprefix(f"{PACKAGE}.")


def _source(module: str) -> Path:
    parts = module.split(".")[1:]
    for path in (
        SOURCE.joinpath(*parts, "__init__.py"),
        SOURCE.joinpath(*parts).with_suffix(".py"),
    ):
        if path.is_file():
            return path
    raise ModuleNotFoundError(f"the package has no module {module}")


def _imports(tree: ast.AST, module: str) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise ValueError(f"{module}: relative imports are not followed, write them in full")
            base = node.module or ""
            names.add(base)
            names.update(
                f"{base}.{alias.name}" for alias in node.names if _exists(f"{base}.{alias.name}")
            )
    return names


def _exists(module: str) -> bool:
    if module.split(".", maxsplit=1)[0] != PACKAGE:
        return False
    try:
        _source(module)
    except ModuleNotFoundError:
        return False
    return True


def _tree_digest(tree: ast.Module) -> str:
    """Digest of the code without comments, layout, docstrings and other bare strings."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [child for child in body if not _is_bare_string(child)]  # type: ignore[attr-defined]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()[:12]


def _is_bare_string(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
