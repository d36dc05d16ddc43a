"""Provenance of a file: the program, its settings, seeds and code, the files that it read, its key.

The key is a digest of all of that. A file is current if its key is the plan's; nothing else counts.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from replication.base.code_digest import installed_versions, reach
from replication.base.process import arithmetic_variables

Provenance = dict[str, Any]
FORMAT = 3
"""Number of the format of intermediate files.

The modules that write files are in no digest of a result; this number stands for them."""
MOST_NAMES = 3
"""Largest number of names of a difference."""
KEY = "key"
"""Name of the key in a provenance."""


def digest(data: Any) -> str:
    """Return the digest of plain JSON data, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]


def surroundings_of(programs: Sequence[str]) -> dict[str, Any]:
    """Return the code and the packages that some programs reach, and variables of arithmetic."""
    reached = [reach(program) for program in programs]
    packages = sorted({name for each in reached for name in each.packages})
    return {
        "code": {name: found for each in reached for name, found in each.modules.items()},
        "packages": installed_versions(tuple(packages)) | arithmetic_variables(),
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
    for part in ("code", "packages"):
        before, now = found[part], planned[part]
        names = sorted(name for name in before | now if before.get(name) != now.get(name))
        if names:
            more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
            yield f"the {part} {', '.join(names[:MOST_NAMES])}{more} changed"
    before, now = (each.get("given", {}) for each in (found, planned))
    if names := sorted(name for name in before | now if before.get(name) != now.get(name)):
        yield f"the file {names[0]} changed"
