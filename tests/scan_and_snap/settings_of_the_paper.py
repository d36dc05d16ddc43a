"""The study's default settings, which are the paper's, and what it claims."""

from replication.plan.configuration import configure
from replication.study.registry import read_registry
from replication.study.studies import find_studies

STUDY = find_studies()["scan_and_snap"]
PAPER = configure({}, find_studies()).scan_and_snap
REGISTRY = read_registry(STUDY.folder / "registry.yaml")
