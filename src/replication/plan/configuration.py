"""The whole configuration: what is common to all studies, and one section per study."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cache, cached_property, reduce
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, create_model

from replication.base.errors import InputError
from replication.base.storage import update_text
from replication.base.strict import Strict, read_yaml, shorten, unknown_key
from replication.study.contract import StudySettings
from replication.study.studies import Study

LONGEST_NAME = 80
"""Largest number of letters of a name in a configuration; a file's name has two or three such."""
EITHER = re.compile(r"either \w+ or \w+$", re.MULTILINE)
"""End of a message on two keys that exclude one another: an overlay adds to the defaults' keys."""
REPEATED_TWENTY_TIMES = re.compile(r"(.+?)\1{19}")
"""Names of files that Snakemake takes for a rule that feeds itself."""

NAMED = {"experiments": "experiment", "figures": "figure"}
"""Keys of a section that hold things by name, and what one of them is called."""


class Computation(Strict):
    """Settings of how jobs run."""

    device: Literal["cpu", "cuda"] = "cpu"
    """Device of programs that can use a GPU. Numbers of different devices agree to rounding, not to
    the bit, as long as training draws nothing on the device, such as dropout."""
    seeds_per_job: Annotated[int, Field(ge=1)] | None = None
    """Seeds that one job draws or trains, one after another; by default as many as make the jobs
    few: 2 jobs of 10 seeds, 6 of 100, 66 of 10,000. Changes no number."""


class Configuration(Strict):
    """All settings of a run; every study adds its section."""

    computation: Computation = Computation()
    """Settings of how jobs run, common to all studies."""

    @cached_property
    def yaml(self) -> str:
        """Merged configuration as YAML."""
        return str(yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False))

    @property
    def digest(self) -> str:
        """SHA-256 of the merged configuration as YAML."""
        return hashlib.sha256(self.yaml.encode()).hexdigest()

    def write(self, path: Path) -> None:
        """Write the merged configuration as YAML, unless the file already says the same."""
        update_text(path, self.yaml)

    def section(self, study: str) -> StudySettings:
        """Return the section of one study."""
        return getattr(self, study)  # type: ignore[no-any-return]


def configuration_type(studies: dict[str, Study]) -> type[Configuration]:
    """Return the model of a configuration with the sections of some studies.

    An `InputError` if the name of a study means something else in a configuration.
    """
    for name, study in studies.items():
        if name in Configuration.model_fields or hasattr(Configuration, name):
            raise InputError(f"{study.folder}: a study cannot be called {name}; rename the folder")
    return _with_sections(tuple((name, study.settings) for name, study in studies.items()))


@cache
def _with_sections(sections: tuple[tuple[str, type[StudySettings]], ...]) -> type[Configuration]:
    fields: dict[str, Any] = {name: (settings, ...) for name, settings in sections}
    return create_model("Configuration", __base__=Configuration, **fields)


def default_sections(studies: dict[str, Study]) -> dict[str, Any]:
    """Return the default sections of some studies as plain data, from their `config.yaml`."""
    return {name: read_yaml(study.folder / "config.yaml") for name, study in studies.items()}


def configure(changes: dict[str, Any], studies: dict[str, Study]) -> Configuration:
    """Return the configuration: the studies' defaults with some changes.

    Changes are nested mappings; only the keys that they have replace the defaults. An `InputError`
    names a mistake.
    """
    defaults = default_sections(studies)
    try:
        read = configuration_type(studies).parse(merge(defaults, changes), "configuration")
    except InputError as error:
        message = EITHER.sub(
            r"\g<0>, and null for the other if the defaults have it", error.message
        )
        default = configuration_type(studies).parse(defaults, "configuration")
        raise InputError("\n".join([message, *_new_names(message, changes, default)])) from None
    for path in _key_paths(read.model_dump()):
        if len(path[-1]) > LONGEST_NAME or REPEATED_TWENTY_TIMES.search(path[-1]):
            raise InputError(
                f"configuration: {' > '.join(map(shorten, path))}: a name has at most"
                f" {LONGEST_NAME} characters, and does not repeat the same ones twenty times;"
                " shorten it"
            )
    return read


def _new_names(message: str, changes: dict[str, Any], default: Configuration) -> Iterator[str]:
    """Yield a sentence on each wrong experiment and figure that the defaults have not.

    Somebody who changes some keys of one has probably misspelt its name.
    """
    for study, (key, noun) in product(changes, NAMED.items()):
        section = changes[study]
        given = section.get(key) if isinstance(section, dict) else None
        for name in map(str, given if isinstance(given, dict) else ()):
            known = getattr(getattr(default, study, None), key, ())
            place = f"configuration: {study} > {key}"
            if name not in known and f"{place} > {name}" in message:
                yield f"{place}: {unknown_key(name, [*known], noun)}; a new one needs all keys"


def _key_paths(data: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield every key, after the keys that lead to it."""
    for key, value in data.items() if isinstance(data, dict) else ():
        yield (*path, str(key))
        yield from _key_paths(value, (*path, str(key)))


def read_overlay(path: Path) -> dict[str, Any]:
    """Read an overlay as plain data; an `InputError` if it is no YAML, or has no keys."""
    changes = read_yaml(path)
    if not isinstance(changes, dict):
        raise InputError(
            f"{path}: has no sections; write the name of a study and what differs in it"
        )
    return changes


def read_overlays(paths: Iterable[Path]) -> dict[str, Any]:
    """Read and merge overlays, without the studies that they ask Snakemake for."""
    changes: dict[str, Any] = reduce(merge, map(read_overlay, paths), {})
    return {key: value for key, value in changes.items() if key != "study"}


def merge(data: Any, changes: Any) -> Any:
    """Return nested mappings in which changes replace the keys that they name, lists as a whole.

    Neither argument is changed, as an anchor can share parts of a YAML document.
    """
    if not (isinstance(data, dict) and isinstance(changes, dict)):
        return changes
    return data | {key: merge(data.get(key), value) for key, value in changes.items()}
