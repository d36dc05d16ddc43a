"""Settings that people write: YAML documents, and types that refuse what they do not know."""

import difflib
import re
from collections import Counter
from collections.abc import Mapping
from copy import deepcopy
from functools import cache, partial
from io import StringIO
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from yaml import CSafeLoader as Loader

from replication.base.errors import InputError

T = TypeVar("T")
LONGEST_SHOWN = 60
"""Characters of a wrong value, or of a name, that an error shows."""
MOST_ERRORS = 10
"""Largest number of wrong values that one error names."""


def refuse_repeated(values: list[T]) -> list[T]:
    """Return a list; refuse one in which a value is repeated."""
    repeated = sorted(shorten(value) for value, times in Counter(values).items() if times > 1)
    if repeated:
        raise ValueError(f"every value may stand only once, but {', '.join(repeated)} is repeated")
    return values


def _drop_nulls(given: Any) -> Any:
    if not isinstance(given, Mapping):
        return given
    return {name: found for name, found in given.items() if found is not None}


REMOVABLE = BeforeValidator(_drop_nulls)
"""Mark of a mapping by name: `null` in an overlay removes a name."""
Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
"""Name of a study, or of a thing that it computes."""
Positive = Annotated[float, Field(gt=0)]
"""A number above 0."""
Positives = Annotated[list[Positive], Field(min_length=1), AfterValidator(refuse_repeated)]
"""A list of different numbers above 0."""
Count = Annotated[int, Field(ge=1)]
"""A whole number above 0."""
Counts = Annotated[list[Count], Field(min_length=1), AfterValidator(refuse_repeated)]
"""A list of different whole numbers above 0."""


class Strict(BaseModel):
    """Base of every settings model: immutable, and without unknown keys."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        validate_default=True,
    )

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, data: Any) -> Any:
        known = [field.alias or name for name, field in cls.model_fields.items()]
        for key in data if isinstance(data, Mapping) else ():
            if key not in known:
                raise ValueError(unknown_key(str(key), known))
        return data

    @classmethod
    def parse(cls, data: Any, where: str) -> Self:
        """Return plain data, as read from YAML, as settings: no value is read as another type.

        An `InputError` has one line per wrong value, each with `where` and its path of keys.
        """
        try:
            return cls.model_validate(data, strict=True)
        except ValidationError as error:
            raise InputError(describe_error(error, where)) from None

    @classmethod
    def parse_json(cls, text: str, where: str) -> Self:
        """Return a JSON document as settings; see `parse`."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise InputError(describe_error(error, where)) from None


def shorten(value: object, longest: int = LONGEST_SHOWN) -> str:
    """Return a value or a name for an error: in one line, and shortened if it is long."""
    text = str(value)
    text = text if text.isprintable() else repr(text)[1:-1]
    return text if len(text) <= longest else f"{text[:longest]}..."


def unknown_key(key: str, known: list[str], noun: str = "key", nouns: str = "") -> str:
    """Return the message that a key is unknown, with the known key that was probably meant.

    `noun` is the kind of thing that the key names, `nouns` its plural if that is not with an s.
    """
    # Words that share only half of their letters are no misspellings of each other.
    close = difflib.get_close_matches(key[:LONGEST_SHOWN], known, n=1, cutoff=0.65)
    all_known = f"known {nouns or noun + 's'}: {', '.join(known)}"
    hint = f"did you mean '{close[0]}'?" if close else all_known
    return f"unknown {noun} '{shorten(key)}'; {hint}"


def describe_error(error: ValidationError, where: str) -> str:
    """Return one line per wrong value of a pydantic error: place, path of keys, mistake."""
    lines = []
    for detail in error.errors(include_url=False):
        # Pydantic adds the name of the chosen kind after its key; of two equal names one is left.
        place = [where, " > ".join(name for name, _ in groupby(map(shorten, detail["loc"])))]
        given, said = detail["input"], detail["msg"].removeprefix("Value error, ")
        if detail["type"] == "union_tag_not_found":
            said = f"the key {detail['ctx']['discriminator']} is missing"
        shown = "" if isinstance(given, Mapping | list) else f" (given: {shorten(repr(given))})"
        lines.append(f"{': '.join(filter(None, place))}: {said}{shown}")
    more = len(lines) - MOST_ERRORS
    return "\n".join(lines[:MOST_ERRORS] + [f"and {more} more"] * (more > 0))


class _Loader(Loader):
    """Loader of YAML 1.2 that refuses a key that stands twice, as its first value would be lost."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = True) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        for key in keys:
            if key != "<<" and keys.count(key) > 1:
                line = node.start_mark.line + 1
                raise yaml.YAMLError(f"the key {key} stands twice in the mapping of line {line}")
        return super().construct_mapping(node, deep)


# Values of YAML 1.2, for which 1e-3 is a number, and neither `no` nor 1:30 nor a date is anything
# but text; PyYAML follows YAML 1.1, for which 010 is 8.
for _kind, _form, _firsts in (
    ("bool", "true|false", "tf"),
    ("int", r"[-+]?\d+", "-+0123456789"),
    ("float", r"[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?|-?\.inf|\.nan", "-+.0123456789"),
    ("null", "~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("merge", "<<", "<"),
):
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_kind}", re.compile(f"(?:{_form})$"), [*_firsts]
    )
_Loader.add_constructor("tag:yaml.org,2002:int", lambda _, node: int(node.value))
# PyYAML refuses a mapping or list that contains itself if it is told to go down at once.
_Loader.add_constructor("tag:yaml.org,2002:map", _Loader.construct_mapping)
_Loader.add_constructor("tag:yaml.org,2002:seq", partial(_Loader.construct_sequence, deep=True))


@cache
def _parse_once(text: str, name: str) -> Any:
    stream = StringIO(text)
    stream.name = name
    try:
        return yaml.load(stream, Loader=_Loader)
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        said = " ".join(str(error).split())
        raise InputError(f"{name}: cannot be read ({said}); correct it") from error


def parse_yaml(text: str, name: str) -> Any:
    """Return the content of a document; an `InputError` with its name if it is no YAML.

    Each start reads the defaults several times, and parsing takes longest: a text is parsed once.
    """
    return deepcopy(_parse_once(text, name))


def read_yaml(path: Path) -> Any:
    """Return the content of a file; an `InputError` if it is not there, or is no YAML."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", error)
        raise InputError(f"{path}: cannot be read ({said}); name another file") from error
    return parse_yaml(text, str(path))
