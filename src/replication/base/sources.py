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
from pathlib import Path
from typing import Any

from replication.base import places


@cache
def read_source(path: str) -> bytes:
    """Return the content that a source file had when this process first read it."""
    return Path(path).read_bytes()


class ContentLoader(SourceFileLoader):
    """Loader that takes compiled code only if it was made from the content of the source file."""

    def path_stats(self, path: str) -> dict[str, Any]:
        """Return the size, and a digest for the time by which Python knows compiled code."""
        content = read_source(os.path.realpath(path))
        return {"mtime": int.from_bytes(sha256(content).digest()[:4]), "size": len(content)}

    def get_data(self, path: str) -> bytes:
        """Return the content of a source file, or of a file of compiled code."""
        return read_source(os.path.realpath(path)) if path == self.path else super().get_data(path)


def _find_by_content(path: str) -> FileFinder:
    """Return the finder of a folder of the engine or of studies; refuse any other folder."""
    if not any(
        Path(path).resolve().is_relative_to(each) for each in (places.ENGINE, places.SOURCE)
    ):
        raise ImportError(path)
    return FileFinder(path, (ContentLoader, SOURCE_SUFFIXES))


sys.path_hooks.insert(0, _find_by_content)
sys.path_importer_cache.clear()
