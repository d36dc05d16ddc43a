"""Methods: every choice that a re-implementation needs, with its value and the paper's.

A registry lists the choices of a study, each with its keys of the configuration: the table shows
the values of these keys. `unnamed_settings` lists the settings that no choice names.
"""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from replication.base.markdown import Markdown, escape_markdown, table
from replication.study.registry import Method, Registry

MOST_NAMES = 8
"""Largest number of names that are listed for one value."""
LEFT_OUT = "left out"
"""The value of a setting that an overlay removes."""
NOT_METHODS = ("figures", "claims", "texts")
"""Parts of a study's section that change no number: figures and a user's own claims and texts."""
Settings = Mapping[str, Any]
"""A study's section of the configuration, as plain data."""
INTRODUCTION = (
    "Every choice that a re-implementation needs, with its value in the configuration. Names in"
    " brackets are those whose value it is."
)
HEADER = ("choice", "value", "the paper", "why", "settings", "figures")


def methods_table(registry: Registry, settings: Settings) -> list[str]:
    """Return the choices of a study as lines of Markdown, a heading and a table."""
    rows = [
        (
            method.text,
            method_value(method, settings),
            method.paper,
            method.why,
            Markdown("<br>".join(f"`{escape_markdown(key)}`" for key in method.settings)),
            ", ".join(method.figures) or "all",
        )
        for method in registry.methods
    ]
    return ["## Methods", "", INTRODUCTION, "", *table(HEADER, rows), ""]


def method_value(method: Method, settings: Settings) -> str:
    """Return the values of a choice in the configuration; empty if it names no key."""
    held = {key: _values_of_key(key, settings) for key in method.settings}
    if len({*held.values()}) == 1:
        return held[method.settings[0]]
    # Beside others, a value has the last step of its key that is a name.
    names = {
        key: next((step for step in reversed(key.split(".")) if "*" not in step), "")
        for key in held
    }
    return "; ".join(f"{names[key]} {value}".strip() for key, value in held.items())


def unnamed_settings(registry: Registry, settings: Settings) -> list[str]:
    """Return the paths of all settings that no choice of a registry names."""
    keys = [key.split(".") for method in registry.methods for key in method.settings]
    return [
        ".".join(path)
        for path, _ in _leaves(settings)
        if path[0] not in NOT_METHODS and not any(_covers(key, path) for key in keys)
    ]


def unknown_settings(registry: Registry, settings: Settings) -> list[str]:
    """Return the keys of a registry's choices that the settings do not have.

    An overlay may leave out some.
    """
    keys = (key for method in registry.methods for key in method.settings)
    return [key for key in keys if _values_of_key(key, settings) == LEFT_OUT]


def _leaves(settings: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield path and value of everything except non-empty mappings."""
    if not isinstance(settings, Mapping) or not settings:
        yield path, settings
        return
    for name, value in settings.items():
        yield from _leaves(value, *path, str(name))


def _covers(key: list[str], path: tuple[str, ...]) -> bool:
    """Say whether a key is that of a value, or of a mapping around it."""
    return len(key) <= len(path) and all(map(fnmatchcase, path, key))


def _values_of_key(key: str, settings: Settings) -> str:
    """Return the values of a key; if they differ, each with the names that have it."""
    found: dict[str, dict[str, list[str]]] = {}
    steps = key.split(".")
    for path, value in _leaves(settings):
        if _covers(steps, path):
            names = (name for pattern, name in zip(steps, path, strict=False) if "*" in pattern)
            values = found.setdefault(".".join(path[len(steps) :]), {})
            values.setdefault(_value_text(value), []).append(".".join(names))
    parts = (f"{part} {_values_with_names(values)}".strip() for part, values in found.items())
    return "; ".join(parts) or LEFT_OUT


def _values_with_names(values: Mapping[str, list[str]]) -> str:
    said = []
    for value, names in values.items():
        more = f" and {len(names) - MOST_NAMES} more" * (len(names) > MOST_NAMES)
        said.append(f"{value} ({', '.join(names[:MOST_NAMES])}{more})")
    return next(iter(values)) if len(values) == 1 else ", ".join(said)


def _value_text(value: Any) -> str:
    """Return a value of the configuration in words: yes, no, none, numbers, or a list of them."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return ", ".join(map(_value_text, value)) if value else "none"
    if isinstance(value, Mapping) and value:
        return f"({', '.join(f'{name} {_value_text(each)}' for name, each in value.items())})"
    return "none" if value is None or value == {} else str(value)
