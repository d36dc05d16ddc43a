"""Scorecards and pages: their keys, and the edits that a program which writes them refuses."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from replication.base.code_digest import installed_versions
from replication.base.errors import InputError
from replication.base.provenance import KEY, digest, digest_of_code
from replication.base.stamp import read_stamp
from replication.base.storage import PROVENANCE, split_record
from replication.base.strict import Strict
from replication.plan.jobs import Jobs
from replication.plan.orders import DocumentFile, file_digests

PROGRAM = "replication.judge.scorecard"
"""Program that writes scorecards."""
_TEMPLATES = ("jinja2", "markupsafe")


class Edited(Strict):
    """Code and files by their digests in the plan, for a program that several rules start."""

    code: dict[str, str]
    """Digest of all code that a program reaches, by the program's name."""
    files: dict[str, str]
    """Digest of the content of files that a person edits, by path."""

    @classmethod
    def now(cls, programs: Iterable[str], files: Iterable[str]) -> Self:
        """Return the digests of some programs, as this process has them, and of some files."""
        paths = [*files]
        code = {name: digest_of_code((name,)) for name in programs}
        return cls(code=code, files=dict(zip(paths, file_digests(paths), strict=True)))

    @property
    def document(self) -> DocumentFile:
        """The document for the program."""
        return DocumentFile(self.model_dump_json())

    def refuse(self) -> None:
        """Refuse code and files that are not the planned ones any more.

        Raises:
            InputError: names what was edited.
        """
        now = self.now(self.code, [path for path in self.files if Path(path).is_file()])
        before, after = self.code | self.files, now.code | now.files
        changed = [name for name in before if after.get(name) != before[name]]
        if changed:
            raise InputError(
                f"{', '.join(changed[:3])} changed while this run was under way; give the same"
                " command again"
            )


def collected_key(jobs: Jobs, paths: Iterable[str], edited: Edited, told: str) -> str:
    """Return the key of a file that brings others together.

    Args:
        jobs: the table of jobs.
        paths: files of the table that are brought together.
        edited: all code and files besides.
        told: everything else that the program is told.
    """
    shown = [jobs.key(path) for path in paths]
    contents = [*edited.files.values()]
    return digest([shown, edited.code, contents, installed_versions(_TEMPLATES), told])


class Scorecards:
    """The scorecards of all studies."""

    def __init__(self, jobs: Jobs) -> None:
        """Take the table of jobs."""
        self._jobs = jobs

    def edited(self, study: str) -> Edited:
        """Return code and files of a study's scorecard that may be edited while it is written."""
        folder = self._jobs.studies[study].study.folder
        return Edited.now([PROGRAM], [os.path.relpath(folder / "registry.yaml")])

    def key(self, study: str) -> str:
        """Return the key of a study's scorecard."""
        verdicts = self._jobs.studies[study].files.verdicts.values()
        own = self._jobs.studies[study].own.model_dump_json(exclude_defaults=True)
        return collected_key(self._jobs, verdicts, self.edited(study), own)

    def stale(self, study: str, folder: Path = Path()) -> list[str]:
        """Return the files of a study's scorecard that are there, and not what the plan has.

        Args:
            study: name of the study.
            folder: folder of the run.
        """
        text = Path(self._jobs.studies[study].study.scorecard)
        there = [path for path in (text, text.with_suffix(".parquet")) if (folder / path).is_file()]
        if not there:
            return []
        key = self.key(study)

        def found(path: Path) -> str | None:
            file = folder / path
            if path == text:
                return read_stamp(file.read_bytes(), file.suffix)
            return _key_of_table(file)

        return [str(path) for path in there if found(path) != key]


def _key_of_table(path: Path) -> str | None:
    """Return the key of the table of a scorecard; None if it is damaged or changed."""
    import pyarrow.parquet as pq

    from replication.base.tables import BLANK

    try:
        record = pq.read_metadata(path).metadata[PROVENANCE.encode()].decode()
        found, content = split_record(record)
        whole = path.read_bytes().replace(content.encode(), BLANK.encode())
        return str(found[KEY]) if hashlib.sha256(whole).hexdigest() == content else None
    except Exception:
        # A damaged byte of the footer can make the reading fail in any way.
        return None
