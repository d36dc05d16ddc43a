"""The whole configuration: what is common to all studies, and one section per study."""

import hashlib
import re
from collections.abc import Iterable
from functools import cache, cached_property, reduce
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, create_model

from replication.base.errors import InputError
from replication.base.storage import update_text
from replication.base.strict import Strict, read_yaml, unknown_key
from replication.study.contract import StudySettings
from replication.study.studies import Study

EITHER = re.compile(r"either \w+ or \w+$", re.MULTILINE)
"""End of a message on two keys that exclude one another: an overlay adds to the defaults' keys."""
NAMED = re.compile(
    r"^configuration: (\w+) > (experiment|figure)s > (.+?)(?: > .*)?: ", re.MULTILINE
)
"""Beginning of a mistake: study, kind and name of the thing that has it."""


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


def configure(changes: dict[str, Any], studies: dict[str, Study]) -> Configuration:
    """Return the configuration: the studies' defaults with some changes.

    Changes are nested mappings; only the keys that they have replace the defaults. An `InputError`
    names a mistake.
    """
    whole = configuration_type(studies)
    defaults = {name: read_yaml(study.folder / "config.yaml") for name, study in studies.items()}
    try:
        return whole.parse(merge(defaults, changes), "configuration")
    except InputError as error:
        lines = [
            EITHER.sub(r"\g<0>, and null for the other if the defaults have it", error.message)
        ]
        default = whole.parse(defaults, "configuration")
    # Somebody who changes some keys of an experiment or a figure has probably misspelt its name.
    for study, noun, name in dict.fromkeys(NAMED.findall(lines[0])):
        known = [*getattr(default.section(study), f"{noun}s", ())]
        if name not in known:
            told = unknown_key(name, known, noun)
            lines.append(f"configuration: {study} > {noun}s: {told}; a new one needs all keys")
    raise InputError("\n".join(lines))


def read_overlay(path: Path) -> dict[str, Any]:
    """Read an overlay as plain data; an `InputError` if it is no YAML, or has no keys."""
    changes = read_yaml(path)
    if not isinstance(changes, dict):
        raise InputError(
            f"{path}: has no sections; write the name of a study and what differs in it"
        )
    return changes


def read_overlays(paths: Iterable[Path]) -> dict[str, Any]:
    """Read overlays, and merge them in their order."""
    merged: dict[str, Any] = reduce(merge, map(read_overlay, paths), {})
    return merged


def merge(data: Any, changes: Any) -> Any:
    """Return nested mappings in which changes replace the keys that they name, lists as a whole.

    Neither argument is changed, as an anchor can share parts of a YAML document.
    """
    if not (isinstance(data, dict) and isinstance(changes, dict)):
        return changes
    return data | {key: merge(data.get(key), value) for key, value in changes.items()}
