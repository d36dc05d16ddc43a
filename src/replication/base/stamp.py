"""The stamp at the end of a picture or page: its key, and a digest of its content.

The key says what the file was made from. A file whose content has changed since has no valid stamp.
"""

import hashlib
import re
import zlib
from collections.abc import Mapping
from pathlib import Path

FOLDER_MARK = ".snakemake_timestamp"
"""Name of the file that Snakemake leaves in a folder that a rule makes."""
_STAMP = re.compile(rb"made from ([0-9a-f]{16}), content sha256 [0-9a-f]{64}")
_COMMENTS = {".pdf": (b"%", b"\n")}
"""Beginning and end of a comment by kind of file; others have that of HTML and SVG."""
_PNG_END = 12
"""Length of the last chunk of a PNG, behind which nothing stands."""


def stamped(content: bytes, kind: str, key: str, beside: Mapping[str, Path] | None = None) -> bytes:
    """Return the content of a file with its stamp; `kind` is the ending of its name, as `.png`.

    The key is a digest of what the file is made from, of 16 letters. Files beside it, by name,
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
    length = len(_stamp(b"", kind, key, None))
    end = len(content) - (_PNG_END if kind == ".png" else 0)
    plain = content[: end - length] + content[end:]
    return key if stamped(plain, kind, key, beside) == content else None


def files_beside(page: Path) -> dict[str, Path]:
    """Return the paths of the files in the folder of a page, by their names."""
    return {path.name: path for path in page.with_suffix("").glob("*") if path.name != FOLDER_MARK}


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
