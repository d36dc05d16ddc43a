"""The JSON schema of a configuration, with the docstrings of its fields as descriptions."""

import ast
import inspect
import textwrap
from functools import cache
from itertools import pairwise
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import ModelSchema

from replication.base.code_digest import is_bare_string

Schema = dict[str, Any]


def configuration_schema(configuration: type[BaseModel]) -> Schema:
    """Return the JSON schema of a model, each field with its docstring.

    Pydantic's `use_attribute_docstrings` reads docstrings whenever a model is imported, which made
    every start a fifth longer.
    """
    return configuration.model_json_schema(schema_generator=_SchemaWithTexts)


class _SchemaWithTexts(GenerateJsonSchema):
    def model_schema(self, schema: ModelSchema) -> JsonSchemaValue:
        found = super().model_schema(schema)
        texts = _texts_of_fields(schema["cls"])
        for name, field in found.get("properties", {}).items():
            if name in texts:
                field.setdefault("description", texts[name])
        return found


def _texts_of_fields(model: type) -> dict[str, str]:
    """Return the docstrings of the fields of a model and of its bases."""
    texts: dict[str, str] = {}
    for each in reversed(model.__mro__):
        if issubclass(each, BaseModel) and each is not BaseModel:
            texts |= _texts_in_source(each)
    return texts


@cache
def _texts_in_source(model: type) -> dict[str, str]:
    try:
        source = inspect.getsource(model)
    except OSError:
        return {}  # A function made the model.
    (definition,) = ast.parse(textwrap.dedent(source)).body
    assert isinstance(definition, ast.ClassDef)
    return {
        field.target.id: inspect.cleandoc(ast.literal_eval(below.value))
        for field, below in pairwise(definition.body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and is_bare_string(below)
    }


def overlay_schema(schema: Any) -> Any:
    """Return a schema that allows to leave out every key, as overlays do.

    An overlay without the key that distinguishes some models fits several of them: `oneOf` becomes
    `anyOf`.
    """
    if isinstance(schema, list):
        return [overlay_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    names = {"oneOf": "anyOf"}
    return {
        names.get(key, key): overlay_schema(value)
        for key, value in schema.items()
        if key not in {"required", "discriminator"}
    }
