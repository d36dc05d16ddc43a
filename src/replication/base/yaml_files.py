"""YAML documents that people write."""

import re
from functools import cache, partial
from io import StringIO
from pathlib import Path
from typing import Any

import yaml
from yaml import CSafeLoader as Loader

from replication.base.errors import InputError

BASE_8_OR_60 = re.compile(r"[-+]?(0[0-9_]+|[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?)")
"""Pattern of numbers that YAML 1.1 reads as nobody means them: 010 is 8, 1:30 is 90."""


class _Loader(Loader):
    """A loader that refuses keys and numbers that YAML reads otherwise than people mean them."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Refuse a key that stands twice, as its first value would be lost."""
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value != "<<":
                if key.value in seen:
                    raise yaml.YAMLError(f"the key {key.value} stands twice, again in {_line(key)}")
                seen.add(key.value)
        return super().construct_mapping(node, deep)

    def construct_number(self, node: yaml.ScalarNode) -> float:
        """Refuse a number that is not written in base 10, or plainly in another one."""
        is_int = node.tag.endswith(":int")
        number = self.construct_yaml_int(node) if is_int else self.construct_yaml_float(node)
        if BASE_8_OR_60.fullmatch(node.value):
            raise yaml.YAMLError(
                f"{_line(node)}: YAML reads {node.value} as {number:g}; write it"
                " without a leading 0 and without a colon, or in quotes if it is text"
            )
        return number


for kind in ("int", "float"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{kind}", _Loader.construct_number)
# PyYAML refuses a mapping or list that contains itself if it is told to go down at once.
for kind, construct in (("map", _Loader.construct_mapping), ("seq", _Loader.construct_sequence)):
    _Loader.add_constructor(f"tag:yaml.org,2002:{kind}", partial(construct, deep=True))


def _line(node: yaml.Node) -> str:
    return f"line {node.start_mark.line + 1}"


def parse_yaml(text: str, name: str) -> Any:
    """Return the content of a document, which has a name in error messages.

    Raises:
        InputError: if the text is no YAML, or a part of it contains itself.
    """
    stream = StringIO(text)
    stream.name = name
    try:
        return yaml.load(stream, Loader=_Loader)
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        said = " ".join(str(error).split())
        raise InputError(f"{name}: cannot be read ({said}); correct it") from error


_parse_shared = cache(parse_yaml)


def read_yaml(path: Path, *, is_shared: bool = False) -> Any:
    """Return the content of a file.

    Callers of shared documents get the same object for the same text, and must not change it: each
    start reads the defaults several times, and parsing takes longest.

    Raises:
        InputError: if the file is not there, or is no YAML.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); name another file") from error
    except ValueError as error:
        raise InputError(f"{path}: cannot be read ({error}); correct it") from error
    return (_parse_shared if is_shared else parse_yaml)(text, str(path))
