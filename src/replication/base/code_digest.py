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
from replication.base.places import ENGINE, SOURCE

COMPUTES_NOTHING = frozenset({
    "PIL", "click", "jinja2", "markupsafe", "pyarrow", "pydantic", "pydantic_core", "requests",
    "rocrate", "snakemake", "snakemake_executor_plugin_slurm", "tqdm", "yaml",
})  # fmt: skip
"""Packages that read, check or show; the version of any other can change a number or a figure."""
WORDING = frozenset({
    "replication.base.errors", "replication.base.strict", "replication.study.contract",
})  # fmt: skip
"""Modules that programs import and that compute nothing: errors, and the types of settings."""


class Reach(NamedTuple):
    """The modules and packages that one module needs, itself included."""

    modules: dict[str, str]
    """Digest of the syntax tree by full name of a module."""
    packages: tuple[str, ...]
    """Names of the installed packages that one of the modules imports and that may compute."""


class Parameters(NamedTuple):
    """The parameters of a function."""

    positional: tuple[str, ...]
    """Names of the parameters that can be given by position."""
    named: tuple[str, ...]
    """Names of the parameters that can only be given by name."""
    required: tuple[str, ...]
    """Names of the parameters without a default."""
    takes_more: bool
    """True if any number of arguments can follow, as in `*tables`."""


class _Import(NamedTuple):
    """One import statement."""

    module: str
    """Module that the statement names, without the dots of a relative import."""
    names: list[str]
    """Names that it takes from the module, as in `from module import name`."""
    is_relative: bool = False
    """True if the import begins with dots."""


class _Source(NamedTuple):
    """The content of a source file, independent of all other files."""

    digest: str
    """Digest of the syntax tree; empty if the file holds only documentation."""
    imports: list[_Import]
    """Imports of the file, including those within functions."""
    functions: dict[str, Parameters | None]
    """Parameters of each function that the file defines; None for a name that it imports."""


class _Module(NamedTuple):
    source: _Source
    """Content of the module's file."""
    imports: frozenset[str]
    """Full names of the imported modules of this project."""
    packages: frozenset[str]
    """Import names of the packages that may compute."""


@cache
def reach(module: str) -> Reach:
    """Return all modules and packages that a module imports, directly or through others.

    An `InputError` if there is no such module, or a module cannot be read.
    """
    found: dict[str, _Module] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in found and name not in WORDING:
            found[name] = _read_module(name)
            waiting.extend(found[name].imports)
    modules = {
        name: item.source.digest for name, item in sorted(found.items()) if item.source.digest
    }
    # Looked up last: names of distributions take a moment to find.
    packages = map(
        _distribution_name, frozenset().union(*(item.packages for item in found.values()))
    )
    return Reach(modules, tuple(sorted(packages)))


def installed_versions(packages: tuple[str, ...]) -> dict[str, str]:
    """Return the installed version of each package, without a local suffix such as `+cpu`."""
    return {name: _installed_version(name) for name in packages}


def check_function(module: str, function: str) -> None:
    """Refuse a function that a module does not have, without running the module, in words."""
    found = _read_module(module).source.functions
    if function not in found:
        public = ", ".join(sorted(name for name in found if name.islower() and name[0] != "_"))
        raise InputError(f"{_source_path(module)}: has no function {function}; it has {public}")


def parameters(module: str, function: str) -> Parameters:
    """Return the parameters of a public function that a module defines, without running it.

    An `InputError` names the functions that the module defines.
    """
    defined = {
        name: found for name, found in _read_module(module).source.functions.items() if found
    }
    found = defined.get(function)
    if found is None or function.startswith("_"):
        public = ", ".join(sorted(name for name in defined if name[0] != "_"))
        raise InputError(f"{_source_path(module)}: defines no function {function}; it has {public}")
    return found


@cache
def is_module(name: str) -> bool:
    """Say whether there is a module of this project with a full name."""
    try:
        _source_path(name)
    except ModuleNotFoundError:
        return False
    return True


@cache
def _installed_version(package: str) -> str:
    try:
        return version(package).split("+")[0]
    except PackageNotFoundError:
        return "missing"


@cache
def _distribution_name(package: str) -> str:
    """Return the distribution of an import name, such as scikit-learn for sklearn."""
    if _installed_version(package) != "missing":
        return package
    return packages_distributions().get(package, [package])[0]


