"""YAML documents that people write."""

import re
from functools import cache, partial
from io import StringIO
from pathlib import Path
from typing import Any

import yaml
from yaml import CSafeLoader as Loader

from replication.base.errors import InputError

TAG = "tag:yaml.org,2002:"
SCALARS = {
    "bool": ("true|false", "tf"),
    "int": (r"[-+]?\d+", "-+0123456789"),
    "float": (r"[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?|-?\.inf|\.nan", "-+.0123456789"),
}
"""Forms and first characters of values in YAML 1.2, for which 1e-3 is a number, and neither `no`
nor 1:30 is anything but text; PyYAML follows YAML 1.1, for which 010 is 8."""


class _Loader(Loader):
    """Loader of YAML 1.2 that refuses a key that stands twice, as its first value would be lost."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        for key in keys:
            if key != "<<" and keys.count(key) > 1:
                line = node.start_mark.line + 1
                raise yaml.YAMLError(f"the key {key} stands twice in the mapping of line {line}")
        return super().construct_mapping(node, deep)


_Loader.yaml_implicit_resolvers = {
    first: [each for each in known if each[0].removeprefix(TAG) not in SCALARS]
    for first, known in Loader.yaml_implicit_resolvers.items()
}
for _kind, (_form, _firsts) in SCALARS.items():
    _Loader.add_implicit_resolver(TAG + _kind, re.compile(f"(?:{_form})$"), [*_firsts])
_Loader.add_constructor(f"{TAG}int", lambda _, node: int(node.value))
# PyYAML refuses a mapping or list that contains itself if it is told to go down at once.
_Loader.add_constructor(f"{TAG}map", partial(_Loader.construct_mapping, deep=True))
_Loader.add_constructor(f"{TAG}seq", partial(_Loader.construct_sequence, deep=True))


def parse_yaml(text: str, name: str) -> Any:
    """Return the content of a document; an `InputError` with its name if it is no YAML."""
    stream = StringIO(text)
    stream.name = name
    try:
        return yaml.load(stream, Loader=_Loader)
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        said = " ".join(str(error).split())
        raise InputError(f"{name}: cannot be read ({said}); correct it") from error


_parse_shared = cache(parse_yaml)


def read_yaml(path: Path, *, is_shared: bool = False) -> Any:
    """Return the content of a file; an `InputError` if it is not there, or is no YAML.

    Callers of shared documents get the same object for the same text, and must not change it: each
    start reads the defaults several times, and parsing takes longest.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", error)
        raise InputError(f"{path}: cannot be read ({said}); name another file") from error
    return (_parse_shared if is_shared else parse_yaml)(text, str(path))
