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
Path = tuple[str, ...]
"""Names of the keys that lead to a value."""
Settings = Mapping[str, Any]
"""A study's section of the configuration, as plain data."""
INTRODUCTION = (
    "Every choice that a re-implementation needs, with its value in the configuration. Names in"
    " brackets are those whose value it is."
)
HEADER = ("choice", "value", "the paper", "why", "settings", "figures")


def methods_table(registry: Registry, settings: Settings) -> list[str]:
    """Return the choices of a study as lines of Markdown, a heading and a table.

    Args:
        registry: registry of the study.
        settings: settings of the study.
    """
    rows = (_method_row(method, settings) for method in registry.methods)
    return ["## Methods", "", INTRODUCTION, "", *table(HEADER, rows), ""]


def _method_row(method: Method, settings: Settings) -> tuple[str, ...]:
    keys = Markdown("<br>".join(f"`{escape_markdown(key)}`" for key in method.settings))
    figures = ", ".join(method.figures) or "all"
    return method.text, method_value(method, settings), method.paper, method.why, keys, figures


def method_value(method: Method, settings: Settings) -> str:
    """Return the values of a choice in the configuration; empty if it names no key."""
    held = [(key, values_text(key, settings)) for key in method.settings]
    if len({value for _, value in held}) == 1:
        return held[0][1]
    return "; ".join(f"{_short_key(key)} {value}".strip() for key, value in held)


def _short_key(key: str) -> str:
    """Return the name of a value beside others: the last step of its key that is a name."""
    return next((step for step in reversed(key.split(".")) if "*" not in step), "")


def unnamed_settings(registry: Registry, settings: Settings) -> list[str]:
    """Return the paths of all settings that no choice of a registry names.

    Args:
        registry: registry of the study.
        settings: settings of the study.
    """
    keys = [key for method in registry.methods for key in method.settings]
    return [
        ".".join(path)
        for path, _ in setting_leaves(settings)
        if path[0] not in NOT_METHODS and not any(_covers(key, path) for key in keys)
    ]


def unknown_settings(registry: Registry, settings: Settings) -> list[str]:
    """Return the keys of a registry's choices that the settings do not have.

    Args:
        registry: registry of the study.
        settings: settings of the study; an overlay may leave out some.
    """
    keys = (key for method in registry.methods for key in method.settings)
    return [key for key in keys if values_text(key, settings) == LEFT_OUT]


def setting_leaves(settings: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield path and value of everything except non-empty mappings."""
    if not isinstance(settings, Mapping) or not settings:
        yield path, settings
        return
    for name, value in settings.items():
        yield from setting_leaves(value, (*path, str(name)))


def _covers(key: str, path: Path) -> bool:
    """Say whether a key is that of a value, or of a mapping around it."""
    asked = key.split(".")
    return len(asked) <= len(path) and all(map(fnmatchcase, path, asked))


def values_text(key: str, settings: Settings) -> str:
    """Return the values of a key; if they differ, each with the names that have it."""
    found: dict[str, dict[str, list[str]]] = {}
    asked = key.split(".")
    for path, value in setting_leaves(settings):
        if _covers(key, path):
            part = ".".join(path[len(asked) :])
            names = (step for pattern, step in zip(asked, path, strict=False) if "*" in pattern)
            found.setdefault(part, {}).setdefault(value_text(value), []).append(".".join(names))
    if not found:
        return LEFT_OUT
    return "; ".join(
        f"{part} {_values_with_names(values)}".strip() for part, values in found.items()
    )


def _values_with_names(values: Mapping[str, list[str]]) -> str:
    if len(values) == 1:
        return next(iter(values))
    return ", ".join(f"{value} ({_first_names(names)})" for value, names in values.items())


def _first_names(names: list[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def value_text(value: Any) -> str:
    """Return a value of the configuration in words: yes, no, none, numbers, or a list of them."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return ", ".join(map(value_text, value)) if value else "none"
    if isinstance(value, Mapping) and value:
        return f"({', '.join(f'{name} {value_text(each)}' for name, each in value.items())})"
    return "none" if value is None or value == {} else str(value)
