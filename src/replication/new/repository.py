"""The files of a new repository, from templates."""

import csv
import platform
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from replication.base.places import ENGINE
from replication.new.lock import ENGINE_PACKAGE, lock

TEMPLATES = Path(__file__).parent / "templates"
ENVIRONMENT = Path(__file__).with_name("environment.py")
"""Program that builds an environment; a repository has it, to build that of the engine itself."""
SUFFIX = ".jinja"
PROFILES = ("default", "slurm")
"""Profiles of the engine that a new repository has, to be adapted there."""
ACTIONS = Path(__file__).parent / "actions.csv"
"""Versions and commits of the actions of its workflows, and of this project's own."""


def repository(name: str, *, torch: bool) -> dict[str, str]:
    """Return the text of every file of a new repository, by its path.

    Args:
        name: name of the study and of its package.
        torch: whether it trains with PyTorch.

    Raises:
        InputError: if a package that the lock needs is not installed.
    """
    wanted = [ENGINE_PACKAGE, *(["torch"] if torch else [])]
    return {
        **rendered(name, torch),
        **_profiles(name),
        "environment.py": ENVIRONMENT.read_text(encoding="utf-8"),
        "requirements.lock": lock(wanted),
    }


def rendered(name: str, torch: bool) -> dict[str, str]:
    """Return the files that templates make, by their paths."""
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
        "actions": _actions(),
    }
    return {
        _path(template, name): environment.get_template(template).render(values)
        for template in environment.list_templates(extensions=[SUFFIX.removeprefix(".")])
        if not template.startswith("_")
    }


def _actions() -> dict[str, str]:
    """Return the words after `uses:` of every action, by its name."""
    with ACTIONS.open(encoding="utf-8", newline="") as stream:
        return {
            row["action"]: f"{row['action']}@{row['commit']} # {row['version']}"
            for row in csv.DictReader(stream)
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
