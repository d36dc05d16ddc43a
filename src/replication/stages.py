"""What the rules of the workflow take from the table of jobs."""

import hashlib
import os
import re
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from replication.digest import code
from replication.jobs import Jobs
from replication.tasks import Task

MADE_HERE = ("results/", "figures/")
"""Folders of what the workflow makes; other inputs are files of the project or of the user."""


@dataclass(frozen=True)
class Stage:
    """The functions of one rule, from its wildcards to what its job reads, runs and needs."""

    jobs: Jobs
    """The table."""
    key: str
    """Pattern of the path by which the table knows a job."""
    lock: Path
    """The pinned packages."""
    own_file: Callable[[str], Any]
    """How an input is marked that the workflow does not make."""
    pattern: str
    """Pattern of the rule's output."""

    def inputs(self, wildcards: Any) -> list[Any]:
        """What the job reads, tables as printed last."""
        task = self._task(wildcards)
        return [
            path if path.startswith(MADE_HERE) else self.own_file(path)
            for path in (*task.reads, *task.published)
        ]

    def job(self, wildcards: Any) -> str:
        """What the program is told."""
        return self.jobs.order(self._path(wildcards)).model_dump_json(exclude_defaults=True)

    def program(self, wildcards: Any) -> list[str]:
        """The program's own module, apart from what it shares, so that a reason line is short."""
        name = self._task(wildcards).program
        return [item for item in self._code(wildcards) if item.startswith(f"{name}@")]

    def code(self, wildcards: Any) -> list[str]:
        """All other code, packages and tables as printed that the file depends on, from the start.

        What made its inputs counts, too: Snakemake looks at the content of an input only if the
        file is newer, and after a clock was set back, or within one tick of a coarse one, what was
        made anew is not.
        """
        own = self.program(wildcards)
        others = [item for item in self._code(wildcards) if item not in own]
        return others + contents(self._task(wildcards).published)

    def files(self, wildcards: Any, input: Any) -> str:
        """The inputs as words of the shell; of a figure without the checksum of its table."""
        return words(map(str, input.get("shown", input)))

    def memory(self, wildcards: Any, attempt: int) -> int:
        """In MB; more after every failure."""
        return self._task(wildcards).memory * attempt

    def minutes(self, wildcards: Any, attempt: int) -> int:
        """Limit of the run time; more after every failure."""
        return self._task(wildcards).minutes * attempt

    def _path(self, wildcards: Any) -> str:
        return self.key.format_map(dict(wildcards.items()))

    def _task(self, wildcards: Any) -> Task:
        return self.jobs.tasks[self._path(wildcards)]

    def _code(self, wildcards: Any) -> list[str]:
        return code(self.lock, tuple(self.jobs.programs(self._path(wildcards))))


def contents(paths: Iterable[str]) -> list[str]:
    """Digests of files that a person edits."""
    return [hashlib.sha256(Path(path).read_bytes()).hexdigest()[:12] for path in paths]


def words(paths: Iterable[str]) -> str:
    """Paths as words of the shell; neighbours of one folder and kind as one, `runs/{1,2,3}.npz`.

    Written out, thousands of files exceed what a command may have.
    """

    def folder_and_kind(path: str) -> tuple[str, str]:
        return path[: path.rfind("/") + 1], os.path.splitext(path)[1]

    return " ".join(
        _quoted(folder)
        + _alternatives([path.removeprefix(folder).removesuffix(kind) for path in group])
        + _quoted(kind)
        for (folder, kind), group in groupby(paths, folder_and_kind)
    )


def alternatives(names: Iterable[str]) -> str:
    """A pattern that matches just some names."""
    return "|".join(map(re.escape, names)) or "(?!)"


def _alternatives(stems: list[str]) -> str:
    if len(stems) == 1:
        return _quoted(stems[0])
    # A comma within quotes separates nothing.
    quoted = [f"'{stem}'" if "," in stem and "'" not in stem else _quoted(stem) for stem in stems]
    return "{" + ",".join(quoted) + "}"


def _quoted(part: str) -> str:
    return part and shlex.quote(part)
