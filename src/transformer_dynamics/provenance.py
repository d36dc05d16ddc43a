"""What made a file: the program, its settings, its seeds, its code and its packages."""

import json
from typing import Any

from transformer_dynamics.digest import installed_versions, reach
from transformer_dynamics.errors import InputError

Provenance = dict[str, Any]


def provenance(stage: str, settings: Any, seeds: list[int] | None = None) -> Provenance:
    """Describe a file that `stage` makes in this installation.

    Args:
        stage: full name of the module that makes the file.
        settings: its settings as plain JSON data.
        seeds: the seeds that it covers.
    """
    reached = reach(stage)
    return {
        "stage": stage,
        "settings": settings,
        "seeds": seeds,
        "code": reached.modules,
        "packages": installed_versions(reached.packages),
    }


def check(path: str, found: str, expected: Provenance) -> None:
    """Refuse a file that was not made by the expected program with the expected settings.

    Raises:
        InputError: names the file and the first differences.
    """
    differences = list(_differences(json.loads(found), json.loads(json.dumps(expected)), ""))
    if differences:
        raise InputError(
            f"{path}: made by another configuration or another version of the code ("
            + "; ".join(differences[:3])
            + "); delete the file and run again"
        )


def _differences(found: Any, expected: Any, where: str) -> Any:
    if isinstance(found, dict) and isinstance(expected, dict):
        for key in sorted(found.keys() | expected.keys()):
            yield from _differences(
                found.get(key), expected.get(key), f"{where}.{key}" if where else key
            )
    elif found != expected:
        yield f"{where} is {found!r}, expected {expected!r}"
