"""Digests of code: what a result depends on besides its settings.

Snakemake does not see that an imported module changed. So every rule carries one digest per module
that its program reaches, and every intermediate file carries the same digests.
"""

import ast
import hashlib
import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

from replication.base.errors import InputError

SOURCE = Path(__file__).resolve().parents[2]
"""Folder of the engine and of the packages of studies."""
COMPUTES_NOTHING = frozenset({
    "PIL", "click", "jinja2", "markupsafe", "pyarrow", "pydantic", "pydantic_core", "requests",
    "rocrate", "snakemake", "snakemake_executor_plugin_slurm", "tqdm", "yaml",
})  # fmt: skip
"""Packages that read, check or show; the version of any other can change a number or a drawing."""
WORDING = frozenset({
    "replication.base.errors", "replication.base.strict", "replication.study.contract",
    "replication.study.variants",
})  # fmt: skip
"""Modules that programs import and that compute nothing: refusals, and the shape of settings."""


class Reach(NamedTuple):
    """What one module needs, itself included."""

    modules: dict[str, str]
    """Full name of a module to the digest of its syntax tree."""
    packages: tuple[str, ...]
    """Packages that one of the modules imports and that may compute, as they are installed."""


class Parameters(NamedTuple):
    """Of a function."""

    positional: tuple[str, ...]
    """Names of those that can be given by their place."""
    named: tuple[str, ...]
    """Names of those that can only be given by name."""
    required: tuple[str, ...]
    """Names of those without a default."""
    takes_more: bool
    """Whether any number can follow, as in `*tables`."""


class _Import(NamedTuple):
    """One import statement."""

    module: str
    """Module that it names, without the dots of a relative import."""
    names: list[str]
    """Names that it takes from there, as in `from module import name`."""
    is_relative: bool = False
    """Whether it begins with dots."""


class _Source(NamedTuple):
    """The content of a source file, whatever other files there are."""

    digest: str
    """Empty if nothing but documentation stands in it."""
    imports: list[_Import]
    """All of them, those within functions, too."""
    functions: dict[str, Parameters | None]
    """Those that it defines, with their parameters; none of what it takes from elsewhere."""


class _Module(NamedTuple):
    source: _Source
    """Its file."""
    imports: frozenset[str]
    """Modules of this project."""
    packages: frozenset[str]
    """Packages that may compute, as they are imported."""


@cache
def reach(module: str) -> Reach:
    """Every module of this project that `module` imports, directly or through others.

    Args:
        module: full dotted name of a module below `SOURCE`.

    Raises:
        InputError: if there is no such module, or one cannot be read.
    """
    found: dict[str, _Module] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in found and name not in WORDING:
            found[name] = _module(name)
            waiting.extend(found[name].imports)
    modules = {
        name: item.source.digest for name, item in sorted(found.items()) if item.source.digest
    }
    # Only here, as it takes a moment to find what a package is called, and a check needs it not.
    packages = map(_distribution, frozenset().union(*(item.packages for item in found.values())))
    return Reach(modules, tuple(sorted(packages)))


def installed_versions(packages: tuple[str, ...]) -> dict[str, str]:
    """Installed version of each package, without a build's local suffix such as `+cpu`."""
    return {name: _installed(name) for name in packages}


def locked_versions(lock: Path, packages: tuple[str, ...]) -> dict[str, str]:
    """Version of each package in a lock file of `name==version` lines.

    Where another version than the locked one is installed, both are named, so that neither a new
    lock nor a new installation goes unnoticed.
    """
    pins = _pins(lock)
    versions = {}
    for name, installed in installed_versions(packages).items():
        locked = pins.get(name, "unpinned")
        versions[name] = locked if locked == installed else f"{locked} (installed: {installed})"
    return versions


