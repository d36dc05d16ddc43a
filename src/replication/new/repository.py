"""The files of a new repository, from templates."""

import platform
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from replication.base.places import ENGINE
from replication.new.lock import lock

TEMPLATES = Path(__file__).parent / "templates"
SUFFIX = ".jinja"
PROFILES = ("default", "slurm")
"""Profiles of the engine that a new repository has, to be adapted there."""
ACTIONS = {
    "actions/checkout": "08c6903cd8c0fde910a37f88322edcfb5dd907a8 # v5.0.0",
    "actions/deploy-pages": "d6db90164ac5ed86f2b6aed7e0febac5b3c0c03e # v4.0.5",
    "actions/setup-python": "e797f83bcb11b83ae66e0230d6156d7c80228e7c # v6.0.0",
    "actions/upload-artifact": "ea165f8d65b6e75b540449e92b4886f43607fa02 # v4.6.2",
    "actions/upload-pages-artifact": "7b1f4a764d45c48632c6b24a0339c27f5614fb0b # v4.0.0",
}
"""Commits of the actions of its workflows."""


def repository(name: str, *, torch: bool) -> dict[str, str]:
    """Return the text of every file of a new repository, by its path.

    Args:
        name: name of the study and of its package.
        torch: whether it trains with PyTorch.

    Raises:
        InputError: if a package that the lock needs is not installed.
    """
    wanted = ["replication-engine", *(["torch"] if torch else [])]
    return _rendered(name, torch) | _profiles(name) | {"requirements.lock": lock(wanted)}


def _rendered(name: str, torch: bool) -> dict[str, str]:
    environment = Environment(
        # Other marks than Jinja's own, which stand in texts of registries and in workflows.
        variable_start_string="<{",
        variable_end_string="}>",
        block_start_string="<%",
        block_end_string="%>",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
        loader=FileSystemLoader(TEMPLATES),
    )
    values = {
        "name": name,
        "torch": torch,
        "python": ".".join(platform.python_version_tuple()[:2]),
        "actions": {action: f"{action}@{commit}" for action, commit in ACTIONS.items()},
    }
    return {
        _path(template, name): environment.get_template(template).render(values)
        for template in environment.list_templates(extensions=[SUFFIX.removeprefix(".")])
        if not template.startswith("_")
    }


def _path(template: str, name: str) -> str:
    """Return the path of a template's file; a name that begins with a dot is `dot-` there."""
    parts = template.removesuffix(SUFFIX).split("/")
    renamed = {"study": name}
    return "/".join(renamed.get(part, part.replace("dot-", ".", 1)) for part in parts)


def _profiles(name: str) -> dict[str, str]:
    return {
        f"profiles/{profile}/config.yaml": (
            (ENGINE / "profiles" / profile / "config.yaml")
            .read_text(encoding="utf-8")
            .replace("transformer-dynamics", name)
        )
        for profile in PROFILES
    }
