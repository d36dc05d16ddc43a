"""YAML documents that people write."""

from pathlib import Path
from typing import Any

import yaml

from replication.errors import InputError

try:
    from yaml import CSafeLoader as Loader
except ImportError:  # a build of PyYAML without libyaml
    from yaml import SafeLoader as Loader  # type: ignore[assignment]


class _Loader(Loader):
    """Refuses what YAML lets pass: of a key that stands twice the first value would be lost."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and keys.count(key.value) > 1 and key.value != "<<":
                line = key.start_mark.line + 1
                raise yaml.YAMLError(f"the key {key.value} stands twice, again in line {line}")
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> Any:
    """Read a document.

    Raises:
        InputError: if the file is not there, or is no YAML.
    """
    try:
        with path.open() as stream:
            return yaml.load(stream, Loader=_Loader)
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise InputError(f"{path}: cannot be read ({' '.join(str(error).split())})") from error
