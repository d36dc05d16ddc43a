"""Sizes of an encoder's network in `config.json`; nothing else of it is used."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from replication.base.errors import InputError
from replication.base.strict import Count, describe_error
from transformer_dynamics.encoders.settings import MEND

Number = Annotated[int, Field(ge=0)]
Probability = Annotated[float, Field(ge=0, le=1)]
LEFT_OUT: Any = None
"""Value of a key that is left out, for that of the network's kind; a `null` is refused."""


class _Sizes(BaseModel):
    """Keys that decide about the network's computation.

    Others, such as a type of numbers or further outputs, are of uses that this project has not.
    """

    model_config = ConfigDict(strict=True, allow_inf_nan=False)

    vocab_size: Count = LEFT_OUT
    hidden_size: Count = LEFT_OUT
    num_hidden_layers: Number = LEFT_OUT
    num_attention_heads: Count = LEFT_OUT
    intermediate_size: Count = LEFT_OUT
    hidden_act: str = LEFT_OUT
    hidden_dropout_prob: Probability = LEFT_OUT
    attention_probs_dropout_prob: Probability = LEFT_OUT
    max_position_embeddings: Count = LEFT_OUT
    type_vocab_size: Count = LEFT_OUT
    layer_norm_eps: Annotated[float, Field(ge=0)] = LEFT_OUT
    pad_token_id: Number = LEFT_OUT
    relative_attention_num_buckets: Count = LEFT_OUT


def sizes(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sizes in a `config.json`; an `InputError` names a key with an impossible value."""
    try:
        return _Sizes.model_validate(config).model_dump(exclude_unset=True)
    except ValidationError as error:
        first = describe_error(error, "config.json").partition("\n")[0]
        raise InputError(f"{first}; {MEND}") from error
