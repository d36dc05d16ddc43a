"""The JSON schema of an overlay of the configuration, by which an editor completes its keys."""

import ast
import inspect
import textwrap
from contextlib import suppress
from itertools import pairwise
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import DictSchema, ModelSchema, TaggedUnionSchema, union_schema


def overlay_schema(configuration: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a part of a configuration, each field with its docstring."""
    return configuration.model_json_schema(schema_generator=_OverlaySchema)


class _OverlaySchema(GenerateJsonSchema):
    def field_is_required(self, field: Any, total: bool) -> bool:
        """Return false, as an overlay may leave out every key."""
        return False

    def tagged_union_schema(self, schema: TaggedUnionSchema) -> JsonSchemaValue:
        """Return the models as ones of which several may fit an overlay that names no kind."""
        return self.union_schema(union_schema([*schema["choices"].values()]))

    def dict_schema(self, schema: DictSchema) -> JsonSchemaValue:
        """Return a mapping by name in which null removes a name."""
        found = super().dict_schema(schema)
        # The names are of some pattern, or any.
        values = found.get("patternProperties", found)
        for key in ["additionalProperties"] if values is found else [*values]:
            values[key] = {"anyOf": [values.get(key, {}), {"type": "null"}]}
        return found

    def model_schema(self, schema: ModelSchema) -> JsonSchemaValue:
        """Return a model with docstrings, which pydantic would read at every start."""
        found = super().model_schema(schema)
        texts = _docstrings(schema["cls"])
        for name, field in found.get("properties", {}).items():
            if name in texts:
                field.setdefault("description", texts[name])
        return found


def _docstrings(model: type) -> dict[str, str]:
    """Return the docstrings of the fields of a model and of its bases."""
    texts = {}
    for each in reversed(model.__mro__):
        # A function may have made a model, and then there is no source.
        with suppress(OSError, TypeError):
            (definition,) = ast.parse(textwrap.dedent(inspect.getsource(each))).body
            assert isinstance(definition, ast.ClassDef)
            for pair in pairwise(definition.body):
                match pair:
                    case (
                        ast.AnnAssign(target=ast.Name(id=name)),
                        ast.Expr(value=ast.Constant(value=str(text))),
                    ):
                        texts[name] = inspect.cleandoc(text)
    return texts
