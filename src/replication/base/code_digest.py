"""Digests of code: what a result depends on besides its settings.

Snakemake does not see that an imported module changed. So a key has one digest per module that a
program reaches.
"""

import ast
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from importlib.util import cache_from_source
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter

from replication.base.errors import InputError
from replication.base.places import ENGINE, SOURCE, read_source

COMPUTES_NOTHING = frozenset({
    "PIL", "click", "jinja2", "markupsafe", "pyarrow", "pydantic", "pydantic_core", "requests",
    "rocrate", "snakemake", "snakemake_executor_plugin_slurm", "tqdm", "yaml",
})  # fmt: skip
"""Packages that read, check or show; the version of any other can change a number or a figure."""
WORDING = frozenset({
    "replication.base.errors", "replication.base.strict", "replication.run.checkpoint",
    "replication.study.contract",
})  # fmt: skip
"""Modules that programs import and that compute nothing: errors, types of settings, and files."""


class Reach(NamedTuple):
    """The modules and packages that one module needs, itself included."""

    modules: dict[str, str]
    """Digest of the syntax tree by full name of a module."""
    packages: tuple[str, ...]
    """Names of the installed packages that one of the modules imports and that may compute."""


class Parameters(NamedTuple):
    """The parameters of a function."""

    positional: list[str]
    """Names of the parameters that can be given by position."""
    named: list[str]
    """Names of the parameters that can only be given by name."""
    required: list[str]
    """Names of the parameters without a default."""
    takes_more: bool
    """True if any number of arguments can follow, as in `*tables`."""


@dataclass(frozen=True)
class _Source:
    """The content of a source file, independent of all other files."""

    key: str
    """Digest of the file, and of this module, which reads it."""
    digest: str
    """Digest of the syntax tree; empty if the file holds only documentation."""
    imports: list[list[str]]
    """Modules that the file imports, also within functions, each with the names taken from it."""
    functions: dict[str, Parameters | None]
    """Parameters of each function that the file defines; None for a name that it imports."""


_RECORD = TypeAdapter(_Source)


@cache
def reach(module: str) -> Reach:
    """Return all modules and packages that a module imports, directly or through others.

    An `InputError` if there is no such module, or a module cannot be read.
    """
    found: dict[str, str] = {}
    packages: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if not _place(name.partition(".")[0]).is_dir():
            packages.add(name.partition(".")[0])
        elif name not in found and name not in WORDING:
            source = _read_module(name)
            found[name] = source.digest
            waiting.extend(_imported(name, source))
    # Looked up last: names of distributions take a moment to find.
    computing = map(_distribution_name, packages - COMPUTES_NOTHING - sys.stdlib_module_names)
    return Reach(
        {name: found[name] for name in sorted(found) if found[name]}, (*sorted(computing),)
    )


def _imported(name: str, source: _Source) -> set[str]:
    """Return all that a module's import runs: of a.b.c also a and a.b."""
    found = {name}
    for base, *taken in source.imports:
        found |= {base, *filter(is_module, (f"{base}.{each}" for each in taken))}
    return {each for path in found for each in accumulate(path.split("."), "{}.{}".format)}


def installed_versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the installed version of each package, without a local suffix such as `+cpu`."""
    return {name: _installed_version(name) for name in packages}


def check_function(module: str, function: str) -> None:
    """Refuse a function that a module does not have, without running the module, in words."""
    if function not in _read_module(module).functions:
        raise _no_function(module, function)


def parameters(module: str, function: str) -> Parameters:
    """Return the parameters of a public function that a module defines, without running it."""
    found = _read_module(module).functions.get(function)
    if found is None or function.startswith("_"):
        raise _no_function(module, function)
    return found


def _no_function(module: str, function: str) -> InputError:
    names = (name for name, found in _read_module(module).functions.items() if found)
    public = ", ".join(sorted(name for name in names if name[0] != "_"))
    return InputError(f"{module}: has no function {function} of its own; it has {public}")


@cache
def is_module(name: str) -> bool:
    """Say whether there is a module of this project with a full name."""
    return _source_path(name) is not None


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


def _place(module: str) -> Path:
    """Return the path of a module of the engine or of the project, without ending."""
    parts = module.split(".")
    return (ENGINE.parent if parts[0] == ENGINE.name else SOURCE).joinpath(*parts)


def _source_path(module: str) -> Path | None:
    place = _place(module)
    return next(filter(Path.is_file, (place / "__init__.py", place.with_suffix(".py"))), None)


@cache
def _read_module(name: str) -> _Source:
    path = _source_path(name)
    if path is None:
        raise InputError(
            f"there is no module {name} at {_place(name)}; every folder of a package needs an"
            " __init__.py"
        )
    return _read_source(path)


def _read_source(path: Path) -> _Source:
    """Return the content of a source file, from the record beside its compiled form if that is new.

    Without records, parsing all modules takes half of every start. An `InputError` if the file is
    no Python.
    """
    content = read_source(os.path.realpath(path))
    key = sha256(read_source(__file__) + content).hexdigest()
    record = Path(cache_from_source(path)).with_suffix(".json")
    # A record that is missing or cannot be read costs no more than the time to parse the source.
    with suppress(OSError, ValueError):
        kept = _RECORD.validate_json(record.read_bytes())
        if kept.key == key:
            return kept
    try:
        source = _parse_source(ast.parse(content, str(path)), key)
    except SyntaxError as error:
        raise InputError(f"{path}, line {error.lineno}: {error.msg}") from error
    if not sys.dont_write_bytecode:
        with suppress(OSError):  # the folder may belong to somebody else, or the disk be full
            record.parent.mkdir(parents=True, exist_ok=True)
            record.write_bytes(_RECORD.dump_json(source))
    return source


def _parse_source(tree: ast.Module, key: str) -> _Source:
    imports: list[list[str]] = []
    functions: dict[str, Parameters | None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports += ([alias.name] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise SyntaxError("relative imports are not followed, write them in full")
            imports.append([str(node.module), *(alias.name for alias in node.names)])
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef):
            functions[statement.name] = _parameters(statement.args)
        elif isinstance(statement, ast.ImportFrom):
            functions |= dict.fromkeys(alias.asname or alias.name for alias in statement.names)
    shape = _shape(tree)
    digest = sha256(repr(shape).encode()).hexdigest()[:12] if shape != ("Module", []) else ""
    return _Source(key, digest, imports, functions)


def _parameters(given: ast.arguments) -> Parameters:
    positional = [item.arg for item in (*given.posonlyargs, *given.args)]
    named = [item.arg for item in given.kwonlyargs]
    without = [name for name, default in zip(named, given.kw_defaults, strict=True) if not default]
    required = positional[: len(positional) - len(given.defaults)] + without
    return Parameters(positional, named, required, given.vararg is not None)


def _shape(node: object) -> object:
    """Return a node as `ast.dump` shows it, without docstrings, bare strings and empty fields.

    Versions of Python differ in their empty fields.
    """
    if isinstance(node, list):
        return [_shape(item) for item in node if not _computes_nothing(item)]
    if not isinstance(node, ast.AST):
        return node
    fields = ((name, _shape(value)) for name, value in ast.iter_fields(node) if value is not None)
    return type(node).__name__, [(name, shape) for name, shape in fields if shape != []]


def _computes_nothing(node: object) -> bool:
    """Say whether a statement is a bare string, or the list of a package's public names."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
