"""Receipts of the template's study, as they are sent in."""

import json
import shutil
from pathlib import Path

from conftest import FIGURE, JOBS, ROOT

from replication.bundle.bundle import FINGERPRINTS, read_bundle, reference_folder
from replication.verify.issue import Verified, issue_receipt
from replication.verify.receipt import Receipt, write_receipt
from replication.verify.reproductions import FOLDER

STUDY = Path(FIGURE).parent.name
ONE = "2026-01-31-epyc.json"
BY = "J. Roe, https://orcid.org/0000-0002-1825-0097"
REFERENCE = read_bundle(reference_folder(ROOT, STUDY))[0]
RUNS = REFERENCE.tables[FINGERPRINTS]
OTHER_BITS = RUNS.assign(digest=RUNS["digest"].str[::-1])


def told(current=REFERENCE, differences=()) -> Receipt:
    """The receipt of a verification that found some results."""
    verified = Verified(STUDY, current, REFERENCE, list(differences))
    return issue_receipt(verified, "full", BY, ROOT, JOBS, JOBS)


def found(**parts):
    return type(REFERENCE)(**vars(REFERENCE) | parts)


def with_runs(runs):
    return found(tables=REFERENCE.tables | {FINGERPRINTS: runs})


TOLD, TOLD_ELSEWHERE = (
    told(results).model_dump(mode="json") for results in (REFERENCE, with_runs(OTHER_BITS))
)
"""Receipts of the same processor and of another one, as data."""


def project_with_receipt(tmp_path):
    """A project with the reference of the template and one receipt."""
    shutil.copytree(reference_folder(ROOT, STUDY), reference_folder(tmp_path, STUDY))
    write_receipt(tmp_path / FOLDER / STUDY / ONE, told())
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