@cache
def code(lock: Path, programs: tuple[str, ...]) -> list[str]:
    """One string per module and per locked package that some programs reach."""
    modules: dict[str, str] = {}
    packages: set[str] = set()
    for program in programs:
        reached = reach(program)
        modules |= reached.modules
        packages |= {*reached.packages}
    versions = locked_versions(lock, tuple(sorted(packages)))
    return [
        *(f"{name}@{digest}" for name, digest in sorted(modules.items())),
        *(f"{name}=={version}" for name, version in versions.items()),
    ]


def check_function(module: str, function: str) -> None:
    """Refuse what a module does not have, without running it.

    Raises:
        InputError: names it, and what the module has.
    """
    found = _module(module).source.functions
    if function not in found:
        public = ", ".join(sorted(name for name in found if name.islower() and name[0] != "_"))
        raise InputError(f"{_source(module)}: has no function {function}; it has {public}")


def parameters(module: str, function: str) -> Parameters:
    """What a public function takes that a module defines itself, without running it.

    Raises:
        InputError: if it has none of this name; names those that it has.
    """
    defined = {name: found for name, found in _module(module).source.functions.items() if found}
    found = defined.get(function)
    if found is None or function.startswith("_"):
        public = ", ".join(sorted(name for name in defined if name[0] != "_"))
        raise InputError(f"{_source(module)}: defines no function {function}; it has {public}")
    return found


@cache
def is_module(name: str) -> bool:
    """Whether there is a module of this project with a full name."""
    try:
        _source(name)
    except ModuleNotFoundError:
        return False
    return True


@cache
def _installed(package: str) -> str:
    try:
        return version(package).split("+")[0]
    except PackageNotFoundError:
        return "missing"


@cache
def _distribution(package: str) -> str:
    """What a package is called that is imported under a name, such as scikit-learn for sklearn."""
    if _installed(package) != "missing":
        return package
    return packages_distributions().get(package, [package])[0]


@cache
def _pins(lock: Path) -> dict[str, str]:
    return dict(
        line.split(";")[0].strip().split("==")
        for line in lock.read_text(encoding="utf-8").splitlines()
        if "==" in line and not line.lstrip().startswith(("#", "-"))
    )


@cache
def _module(name: str) -> _Module:
    try:
        source = _known(_source(name))
    except ModuleNotFoundError as error:
        raise InputError(f"{error}; every folder of a package needs an __init__.py") from error
    imported = _imported(source.imports, name)
    # Importing a.b.c runs a and a.b first.
    parts = name.split(".")
    parents = {".".join(parts[:end]) for end in range(1, len(parts))}
    own = frozenset({item for item in imported if _is_ours(item)} | parents)
    tops = {item.split(".")[0] for item in imported - own}
    return _Module(source, own, frozenset(tops - COMPUTES_NOTHING - sys.stdlib_module_names))


