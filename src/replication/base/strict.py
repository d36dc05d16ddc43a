"""Typed settings that refuse what they do not know."""

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Annotated, Any, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationError,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, ErrorDetails, core_schema

from replication.base.errors import InputError

T = TypeVar("T")
LONGEST_SHOWN = 60
"""Characters of a wrong value, or of a name, that an error shows."""
LARGEST_INTEGER = 2**63 - 1
"""Largest whole number; NumPy and PyTorch compute with no more bits."""
MOST_ERRORS = 10
"""Largest number of wrong values that one error names."""


def refuse_repeated(values: list[T]) -> list[T]:
    """Return a list; refuse one in which a value is repeated."""
    repeated = sorted(shorten(value) for value, times in Counter(values).items() if times > 1)
    if repeated:
        raise ValueError(f"every value may stand only once, but {', '.join(repeated)} is repeated")
    return values


class _Removable:
    """Mark of a mapping from which `null` in an overlay removes a name."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_before_validator_function(_drop_nulls, handler(source))

    def __get_pydantic_json_schema__(
        self, found: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        schema = handler(found)
        # The names are of some pattern, or of an enumeration.
        values = schema.get("patternProperties", schema)
        for key in ["additionalProperties"] if values is schema else [*values]:
            values[key] = {"anyOf": [values[key], {"type": "null"}]}
        return schema


def _drop_nulls(given: Any) -> Any:
    if not isinstance(given, Mapping):
        return given
    return {name: found for name, found in given.items() if found is not None}


REMOVABLE = _Removable()
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
        if isinstance(data, Mapping):
            for key in data:
                if key not in cls.model_fields:
                    raise ValueError(unknown_key(str(key), list(cls.model_fields)))
        return data

    @classmethod
    def parse(cls, data: Any, where: str) -> Self:
        """Return plain data, as read from YAML, as settings; `where` names them in an error.

        Raises:
            InputError: one line per wrong value, each with its path of keys.
        """
        try:
            read = cls.model_validate(data)
        except ValidationError as error:
            raise InputError(describe_error(error, where)) from None
        if wrong := [f"{_place(where, path)}: {said}" for path, said in _misread(data, read)]:
            raise InputError(_join_lines(wrong))
        return read

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
        given = detail["input"]
        said = "" if isinstance(given, Mapping | list) else f" (given: {shorten(repr(given))})"
        lines.append(f"{_place(where, detail['loc'])}: {_message(detail)}{said}")
    return _join_lines(lines)


def _place(where: str, path: Iterable[object]) -> str:
    """Return the place of a value: the name of the data and the keys that lead to the value.

    Pydantic adds the name of the chosen kind after its key; of two equal names one is left.
    """
    keys = " > ".join(step for step, _ in groupby(map(shorten, path)))
    return f"{where}: {keys}" if keys else where


def _join_lines(lines: list[str]) -> str:
    more = len(lines) - MOST_ERRORS
    return "\n".join(lines[:MOST_ERRORS] + ([f"and {more} more"] if more > 0 else []))


def _misread(given: Any, read: Any, path: tuple[object, ...] = ()) -> Iterator[tuple[Any, str]]:
    """Yield path and mistake of each value that pydantic accepts and people do not mean.

    These are truth values that are read as numbers, other values (1, 'yes' and 'off') that are read
    as truth values, and numbers that are too large.
    """
    if isinstance(read, BaseModel):
        read = dict(read)
    if isinstance(given, Mapping) and isinstance(read, Mapping):
        for key in filter(read.__contains__, given):
            yield from _misread(given[key], read[key], (*path, key))
    elif isinstance(given, list) and isinstance(read, list | tuple) and len(given) == len(read):
        for index, both in enumerate(zip(given, read, strict=True)):
            yield from _misread(*both, (*path, index))
    elif isinstance(read, bool) and not isinstance(given, bool):
        yield path, f"write true or false, without quotes (given: {shorten(repr(given))})"
    elif isinstance(given, bool) and isinstance(read, int | float) and not isinstance(read, bool):
        yield path, f"must be a number (given: {given})"
    elif isinstance(read, int) and abs(read) > LARGEST_INTEGER:
        yield path, f"must be between -{LARGEST_INTEGER} and {LARGEST_INTEGER}"


def _message(detail: ErrorDetails) -> str:
    context = detail.get("ctx", {})
    if detail["type"] == "union_tag_not_found":
        return f"the key {context['discriminator']} is missing"
    if detail["type"] == "union_tag_invalid":
        known = [tag.strip(" '") for tag in str(context["expected_tags"]).split(",")]
        return f"{context['discriminator']}: {unknown_key(str(context['tag']), known, 'value')}"
    if detail["type"] in {"model_type", "model_attributes_type", "dict_type"}:
        return "must be a mapping of keys to values"
    if detail["type"] in {"string_too_short", "too_short"} and context["min_length"] == 1:
        return "must not be empty"
    return str(detail["msg"]).removeprefix("Value error, ")
