"""Keys: the digest of all that a file is made from, its provenance, and the stamp of a picture.

The provenance is the program, its settings, seeds and code, and the files that it read. A file is
current if its key is the plan's; nothing else counts.
"""

import hashlib
import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from replication.base.code_digest import installed_versions, reach
from replication.base.errors import InputError
from replication.base.process import arithmetic_variables

Provenance = dict[str, Any]
FORMAT = 3
"""Number of the format of intermediate files.

The modules that write files are in no digest of a result; this number stands for them."""
MOST_NAMES = 3
"""Largest number of names of a difference."""
KEY = "key"
"""Name of the key in a provenance."""
CONTENT = "content"
"""Name under which a record, the provenance in a file, has the digest of the file's content."""
_STAMP = re.compile(rb"made from ([0-9a-f]{16}), content sha256 [0-9a-f]{64}")
_COMMENTS = {".pdf": (b"%", b"\n")}
"""Beginning and end of a comment by kind of file; others have that of HTML and SVG."""
_PNG_END = 12
"""Length of the last chunk of a PNG, behind which nothing stands."""


def digest(data: Any) -> str:
    """Return the digest of plain JSON data, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]


def surroundings_of(programs: Sequence[str]) -> dict[str, Any]:
    """Return the code and the packages that some programs reach, and variables of arithmetic."""
    reached = [reach(program) for program in programs]
    packages = sorted({name for each in reached for name in each.packages})
    return {
        "code": {name: found for each in reached for name, found in each.modules.items()},
        "packages": installed_versions(packages) | arithmetic_variables(),
    }


@cache
def digest_of_code(programs: tuple[str, ...]) -> str:
    """Return the digest of all code, packages and variables that some programs depend on."""
    return digest(surroundings_of(programs))


def differences(found: Provenance, planned: Provenance) -> Iterator[str]:
    """Yield in words the parts of a file's own provenance, settings aside, that are not planned.

    Files that were read tell their own differences.
    """
    if found.get("format") != planned["format"]:
        yield "files have another format"
        return
    for part, told in (("code", "the code"), ("packages", "the packages"), ("given", "the file")):
        before, now = (each.get(part, {}) for each in (found, planned))
        names = sorted(name for name in before | now if before.get(name) != now.get(name))
        if names:
            more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
            yield f"{told} {', '.join(names[:MOST_NAMES])}{more} changed"


def make_record(provenance: Provenance, content: str) -> str:
    """Return the record of a file: its provenance, and the digest of its content."""
    return json.dumps({**provenance, CONTENT: content}, sort_keys=True)


def split_record(record: str) -> tuple[Provenance, str]:
    """Return the provenance of a record, and the digest of the content."""
    found = json.loads(record)
    return found, found.pop(CONTENT)


def refuse_record(path: Path, found: Provenance, key: str, is_unchanged: bool) -> None:
    """Refuse a file that has another key than the plan, or was changed since it was made.

    An `InputError` has the remedy. Without a key any one counts.
    """
    if key and found.get(KEY) != key:
        raise InputError(
            f"{path}: made by another configuration or another version of the code; {remedy(path)}"
        )
    if not is_unchanged:
        raise InputError(f"{path} was changed after it was made; {remedy(path)}")


def remedy(path: str | Path) -> str:
    """Return the end of a sentence on a file that cannot be used: the command that helps.

    To delete the file does not suffice: Snakemake makes no file from which all is made already.
    """
    return f"`snakemake --force {path}` makes it anew"


def stamped(content: bytes, kind: str, key: str, beside: Mapping[str, Path] | None = None) -> bytes:
    """Return the content of a file with its stamp: the key, and a digest of the content.

    `kind` is the ending of its name, as `.png`. The key has 16 letters. Files beside it, by name,
    count as content, too.
    """
    end = len(content) - (_PNG_END if kind == ".png" else 0)
    return content[:end] + _stamp(content, kind, key, beside) + content[end:]


def read_stamp(content: bytes, kind: str, beside: Mapping[str, Path] | None = None) -> str | None:
    """Return the key in the stamp of a file; None if it has no stamp or its content has changed."""
    found = [*_STAMP.finditer(content)]
    if not found:
        return None
    key = found[-1][1].decode()
    end = len(content) - (_PNG_END if kind == ".png" else 0)
    plain = content[: end - len(_stamp(b"", kind, key, None))] + content[end:]
    return key if stamped(plain, kind, key, beside) == content else None


def _stamp(content: bytes, kind: str, key: str, beside: Mapping[str, Path] | None) -> bytes:
    whole = hashlib.sha256(content)
    for name, path in sorted((beside or {}).items()):
        whole.update(f"{name} {hashlib.sha256(path.read_bytes()).hexdigest()}".encode())
    text = f"made from {key}, content sha256 {whole.hexdigest()}".encode()
    if kind == ".png":
        chunk = b"tEXtStamp\0" + text
        return (len(chunk) - 4).to_bytes(4) + chunk + zlib.crc32(chunk).to_bytes(4)
    begin, end = _COMMENTS.get(kind, (b"<!-- ", b" -->\n"))
    return begin + text + end