def _known(path: Path) -> _Source:
    """Read a source file, or the record of the same content that stands beside its compiled form.

    To go through the syntax trees of all modules took half of every start.

    Raises:
        InputError: if it is no Python.
    """
    content = path.read_bytes()
    kept = Path(cache_from_source(path)).with_suffix(".json")
    of = hashlib.sha256(_own_source() + content).hexdigest()
    # Whatever is wrong with a record, the source is there.
    with suppress(OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        found = json.loads(kept.read_text("utf-8"))
        if found["of"] == of:
            return _as_source(*found["source"])
    source = _parsed(content, path)
    if not sys.dont_write_bytecode:
        temporary = kept.with_name(f".{kept.name}.{os.getpid()}")
        with suppress(OSError):  # the folder may belong to somebody else, or the disk be full
            temporary.parent.mkdir(parents=True, exist_ok=True)
            try:
                temporary.write_text(json.dumps({"of": of, "source": source}), "utf-8")
                temporary.replace(kept)
            finally:
                temporary.unlink(missing_ok=True)
    return source


@cache
def _own_source() -> bytes:
    """Read this file, which says how a module is read; after a change no record counts."""
    return Path(__file__).read_bytes()


def _as_source(
    digest: str, imports: list[list[Any]], functions: dict[str, list[Any] | None]
) -> _Source:
    """Return the source that a record tells; JSON has lists in place of tuples."""
    read = {name: _as_parameters(*found) if found else None for name, found in functions.items()}
    return _Source(digest, [_Import(*each) for each in imports], read)


def _as_parameters(
    positional: list[str], named: list[str], required: list[str], takes_more: bool
) -> Parameters:
    return Parameters(tuple(positional), tuple(named), tuple(required), takes_more)


def _parsed(content: bytes, path: Path) -> _Source:
    try:
        tree = ast.parse(content, str(path))
    except SyntaxError as error:
        raise InputError(f"{path}, line {error.lineno}: {error.msg}") from error
    digest, nodes = _read(tree)
    return _Source(digest, list(_imports(nodes)), dict(_functions(tree)))


def _imports(nodes: Iterable[ast.Import | ast.ImportFrom]) -> Iterator[_Import]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (_Import(alias.name, []) for alias in node.names)
        else:
            names = [alias.name for alias in node.names]
            yield _Import(node.module or "", names, node.level > 0)


def _functions(tree: ast.Module) -> Iterator[tuple[str, Parameters | None]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, _parameters(node.args)
        elif isinstance(node, ast.ImportFrom):
            yield from ((alias.asname or alias.name, None) for alias in node.names)


def _parameters(given: ast.arguments) -> Parameters:
    positional = [item.arg for item in (*given.posonlyargs, *given.args)]
    named = [item.arg for item in given.kwonlyargs]
    without = [name for name, default in zip(named, given.kw_defaults, strict=True) if not default]
    required = positional[: len(positional) - len(given.defaults)] + without
    return Parameters(tuple(positional), tuple(named), tuple(required), given.vararg is not None)


def _is_ours(module: str) -> bool:
    return (SOURCE / module.split(".", maxsplit=1)[0]).is_dir()


def _source(module: str) -> Path:
    place = SOURCE.joinpath(*module.split("."))
    for path in (place / "__init__.py", place.with_suffix(".py")):
        if path.is_file():
            return path
    raise ModuleNotFoundError(f"there is no module {module} in {SOURCE}")


def _imported(imports: Iterable[_Import], module: str) -> set[str]:
    names: set[str] = set()
    for base, taken, is_relative in imports:
        if is_relative:
            raise InputError(f"{module}: relative imports are not followed, write them in full")
        names.add(base)
        names.update(f"{base}.{name}" for name in taken if is_module(f"{base}.{name}"))
    return names


def _read(tree: ast.Module) -> tuple[str, list[ast.Import | ast.ImportFrom]]:
    """Digest of the code, empty if there is none, and its imports."""
    imports: list[ast.Import | ast.ImportFrom] = []
    shape = _shape(tree, imports)
    is_empty = shape == ("Module", [])
    return "" if is_empty else hashlib.sha256(repr(shape).encode()).hexdigest()[:12], imports


def _shape(node: object, imports: list[ast.Import | ast.ImportFrom]) -> object:
    """What `ast.dump` shows, without docstrings, other bare strings and what is empty.

    Versions of Python differ in what is empty.

    Args:
        node: of a syntax tree, which has no comments and no layout.
        imports: receives the imports below it, so that a tree is gone through once.
    """
    if isinstance(node, list):
        return [_shape(item, imports) for item in node]
    if not isinstance(node, ast.AST):
        return node
    if isinstance(node, ast.Import | ast.ImportFrom):
        imports.append(node)
    fields = []
    for name in node._fields:
        value = getattr(node, name, None)
        if name == "body" and isinstance(value, list):
            value = [child for child in value if not _computes_nothing(child)]
        if value not in (None, []):
            fields.append((name, _shape(value, imports)))
    return type(node).__name__, fields


def _computes_nothing(node: ast.AST) -> bool:
    """Say whether a statement is a text, or the list of a package's public names."""
    is_list = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    return is_list or is_bare_string(node)


def is_bare_string(node: ast.AST) -> TypeGuard[ast.Expr]:
    """Whether a statement is nothing but a text, such as a docstring."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
