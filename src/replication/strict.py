"""Typed settings that refuse what they do not know."""

import difflib
from collections.abc import Mapping
from itertools import groupby
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import ErrorDetails

from replication.errors import InputError

T = TypeVar("T")


def distinct(values: list[T]) -> list[T]:
    """Refuse a list in which a value is repeated."""
    repeated = sorted({str(value) for value in values if values.count(value) > 1})
    if repeated:
        raise ValueError(f"every value may stand only once, but {', '.join(repeated)} is repeated")
    return values


class Strict(BaseModel):
    """Base of every settings model: immutable, and an unknown key is an error."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
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
        """Validate plain data.

        Args:
            data: nested mappings, lists and scalars, as read from YAML or JSON.
            where: what to call the data in an error message.

        Raises:
            InputError: one line per value that is wrong, each with its path of keys.
        """
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise InputError(describe(error, where)) from None

    @classmethod
    def parse_json(cls, text: str, where: str) -> Self:
        """Validate a JSON document; see `parse`."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise InputError(describe(error, where)) from None


def unknown_key(key: str, known: list[str]) -> str:
    """Say that `key` is unknown and which known key was probably meant."""
    close = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    hint = f"did you mean '{close[0]}'?" if close else f"known keys: {', '.join(known)}"
    return f"unknown key '{key}'; {hint}"


def describe(error: ValidationError, where: str) -> str:
    """One line per wrong value of a pydantic error: place, path of keys, what is wrong."""
    lines = []
    for detail in error.errors(include_url=False):
        steps = [str(part) for part in detail["loc"]]
        # The name of the chosen kind follows its key; where both are the same, one is enough.
        path = " > ".join(step for step, _ in groupby(steps))
        given = detail["input"]
        shown = "" if isinstance(given, Mapping | list) else f" (given: {given!r})"
        lines.append(f"{where}: {path + ': ' if path else ''}{_message(detail)}{shown}")
    return "\n".join(lines)


def _message(detail: ErrorDetails) -> str:
    context = detail.get("ctx", {})
    if detail["type"] == "union_tag_not_found":
        return f"the key {context['discriminator']} is missing"
    if detail["type"] == "union_tag_invalid":
        known = [tag.strip(" '") for tag in str(context["expected_tags"]).split(",")]
        said = unknown_key(str(context["tag"]), known).replace("unknown key", "unknown value")
        return f"{context['discriminator']}: {said.replace('known keys', 'known values')}"
    return str(detail["msg"]).removeprefix("Value error, ")
