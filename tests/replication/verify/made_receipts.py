"""Receipts of the template's study, as they are sent in."""

import json
import shutil
from pathlib import Path

from conftest import FIGURE, JOBS, ROOT

from replication.base.storage import write_text
from replication.bundle.bundle import FINGERPRINTS, read_bundle, reference_folder
from replication.verify.receipts import FOLDER, Receipt, issue_receipt
from replication.verify.reference import Project

STUDY = Path(FIGURE).parent.name
ONE = "2026-01-31-epyc.json"
BY = "J. Roe, https://orcid.org/0000-0002-1825-0097"
REFERENCE = read_bundle(reference_folder(ROOT, STUDY))[0]
RUNS = REFERENCE.tables[FINGERPRINTS]
OTHER_BITS = RUNS.assign(digest=RUNS["digest"].str[::-1])
PROJECT = Project(ROOT, JOBS, JOBS)


def told(current=REFERENCE, differences=(), project=PROJECT) -> Receipt:
    """The receipt of a verification that found some results."""
    return issue_receipt(project, STUDY, "full", BY, current, REFERENCE, list(differences))


def found(**parts):
    return type(REFERENCE)(**vars(REFERENCE) | parts)


def with_runs(runs):
    return found(tables=REFERENCE.tables | {FINGERPRINTS: runs})


def send_in(root: Path, receipt: Receipt, name: str = ONE) -> Path:
    """The file of a receipt in a project."""
    path = root / FOLDER / receipt.study / name
    write_text(path, receipt.model_dump_json(indent=1))
    return path


def project_with_receipt(tmp_path):
    """A project with the reference of the template and one receipt."""
    shutil.copytree(reference_folder(ROOT, STUDY), reference_folder(tmp_path, STUDY))
    send_in(tmp_path, told())
    return tmp_path


def rewritten(**changes):
    """The receipt with other values."""

    def change(text):
        data = json.loads(text)
        for path, value in changes.items():
            *parents, last = path.split("__")
            section = data
            for key in parents:
                section = section[key]
            section[last] = value
        return json.dumps(data)

    return change
