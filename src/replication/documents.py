"""YAML documents that people write."""

from pathlib import Path
from typing import Any

import yaml

from replication.errors import InputError

try:
    from yaml import CSafeLoader as Loader
except ImportError:  # a build of PyYAML without libyaml
    from yaml import SafeLoader as Loader  # type: ignore[assignment]


def read_yaml(path: Path) -> Any:
    """Read a document.

    Raises:
        InputError: if the file is not there, or is no YAML.
    """
    try:
        with path.open() as stream:
            return yaml.load(stream, Loader=Loader)
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise InputError(f"{path}: cannot be read ({' '.join(str(error).split())})") from error
