"""Inputs, parameters and resources of the workflow's rules, from the table of jobs."""

import os
import re
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from replication.base.code_digest import code_digests
from replication.base.process import arithmetic_variables
from replication.base.provenance import FORMAT
from replication.plan.jobs import Jobs
from replication.plan.orders import MADE_HERE, DocumentFile, Orders, file_digests
from replication.plan.tasks import Task


@dataclass(frozen=True)
class RuleFunctions:
    """The functions of one rule, which take the wildcards of a job."""

    jobs: Jobs
    """Table of jobs."""
    keys: list[str]
    """Patterns of the paths that the table has for the job's outputs."""
    lock: Path
    """File of the pinned packages."""
    own_file: Callable[[str], Any]
    """Function that marks an input that the workflow does not make."""
    pattern: str | list[str]
    """Patterns of the rule's outputs."""
    look: Callable[[dict[str, str], Callable[[], list[Any]]], None]
    """Function that gets the path in the table by planned output, and one that returns the job's
    parameters."""

    def inputs(self, wildcards: Any) -> list[Any]:
        """Return the files that the job reads, each once, tables as printed last."""
        patterns = [self.pattern] if isinstance(self.pattern, str) else self.pattern
        outputs = dict(zip(_fill(patterns, wildcards), self._paths(wildcards), strict=True))
        params = (self.program, self.code, self.job)
        self.look(outputs, lambda: [each(wildcards) for each in params])
        return [
            path if path.startswith(MADE_HERE) else self.own_file(path)
            for path in dict.fromkeys(self._read(wildcards))
        ]

    def job(self, wildcards: Any) -> str:
        """Return the text that decides the content of the job's outputs, for the records."""
        return in_script(self._orders(wildcards).to_record())

    def document(self, wildcards: Any, input: Any) -> DocumentFile:
        """Return the document for the program; taking `input` keeps its name from the records."""
        return DocumentFile(self._orders(wildcards).to_json())

    def program(self, wildcards: Any) -> list[str]:
        """Return the code of the program's own module, apart from `code`: so a reason is short."""
        names = tuple(f"{task.program}@" for task in self._tasks(wildcards))
        return [item for item in self._code(wildcards) if item.startswith(names)]

    def code(self, wildcards: Any) -> list[str]:
        """Return all other code, packages and tables as printed that the file depends on.

        The code that made its inputs counts, too: Snakemake looks at the content of an input only
        if the file is newer, and a file that is made anew is not newer after a clock was set back,
        or within one tick of a coarse clock. Variables count by which libraries compute as on
        another processor.
        """
        own = self.program(wildcards)
        others = [item for item in self._code(wildcards) if item not in own]
        published = (path for task in self._tasks(wildcards) for path in task.published)
        like = (f"{name}={value}" for name, value in arithmetic_variables().items())
        return [
            *others,
            *file_digests(dict.fromkeys(published)),
            f"format {FORMAT} of results",
            *like,
        ]

    def files(self, wildcards: Any, input: Any) -> str:
        """Return the files that each program reads, as words of the shell.

        The files are where a storage provider has put them. Of a figure the checksum of its table
        is not among them.
        """
        read = self._read(wildcards)
        places = dict(zip(dict.fromkeys(read), map(str, input.get("shown", input)), strict=True))
        return shell_words(places[path] for path in read)

    def outputs(self, wildcards: Any, output: Any) -> str:
        """Return the job's outputs, as words of the shell."""
        return shell_words(map(str, output))

    def memory(self, wildcards: Any, attempt: int) -> int:
        """Return the memory of the job in MB; more after every failure."""
        return max(task.memory for task in self._tasks(wildcards)) * attempt

    def minutes(self, wildcards: Any, attempt: int) -> int:
        """Return the limit of the run time in minutes; more after every failure."""
        return max(task.minutes for task in self._tasks(wildcards)) * attempt

    def gpus(self, wildcards: Any) -> int | None:
        """Return the number of GPUs that the job needs; none, not 0, if schedulers get no word."""
        return 1 if any(task.device == "cuda" for task in self._tasks(wildcards)) else None

    def _paths(self, wildcards: Any) -> list[str]:
        return _fill(self.keys, wildcards)

    def _orders(self, wildcards: Any) -> Orders:
        return Orders(orders=[self.jobs.order(path) for path in self._paths(wildcards)])

    def _tasks(self, wildcards: Any) -> list[Task]:
        return [self.jobs.tasks[path] for path in self._paths(wildcards)]

    def _read(self, wildcards: Any) -> list[str]:
        """Return the files that each program reads, one after the other."""
        tasks = self._tasks(wildcards)
        return [path for task in tasks for path in (*task.reads, *task.published)]

    def _code(self, wildcards: Any) -> list[str]:
        programs = (name for path in self._paths(wildcards) for name in self.jobs.programs(path))
        return code_digests(self.lock, tuple(dict.fromkeys(programs)))


def in_script(document: str) -> str:
    """Return the same JSON without `<`: Snakemake's report has parameters within a script."""
    return document.replace("<", r"\u003c")


def shell_words(paths: Iterable[str]) -> str:
    """Return paths as words of the shell, neighbours of a folder and kind as `runs/{1,2,3}.npz`.

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
    """Return a pattern that matches exactly some names."""
    return "|".join(map(re.escape, names)) or "(?!)"


def _braces(stems: list[str]) -> str:
    if len(stems) == 1:
        return _quote(stems[0])
    # A comma within quotes separates nothing.
    quoted = [f"'{stem}'" if "," in stem and "'" not in stem else _quote(stem) for stem in stems]
    return "{" + ",".join(quoted) + "}"


def _quote(part: str) -> str:
    return part and shlex.quote(part)
