"""Sources of the engine and of studies: a process reads a file once, for its code and its digest.

Import this module before all others of the engine. Python takes compiled code for that of a source
file of the same time and size, and an editor, an archive or `rsync --times` can keep both. From
here on the content decides. And the code that runs is the code of which a result names the digest,
whatever happens to the files meanwhile.
"""

import os
import sys
from functools import cache
from hashlib import sha256
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader
from pathlib import Path, PosixPath
from typing import Any


def read_source(path: str | Path) -> bytes:
    """Return the content that a source file had when this process first read it."""
    return _content(os.path.realpath(path))


@cache
def _content(path: str) -> bytes:
    with open(path, "rb") as stream:
        return stream.read()


class ContentLoader(SourceFileLoader):
    """Loader that takes compiled code only if it was made from the content of the source file."""

    def path_stats(self, path: str) -> dict[str, Any]:
        """Return the size, and a digest for the time by which Python knows compiled code."""
        content = read_source(path)
        return {"mtime": int.from_bytes(sha256(content).digest()[:4]), "size": len(content)}

    def get_data(self, path: str) -> bytes:
        """Return the content of a source file, or of a file of compiled code."""
        return read_source(path) if path == self.path else super().get_data(path)


class _Folder(PosixPath):
    """Folder of sources; paths below it are read once, too."""

    def read_bytes(self) -> bytes:
        return read_source(self)


def _load_by_content() -> None:
    """Let modules of the engine and of studies be loaded and digested by the content read once."""
    folders = [Path(__file__).resolve().parents[1]]
    find = FileFinder.path_hook((ContentLoader, SOURCE_SUFFIXES))

    def own_finder(path: str) -> FileFinder:
        if not any(Path(path).resolve().is_relative_to(folder) for folder in folders):
            raise ImportError(path)
        return find(path)  # type: ignore[return-value]

    sys.path_hooks.insert(0, own_finder)
    sys.path_importer_cache.clear()
    # Imported by content, too. The module is among those that results name the digests of; so that
    # they stay as they are, it gets other paths in place of another line.
    from replication.base import code_digest

    folders.append(vars(code_digest)["SOURCE"])
    for name in ("ENGINE", "SOURCE"):
        vars(code_digest)[name] = _Folder(vars(code_digest)[name])


_load_by_content()