@cache
def _read_module(name: str) -> _Module:
    try:
        source = _read_source(_source_path(name))
    except ModuleNotFoundError as error:
        raise InputError(f"{error}; every folder of a package needs an __init__.py") from error
    imported = _imported_modules(source.imports, name)
    # Importing a.b.c runs a and a.b first.
    parts = name.split(".")
    parents = {".".join(parts[:end]) for end in range(1, len(parts))}
    own = frozenset({item for item in imported if _is_ours(item)} | parents)
    tops = {item.split(".")[0] for item in imported - own}
    return _Module(source, own, frozenset(tops - COMPUTES_NOTHING - sys.stdlib_module_names))


def _read_source(path: Path) -> _Source:
    """Return the content of a source file, from the record beside its compiled form if that is new.

    Without records, parsing all modules takes half of every start. An `InputError` if the file is
    no Python.
    """
    content = path.read_bytes()
    record = Path(cache_from_source(path)).with_suffix(".json")
    key = hashlib.sha256(_own_content() + content).hexdigest()
    # A record that cannot be read costs no more than the time to parse the source.
    with suppress(OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        found = json.loads(record.read_text("utf-8"))
        if found["key"] == key:
            return _source_of_record(*found["source"])
    source = _parse_source(content, path)
    if not sys.dont_write_bytecode:
        temporary = record.with_name(f".{record.name}.{os.getpid()}")
        with suppress(OSError):  # the folder may belong to somebody else, or the disk be full
            temporary.parent.mkdir(parents=True, exist_ok=True)
            try:
                temporary.write_text(json.dumps({"key": key, "source": source}), "utf-8")
                temporary.replace(record)
            finally:
                temporary.unlink(missing_ok=True)
    return source


@cache
def _own_content() -> bytes:
    """Return the content of this file; after a change of it no record is valid."""
    return Path(__file__).read_bytes()


def _source_of_record(
    digest: str, imports: list[list[Any]], functions: dict[str, list[Any] | None]
) -> _Source:
    """Return the source of a record; JSON has lists in place of tuples."""
    read = {
        name: _parameters_of_record(*found) if found else None for name, found in functions.items()
    }
    return _Source(digest, [_Import(*each) for each in imports], read)


def _parameters_of_record(
    positional: list[str], named: list[str], required: list[str], takes_more: bool
) -> Parameters:
    return Parameters(tuple(positional), tuple(named), tuple(required), takes_more)


def _parse_source(content: bytes, path: Path) -> _Source:
    try:
        tree = ast.parse(content, str(path))
    except SyntaxError as error:
        raise InputError(f"{path}, line {error.lineno}: {error.msg}") from error
    digest, nodes = _digest_and_imports(tree)
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
    package = module.split(".", maxsplit=1)[0]
    return (_folder_of(package) / package).is_dir()


def _folder_of(package: str) -> Path:
    """Return the folder of a package of the engine or of the project."""
    return ENGINE.parent if package == ENGINE.name else SOURCE


def _source_path(module: str) -> Path:
    parts = module.split(".")
    folder = _folder_of(parts[0])
    place = folder.joinpath(*parts)
    for path in (place / "__init__.py", place.with_suffix(".py")):
        if path.is_file():
            return path
    raise ModuleNotFoundError(f"there is no module {module} in {folder}")


def _imported_modules(imports: Iterable[_Import], module: str) -> set[str]:
    names: set[str] = set()
    for base, taken, is_relative in imports:
        if is_relative:
            raise InputError(f"{module}: relative imports are not followed, write them in full")
        names.add(base)
        names.update(f"{base}.{name}" for name in taken if is_module(f"{base}.{name}"))
    return names


def _digest_and_imports(tree: ast.Module) -> tuple[str, list[ast.Import | ast.ImportFrom]]:
    """Return the digest of the code, empty if there is none, and its imports."""
    imports: list[ast.Import | ast.ImportFrom] = []
    shape = _shape(tree, imports)
    is_empty = shape == ("Module", [])
    return "" if is_empty else hashlib.sha256(repr(shape).encode()).hexdigest()[:12], imports


def _shape(node: object, imports: list[ast.Import | ast.ImportFrom]) -> object:
    """Return a node as `ast.dump` shows it, without docstrings, bare strings and empty fields.

    Versions of Python differ in their empty fields. The list receives the imports below the node,
    so that one walk is enough.
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
    """Say whether a statement is a bare string, or the list of a package's public names."""
    is_list = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    return is_list or is_bare_string(node)


def is_bare_string(node: ast.AST) -> TypeGuard[ast.Expr]:
    """Say whether a statement is a bare string, such as a docstring."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
