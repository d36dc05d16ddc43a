"""The weights in an ONNX file, which is one protocol buffer, without a library for it.

A protocol buffer is a list of fields. A field is a key, 8 times its number plus its type, and a
value: of type 0 a number of variable length, seven bits a byte, the lowest first; of types 1 and 5
eight and four bytes; of type 2 a length and as many bytes, such as a text, an array or a buffer of
its own. Of all that ONNX keeps, these fields matter here:

    model   7 graph
    graph   1 node, 5 tensor
    node    1 input, 3 name, 4 operation
    tensor  1 dimension, 2 type of numbers, 4 its numbers, 8 name, 9 its numbers as raw bytes
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from replication.errors import InputError

FLOAT = 1
"""The type of numbers that are four bytes with a sign, an exponent and a fraction."""
LENGTHS = {1: 8, 5: 4}
"""Bytes of a value of fixed length, by type."""
Fields = Mapping[int, list[int | memoryview]]
"""Values by number of the field, in their order."""


class Node(NamedTuple):
    """One operation."""

    operation: str
    """Such as `MatMul`."""
    inputs: list[str]
    """Names of what it takes."""


class Graph(NamedTuple):
    """A network as it was exported."""

    nodes: dict[str, Node]
    """Operations by name."""
    tensors: dict[str, NDArray[np.float32]]
    """Weights by name; those that are no float32 are left out."""


def read(content: bytes) -> Graph:
    """The graph of a file.

    Args:
        content: of the file.

    Raises:
        InputError: if it is no ONNX file, or ends too early.
    """
    try:
        (graph,) = _fields(memoryview(content))[7]
        fields = _fields(_bytes(graph))
        nodes = [_fields(_bytes(value)) for value in fields[1]]
        tensors = [_fields(_bytes(value)) for value in fields[5]]
        return Graph(
            {
                _text(node[3][0]): Node(_text(node[4][0]), [_text(name) for name in node[1]])
                for node in nodes
            },
            {_text(tensor[8][0]): _array(tensor) for tensor in tensors if tensor[2] == [FLOAT]},
        )
    except (ValueError, IndexError, OverflowError) as error:
        raise InputError(f"this is no ONNX file that can be read ({error})") from error


def _array(tensor: Fields) -> NDArray[np.float32]:
    """Numbers stand either as raw bytes or in a field of their own."""
    content = b"".join(_bytes(value) for value in tensor[9] or tensor[4])
    shape = [size for value in tensor[1] for size in _numbers(value)]
    return np.frombuffer(content, "<f4").astype(np.float32).reshape(shape)


def _numbers(value: int | memoryview) -> list[int]:
    """Repeated numbers stand one by one or packed."""
    if isinstance(value, int):
        return [value]
    found, place = [], 0
    while place < len(value):
        number, place = _number(value, place)
        found.append(number)
    return found


def _fields(buffer: memoryview) -> Fields:
    found: dict[int, list[int | memoryview]] = defaultdict(list)
    place = 0
    while place < len(buffer):
        key, place = _number(buffer, place)
        kind = key & 7
        if kind == 0:
            value, place = _number(buffer, place)
            found[key >> 3].append(value)
            continue
        if kind == 2:
            length, place = _number(buffer, place)
        elif kind in LENGTHS:
            length = LENGTHS[kind]
        else:
            raise ValueError(f"a field of type {kind}")
        if place + length > len(buffer):
            raise ValueError("it ends too early")
        found[key >> 3].append(buffer[place : place + length])
        place += length
    return found


def _number(buffer: memoryview, place: int) -> tuple[int, int]:
    """A number of variable length, and where it ends."""
    value = shift = 0
    while True:
        byte = buffer[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place
        shift += 7


def _bytes(value: int | memoryview) -> memoryview:
    if isinstance(value, int):
        raise ValueError("a number where bytes should be")
    return value


def _text(value: int | memoryview) -> str:
    return bytes(_bytes(value)).decode("utf-8")
