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

from replication.base.code_digest import code
from replication.base.process import arithmetic
from replication.base.provenance import FORMAT
from replication.plan.jobs import Jobs
from replication.plan.orders import DocumentFile, Orders
from replication.plan.tasks import Task

MADE_HERE = ("results/", "figures/")
"""Folders of what the workflow makes; other inputs are files of the project or of the user."""


@dataclass(frozen=True)
class RuleFunctions:
    """The functions of one rule, from its wildcards to what its job reads, runs and needs."""

    jobs: Jobs
    """The table."""
    keys: list[str]
    """Patterns of the paths by which the table knows what the job makes."""
    lock: Path
    """The pinned packages."""
    own_file: Callable[[str], Any]
    """How an input is marked that the workflow does not make."""
    pattern: str | list[str]
    """Patterns of the rule's outputs."""
    look: Callable[[str, str], None]
    """Told the path of each output that is planned, and that by which the table knows it."""

    def inputs(self, wildcards: Any) -> list[Any]:
        """What the job reads, each file once, tables as printed last."""
        patterns = [self.pattern] if isinstance(self.pattern, str) else self.pattern
        for output, path in zip(_fill(patterns, wildcards), self._paths(wildcards), strict=True):
            self.look(output, path)
        return [
            path if path.startswith(MADE_HERE) else self.own_file(path)
            for path in dict.fromkeys(self._read(wildcards))
        ]

    def job(self, wildcards: Any) -> str:
        """What decides the content of what the program makes, for the records."""
        return self._orders(wildcards).to_record()

    def document(self, wildcards: Any, input: Any) -> DocumentFile:
        """What the program is told; taking `input` keeps the file's name from the records."""
        return DocumentFile(self._orders(wildcards).to_json())

    def program(self, wildcards: Any) -> list[str]:
        """The program's own module, apart from what it shares, so that a reason line is short."""
        names = tuple(f"{task.program}@" for task in self._tasks(wildcards))
        return [item for item in self._code(wildcards) if item.startswith(names)]

    def code(self, wildcards: Any) -> list[str]:
        """All other code, packages and tables as printed that the file depends on, from the start.

        What made its inputs counts, too: Snakemake looks at the content of an input only if the
        file is newer, and after a clock was set back, or within one tick of a coarse one, what was
        made anew is not. So do variables by which libraries compute as on another processor.
        """
        own = self.program(wildcards)
        others = [item for item in self._code(wildcards) if item not in own]
        published = (path for task in self._tasks(wildcards) for path in task.published)
        like = (f"{name}={value}" for name, value in arithmetic().items())
        return [
            *others,
            *file_digests(dict.fromkeys(published)),
            f"format {FORMAT} of results",
            *like,
        ]

    def files(self, wildcards: Any, input: Any) -> str:
        """What each program reads, as words of the shell, wherever a storage provider has put it.

        Of a figure without the checksum of its table.
        """
        read = self._read(wildcards)
        places = dict(zip(dict.fromkeys(read), map(str, input.get("shown", input)), strict=True))
        return shell_words(places[path] for path in read)

    def outputs(self, wildcards: Any, output: Any) -> str:
        """What the job makes, as words of the shell."""
        return shell_words(map(str, output))

    def memory(self, wildcards: Any, attempt: int) -> int:
        """In MB; more after every failure."""
        return max(task.memory for task in self._tasks(wildcards)) * attempt

    def minutes(self, wildcards: Any, attempt: int) -> int:
        """Limit of the run time; more after every failure."""
        return max(task.minutes for task in self._tasks(wildcards)) * attempt

    def _paths(self, wildcards: Any) -> list[str]:
        return _fill(self.keys, wildcards)

    def _orders(self, wildcards: Any) -> Orders:
        return Orders(orders=[self.jobs.order(path) for path in self._paths(wildcards)])

    def _tasks(self, wildcards: Any) -> list[Task]:
        return [self.jobs.tasks[path] for path in self._paths(wildcards)]

    def _read(self, wildcards: Any) -> list[str]:
        """What each program reads, one after the other."""
        tasks = self._tasks(wildcards)
        return [path for task in tasks for path in (*task.reads, *task.published)]

    def _code(self, wildcards: Any) -> list[str]:
        programs = (name for path in self._paths(wildcards) for name in self.jobs.programs(path))
        return code(self.lock, tuple(dict.fromkeys(programs)))


def file_digests(paths: Iterable[str]) -> list[str]:
    """Digests of files that a person edits."""
    return [hashlib.sha256(Path(path).read_bytes()).hexdigest()[:12] for path in paths]


def shell_words(paths: Iterable[str]) -> str:
    """Paths as words of the shell; neighbours of one folder and kind as one, `runs/{1,2,3}.npz`.

    Written out, thousands of files exceed what a command may have.
    """

    def folder_and_kind(path: str) -> tuple[str, str]:
        return path[: path.rfind("/") + 1], os.path.splitext(path)[1]

    return " ".join(
        _quote(folder)
        + _braces([path.removeprefix(folder).removesuffix(kind) for path in group])
        + _quote(kind)
        for (folder, kind), group in groupby(paths, folder_and_kind)
    )


def _fill(patterns: Iterable[str], wildcards: Any) -> list[str]:
    return [pattern.format_map(dict(wildcards.items())) for pattern in patterns]


def name_pattern(names: Iterable[str]) -> str:
    """A pattern that matches just some names."""
    return "|".join(map(re.escape, names)) or "(?!)"


def _braces(stems: list[str]) -> str:
    if len(stems) == 1:
        return _quote(stems[0])
    # A comma within quotes separates nothing.
    quoted = [f"'{stem}'" if "," in stem and "'" not in stem else _quote(stem) for stem in stems]
    return "{" + ",".join(quoted) + "}"


def _quote(part: str) -> str:
    return part and shlex.quote(part)
