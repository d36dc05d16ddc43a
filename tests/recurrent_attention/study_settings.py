"""The study of recurrent attention, and its configuration with changes."""

from typing import Any

from replication.base.strict import read_yaml
from replication.plan.configuration import Configuration, configure
from replication.study.studies import find_studies

STUDY = find_studies()["recurrent_attention"]


def configured(changes: dict[str, Any], **computation: Any) -> Configuration:
    """The default configuration with some changes."""
    overlay = {STUDY.name: changes, "computation": computation}
    return configure(overlay, {STUDY.name: STUDY})


def overlay(name: str) -> dict[str, Any]:
    """An overlay that stands beside the study's configuration."""
    return read_yaml(STUDY.folder / name)
